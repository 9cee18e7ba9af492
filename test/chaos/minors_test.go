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
		"unchanged":                         {nil, []string{"17.2", "17.2"}, ""},
		"allowed":                           {[]string{"17.3"}, []string{"17.2", "17.3"}, ""},
		"any is allowed":                    {[]string{anyMinor}, []string{"17.2", "17.3"}, ""},
		"a major version and back":          {nil, []string{"15.2", "17.1", "15.2"}, ""},
		"nobody has allowed it":             {[]string{"17.4"}, []string{"17.2", "17.3"}, "a minor version changes if a user has allowed it"},
		"lower":                             {[]string{anyMinor}, []string{"17.2", "17.1"}, "a minor version never becomes lower"},
		"lower after a major version":       {nil, []string{"15.2", "17.1", "15.1"}, "a minor version never becomes lower"},
		"the platform has never offered it": {nil, []string{"14.1"}, "a Cluster has an image of the catalog"},
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
		"the newest":                        {"17.2", "", true, ""},
		"a newer one, and it is in status":  {"17.3", "17.3", false, ""},
		"a lower one is no offer":           {"17.1", "", true, ""},
		"Automatic has not taken it":        {"17.3", "17.3", true, "Automatic takes the newest minor version"},
		"the status does not name it":       {"17.3", "", false, "the status names the newest minor version"},
		"the status names one that is gone": {"17.2", "17.3", false, "the status names the newest minor version"},
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
