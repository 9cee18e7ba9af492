// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"jutsu.com/operators/tools/project/location"
)

func TestLinksOfTheChart(t *testing.T) {
	for name, test := range map[string]struct {
		where location.Location
		home  string
		links []string
		oci   string
	}{
		"no address": {where: location.Location{Repo: "example.com/operators", Registry: "ghcr.io/example"}, oci: "oci://REGISTRY/charts/dojo-operator"},
		"GitHub": {
			where: location.Location{Repo: "github.com/example/operators", Registry: "ghcr.io/example"},
			home:  "https://github.com/example/operators", oci: "oci://ghcr.io/example/charts/dojo-operator",
			links: []string{
				"https://github.com/example/operators/blob/main/docs/README.md", "https://github.com/example/operators/blob/main/docs/alerts.md",
				"https://github.com/example/operators/issues",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := fields{operator: operators[0], Where: test.where, Kinds: "    []", Examples: "    []"}
			text, err := f.fill("assets/Chart.yaml")
			if err != nil {
				t.Fatal(err)
			}
			var chart struct {
				Home        string
				Sources     []string
				Annotations map[string]string
			}
			var links []struct{ URL string }
			if err := yaml.Unmarshal([]byte(text), &chart); err != nil {
				t.Fatal(err)
			}
			if err := yaml.Unmarshal([]byte(chart.Annotations["artifacthub.io/links"]), &links); err != nil {
				t.Fatal(err)
			}
			var found []string
			for _, link := range links {
				found = append(found, link.URL)
			}
			if diff := cmp.Diff(test.links, found); diff != "" || chart.Home != test.home || strings.Join(chart.Sources, "") != test.home {
				t.Errorf("home %s, sources %v, links (-want +got):\n%s", chart.Home, chart.Sources, diff)
			}
			readme, err := f.fill("assets/README.md")
			if err != nil || !strings.Contains(readme, test.oci) {
				t.Errorf("the page (%v) does not say %s", err, test.oci)
			}
		})
	}
}
