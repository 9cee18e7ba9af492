// SPDX-License-Identifier: Apache-2.0

package buildversion

import (
	"runtime/debug"
	"testing"
)

func TestOf(t *testing.T) {
	installed := &debug.BuildInfo{Main: debug.Module{Version: "v0.2.0"}}
	for name, test := range map[string]struct {
		stamped string
		info    *debug.BuildInfo
		want    string
	}{
		"stamped":                   {stamped: "v0.1.0", info: installed, want: "v0.1.0"},
		"by go install":             {info: installed, want: "v0.2.0"},
		"by go build":               {info: &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, want: "dev"},
		"without build information": {want: "dev"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := of(test.stamped, test.info); got != test.want {
				t.Errorf("it is %s, want %s", got, test.want)
			}
		})
	}
}
