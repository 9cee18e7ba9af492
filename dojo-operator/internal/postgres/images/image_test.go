// SPDX-License-Identifier: Apache-2.0

package images

import (
	"strings"
	"testing"
)

func TestVersions(t *testing.T) {
	t.Parallel()
	for image, want := range map[string]int{
		"postgres:17": 17, "r:5000/pg:16.4-bookworm@sha256:ab": 16, "r:5000/pg": 0, "pg:latest": 0, "": 0, "pg@sha256:17": 0,
		"ghcr.io/cloudnative-pg/postgresql:18-standin": 18,
	} {
		if got := majorOf(image); got != want {
			t.Errorf("%s is of version %d", image, got)
		}
	}
	for image, want := range map[string]string{
		"pg:17": "17", "pg:17.6": "17.6", "r:5000/x/pg:17.6-standard-bookworm@sha256:ab": "17.6", "pg:latest": "", "pg": "",
		"pg:" + strings.Repeat("1", 200): strings.Repeat("1", 128),
	} {
		if got := VersionOf(image); got != want {
			t.Errorf("%s is of version %q", image, got)
		}
	}
}
