// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"strings"
	"testing"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
)

// Where the image does not say its version, the data does.
func TestDescribedVersion(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]cnpgv1.ClusterStatus{
		"17.6": {Image: "pg:17.6", PGDataImageInfo: &cnpgv1.ImageInfo{MajorVersion: 16}},
		"16":   {Image: "pg@sha256:ab", PGDataImageInfo: &cnpgv1.ImageInfo{MajorVersion: 16}},
		"":     {Image: "pg@sha256:ab", PGDataImageInfo: &cnpgv1.ImageInfo{}},
	} {
		var status corev1api.DatabaseStatus
		c.CurrentPrimary = strings.Repeat("a", 254)
		Describe(&cnpgv1.Cluster{Status: c}, &status)
		if status.Primary != "" {
			t.Errorf("the status has no room for the primary %s", status.Primary)
		}
		if status.Version != want {
			t.Errorf("the version is %q, want %q", status.Version, want)
		}
	}
}

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
