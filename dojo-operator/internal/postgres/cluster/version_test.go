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

// TestOnlyALowerVersionIsPinned asserts that a return to the former version fails if the Cluster has
// changed, because pg_upgrade may just have replaced the data.
func TestOnlyALowerVersionIsPinned(t *testing.T) {
	t.Parallel()
	for image, pinned := range map[string]bool{"pg:16": true, "pg:16.9": true, "pg:17.6": false, "pg:18": false, "pg": false} {
		dojo := sizedDojo("", "5Gi", nil)
		dojo.Spec.Postgres.Cluster.ImageName = image
		live := liveCluster("5Gi")
		live.Spec.ImageName = "pg:17"
		step := write(dojo, State{Live: live}, Input{})
		if len(step.Apply) != 1 || step.Apply[0].Pinned != pinned {
			t.Errorf("%s: %d writes, pinned %t, want %t", image, len(step.Apply), step.Apply[0].Pinned, pinned)
		}
		if step := write(dojo, State{}, Input{}); len(step.Apply) != 1 || step.Apply[0].Pinned {
			t.Errorf("%s: the creation is pinned", image)
		}
	}
}
