// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1api "jutsu.com/operators/apis/core/v1"
)

func clusterWith(image string) *unstructured.Unstructured {
	o := postgresObject("Cluster", "data-0-db")
	o.SetUID("1")
	o.Object["spec"] = map[string]any{"imageName": postgresRepository + image}
	return o
}

func TestMinorsOfClusters(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		allowed, images []string
		want            string
	}{
		"the version stays the same":                  {nil, []string{"17.2", "17.2"}, ""},
		"a user has allowed the new version":          {[]string{"17.3"}, []string{"17.2", "17.3"}, ""},
		"a user has allowed every version":            {[]string{anyMinor}, []string{"17.2", "17.3"}, ""},
		"another major version, and back":             {nil, []string{"15.2", "17.1", "15.2"}, ""},
		"a user has allowed only another version":     {[]string{"17.4"}, []string{"17.2", "17.3"}, "a minor version changes if a user has allowed it"},
		"a lower version":                             {[]string{anyMinor}, []string{"17.2", "17.1"}, "a minor version never becomes lower"},
		"a lower version after another major version": {nil, []string{"15.2", "17.1", "15.1"}, "a minor version never becomes lower"},
		"an image that was never in the catalog":      {nil, []string{"14.1"}, "a Cluster has an image of the catalog"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMinors()
			for _, image := range []string{"15.1", "15.2", "17.1", "17.2", "17.3"} {
				m.offered[postgresRepository+image] = true
			}
			for _, version := range c.allowed {
				m.allow("data-0", version)
			}
			var got violations
			for _, image := range c.images {
				got = append(got, m.cluster(clusterWith(image))...)
			}
			if c.want != "" {
				expect(t, got, c.want, "data-0-db")
			} else if len(got) > 0 {
				t.Error(got)
			}
		})
	}
}

func TestCheckMinors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		offered, status string
		automatic       bool
		want            string
	}{
		"the Cluster has the newest version":                          {"17.2", "", true, ""},
		"the status names the newer version":                          {"17.3", "17.3", false, ""},
		"the catalog has only a lower version":                        {"17.1", "", true, ""},
		"a Cluster with the policy Automatic lacks the newer version": {"17.3", "17.3", true, "Automatic takes the newest minor version"},
		"the status does not name the newer version":                  {"17.3", "", false, "the status names the newest minor version"},
		"the status names a version that the catalog lacks":           {"17.2", "17.3", false, "the status names the newest minor version"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &corev1api.Dojo{}
			d.Name = "data-0"
			d.Spec.Postgres = &corev1api.Postgres{Cluster: &corev1api.PostgresCluster{Version: "17"}}
			d.Status.Database = &corev1api.DatabaseStatus{NewerVersion: c.status}
			if c.automatic {
				d.Spec.Postgres.Cluster.VersionPolicy = &corev1api.VersionPolicy{Minor: corev1api.MinorAutomatic}
			}
			cluster := clusterWith("17.2")
			cluster.Object["status"] = map[string]any{"pgDataImageInfo": map[string]any{"majorVersion": int64(17)}}
			w := &dataWorld{postgres: &rowsOf{}, world: world{dojos: []*corev1api.Dojo{d}, custom: []*unstructured.Unstructured{cluster}}}
			w.offered = map[string]string{"17": postgresRepository + c.offered}
			got := w.checkMinors()
			if c.want != "" {
				expect(t, got, c.want, "data-0")
			} else if len(got) > 0 {
				t.Error(got)
			}
		})
	}
}
