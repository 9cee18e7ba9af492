// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"jutsu.com/operators/test/testcluster"
)

const kib, mib = 1 << 10, 1 << 20

func residentBytes(pid int) (now, peak float64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0
	}
	return statusBytes(string(text), "VmRSS"), statusBytes(string(text), "VmHWM")
}

// statusBytes parses a line such as "VmRSS:          56272 kB".
func statusBytes(status, name string) float64 {
	lines := bufio.NewScanner(strings.NewReader(status))
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), name+":"); ok {
			kibibytes, _ := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(rest, "kB")), 64)
			return kibibytes * kib
		}
	}
	return 0
}

func cpuSeconds(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	return statSeconds(string(text))
}

func (s *stage) apiServerPID() int {
	commands, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is valid
	for _, command := range commands {
		text, err := os.ReadFile(command)
		if err != nil {
			continue // the process has ended
		}
		program, arguments, _ := strings.Cut(string(text), "\x00")
		if filepath.Base(program) == testcluster.APIServer && strings.Contains(arguments, s.Cluster.Dir()+"/") {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(command)))
			return pid
		}
	}
	return 0
}

// statSeconds adds fields 14 and 15 (user and system time) of proc_pid_stat(5). The name in field 2
// may contain parentheses and spaces.
func statSeconds(stat string) float64 {
	const ticksPerSecond = 100 // USER_HZ, the same on every architecture of Go
	fields := strings.Fields(stat[strings.LastIndex(stat, ")")+1:])
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / ticksPerSecond
}
