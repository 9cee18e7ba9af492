// SPDX-License-Identifier: Apache-2.0

// Package process runs programs beside the starting one: components of a test cluster, operators, a
// simulated Discord. Each has its own process group, so that a Ctrl-C in a terminal reaches only
// the starting program, and a log file. With a Reaper it ends when the starting program does, in
// whatever way.
package process
