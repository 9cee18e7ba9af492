// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"strings"
	"testing"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
)

// If the image's tag names no version, the Dojo's status shows the major version of the data.
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
