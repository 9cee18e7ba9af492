// SPDX-License-Identifier: Apache-2.0

// Package buildversion finds the version of the running program.
package buildversion

import (
	"cmp"
	"runtime/debug"
	"strings"
)

// Of returns stamped (set with -ldflags), else the version of `go install MODULE@VERSION` or "dev".
func Of(stamped string) string {
	info, _ := debug.ReadBuildInfo()
	return of(stamped, info)
}

func of(stamped string, info *debug.BuildInfo) string {
	if stamped == "" && info != nil && strings.HasPrefix(info.Main.Version, "v") {
		return info.Main.Version
	}
	return cmp.Or(stamped, "dev")
}
