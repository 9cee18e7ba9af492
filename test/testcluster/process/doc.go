// SPDX-License-Identifier: Apache-2.0

// Package process starts programs as child processes: components of a test cluster, operators, a
// simulated Discord. Each has a log file and its own process group, so that a Ctrl-C in a terminal
// reaches only the parent. With a Reaper, the child also ends when the parent ends, even by
// SIGKILL.
package process
