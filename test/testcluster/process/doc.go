// SPDX-License-Identifier: Apache-2.0

// Package process starts child processes with a log file and a process group each, so that Ctrl-C
// reaches only the parent. With a Reaper, a child also ends when the parent ends, even by SIGKILL.
package process
