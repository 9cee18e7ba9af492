// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"os"
)

// Alive reports whether a process runs. It returns false for zombies, which containers often have.
func Alive(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat") // "pid (name) state ..."; the name may contain parentheses
	if err != nil {
		return false
	}
	state := stat[bytes.LastIndexByte(stat, ')')+1:]
	return !bytes.HasPrefix(bytes.TrimSpace(state), []byte("Z"))
}
