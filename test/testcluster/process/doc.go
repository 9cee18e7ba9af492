// SPDX-License-Identifier: Apache-2.0

// Package process runs programs beside the one that starts them: the components of a test cluster,
// operators, a simulated Discord. Each has a process group of its own, so that a Ctrl-C in a
// terminal reaches the starting program alone, and a log file. With a Reaper it ends when the
// program that started it does, in whatever way.
package process
