// SPDX-License-Identifier: Apache-2.0

package observability

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"jutsu.com/operators/test/environment"
	"jutsu.com/operators/test/testcluster/project"
)

var update = flag.Bool("update", false, "write docs/dashboards.md and docs/kubectl.md anew instead of comparing them")

// https://grafana.com/docs/grafana/latest/dashboards/build-dashboards/view-dashboard-json-model/.
type dashboard struct {
	UID, Title, Description string
	Templating              struct{ List []variable }
	Panels                  []panel
}

type variable struct {
	Name, Label, Description, Type, Definition, AllValue string
	Datasource                                           datasource
	IncludeAll                                           bool
}

type datasource struct{ Type, UID string }

type panel struct {
	ID                       int
	Type, Title, Description string
	Datasource               datasource
	GridPos                  struct{ X, Y, W, H int }
	Targets                  []target
	FieldConfig              struct{ Defaults struct{ Unit string } }
	Transformations          []transformation
}

type target struct {
	RefID, Expr, LegendFormat string
	Datasource                datasource
}

type transformation struct {
	ID      string
	Options struct {
		IndexByName  map[string]int
		RenameByName map[string]string
	}
}

func dashboards(t *testing.T) []dashboard {
	t.Helper()
	var objects []*unstructured.Unstructured
	for _, o := range environment.All {
		objects = append(objects, renderWith(t, o, "prometheus", "grafana")...)
	}
	objects = append(objects, render(t, "deploy/dashboards")...)
	var found []dashboard
	for _, o := range objects {
		if o.GetKind() != "ConfigMap" || o.GetLabels()["grafana_dashboard"] != "1" {
			continue
		}
		data, _, err := unstructured.NestedStringMap(o.Object, "data")
		must(t, err)
		for file, text := range data {
			var d dashboard
			must(t, json.Unmarshal([]byte(text), &d))
			if !strings.HasSuffix(file, ".json") || d.Title == "" {
				t.Errorf("%s in %s is not a dashboard", file, o.GetName())
			}
			found = append(found, d)
		}
	}
	slices.SortFunc(found, func(a, b dashboard) int { return strings.Compare(a.UID, b.UID) })
	if len(found) != 3 {
		t.Fatalf("there are %d dashboards", len(found))
	}
	return found
}

func TestDashboardsAreComplete(t *testing.T) {
	uids := map[string]bool{}
	for _, d := range dashboards(t) {
		t.Run(d.Title, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(uids).NotTo(HaveKey(d.UID))
			uids[d.UID] = true
			g.Expect(d.Description).NotTo(BeEmpty())
			var names []string
			for _, v := range d.Templating.List {
				names = append(names, v.Name)
				g.Expect(v.Label).NotTo(BeEmpty(), v.Name)
				g.Expect(v.Description).NotTo(BeEmpty(), v.Name)
				g.Expect(v.Type == "datasource" || v.Datasource == prometheusOfChoice).To(BeTrue(), "the datasource of %s", v.Name)
			}
			g.Expect(names).To(ContainElements("datasource", "namespace", "kind"))
			ids := map[int]string{}
			for i, p := range d.Panels {
				g.Expect(ids).NotTo(HaveKey(p.ID), "the id of %s", p.Title)
				ids[p.ID] = p.Title
				p.check(t, names)
				for _, other := range d.Panels[:i] {
					g.Expect(overlap(p, other)).To(BeFalse(), "%s lies on %s", p.Title, other.Title)
				}
			}
			for _, name := range names[1:] {
				used := regexp.MustCompile(`\$` + name + `\b`)
				g.Expect(slices.ContainsFunc(d.Panels, func(p panel) bool {
					return slices.ContainsFunc(p.Targets, func(q target) bool { return used.MatchString(q.Expr) })
				})).To(BeTrue(), "no panel uses the variable %s", name)
			}
		})
	}
}

var prometheusOfChoice = datasource{Type: "prometheus", UID: "${datasource}"}

// These patterns find labels that name an object of a namespace.
var (
	namedGrouping = regexp.MustCompile(`by \([^)]*\b(service|dojo|name)\b[^)]*\)`)
	namedLegend   = regexp.MustCompile(`\{\{(service|dojo|name)\}\}`)
)

var variableUse = regexp.MustCompile(`\$\{?(\w+)`)

func (p panel) check(t *testing.T, variables []string) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(p.Title).NotTo(BeEmpty(), "panel %d", p.ID)
	g.Expect(p.GridPos.X+p.GridPos.W).To(BeNumerically("<=", 24), "the right end of %s", p.Title)
	g.Expect(p.GridPos.W*p.GridPos.H).To(BeNumerically(">", 0), "the size of %s", p.Title)
	if p.Type == "row" {
		return
	}
	g.Expect(p.Description).To(HaveSuffix("."), "the description of %s", p.Title)
	g.Expect(p.FieldConfig.Defaults.Unit).NotTo(BeEmpty(), "the unit of %s", p.Title)
	g.Expect(p.Datasource).To(Equal(prometheusOfChoice), "the datasource of %s", p.Title)
	g.Expect(p.Targets).NotTo(BeEmpty(), p.Title)
	refs := map[string]bool{}
	for _, q := range p.Targets {
		g.Expect(q.Datasource).To(Equal(prometheusOfChoice), "the datasource of %s", p.Title)
		g.Expect(refs).NotTo(HaveKey(q.RefID), p.Title)
		refs[q.RefID] = true
		for _, grouping := range namedGrouping.FindAllString(q.Expr, -1) {
			g.Expect(grouping).To(ContainSubstring("namespace"), "the query of %s", p.Title)
		}
		if namedLegend.MatchString(q.LegendFormat) {
			g.Expect(q.LegendFormat).To(HavePrefix("{{namespace}}/"), "the legend of %s", p.Title)
		}
		for _, used := range variableUse.FindAllStringSubmatch(q.Expr, -1) {
			g.Expect(append([]string{"__rate_interval", "__range"}, variables...)).
				To(ContainElement(used[1]), "a variable in %s", p.Title)
		}
	}
}

func overlap(a, b panel) bool {
	return a.GridPos.X < b.GridPos.X+b.GridPos.W && b.GridPos.X < a.GridPos.X+a.GridPos.W &&
		a.GridPos.Y < b.GridPos.Y+b.GridPos.H && b.GridPos.Y < a.GridPos.Y+a.GridPos.H
}

func TestAlertsShowTheirLabels(t *testing.T) {
	for uid, files := range map[string][]string{
		"jutsu-dojo-operator":    {"dojo-operator.rules.yaml", "a-dojo.rules.yaml"},
		"jutsu-discord-operator": {"discord-operator.rules.yaml"},
	} {
		labels := map[string]bool{"alertname": true, "alertstate": true}
		for _, file := range files {
			addAlertLabels(t, file, labels)
		}
		delete(labels, "job") // all alerts of an operator have the same
		want, all := slices.Sorted(maps.Keys(labels)), dashboards(t)
		d := all[slices.IndexFunc(all, func(d dashboard) bool { return d.UID == uid })]
		p := d.Panels[slices.IndexFunc(d.Panels, func(p panel) bool { return p.Title == "Alerts" })]
		grouped, _, _ := strings.Cut(strings.TrimPrefix(p.Targets[0].Expr, "sum by ("), ")")
		columns, g := p.Transformations[0].Options, NewWithT(t)
		g.Expect(strings.Split(grouped, ", ")).To(ConsistOf(want), "the query of %s", d.Title)
		g.Expect(slices.Sorted(maps.Keys(columns.IndexByName))).To(Equal(want), "the columns of %s", d.Title)
		g.Expect(slices.Sorted(maps.Keys(columns.RenameByName))).To(Equal(want), "the titles of %s", d.Title)
	}
}

func addAlertLabels(t *testing.T, file string, labels map[string]bool) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	must(t, err)
	var cases ruleTests
	must(t, yaml.Unmarshal(text, &cases))
	for _, c := range cases.Tests {
		for _, alert := range c.Alerts {
			for _, want := range alert.Want {
				for label := range want.Labels {
					labels[label] = true
				}
			}
		}
	}
}

var selector = regexp.MustCompile(`([a-zA-Z_:][a-zA-Z0-9_:]*)\{`)

// metrics finds only metrics with braces; metricsExist requires the braces.
func metrics(exprs ...string) []string {
	names := map[string]bool{}
	for _, expr := range exprs {
		for _, found := range selector.FindAllStringSubmatch(expr, -1) {
			names[found[1]] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func (p panel) exprs() []string {
	exprs := make([]string, 0, len(p.Targets))
	for _, q := range p.Targets {
		exprs = append(exprs, q.Expr)
	}
	return exprs
}

func TestDashboardsAreListed(t *testing.T) {
	var text strings.Builder
	text.WriteString("# What do the dashboards show?\n\n" +
		folded("", "Each panel, and the metrics behind it. This page is generated from the "+
			"dashboards by `cd test && go test ./observability -run Listed -update`. How to install them: "+
			"[installation](do/install.md#what-can-i-choose-from)."))
	for _, d := range dashboards(t) {
		fmt.Fprintf(&text, "\n## %s\n\n%s", d.Title, folded("", d.Description))
		for _, p := range d.Panels {
			if p.Type == "row" {
				fmt.Fprintf(&text, "\n### %s: %s\n\n", d.Title, p.Title)
				continue
			}
			of := strings.Join(metrics(p.exprs()...), "`, `")
			text.WriteString(folded("- ", fmt.Sprintf("**%s**: %s Metrics: ", p.Title, p.Description)+"`"+of+"`."))
		}
	}
	golden(t, "docs/dashboards.md", text.String())
}

func folded(bullet, paragraph string) string {
	var text strings.Builder
	line := strings.TrimSuffix(bullet, " ")
	for _, word := range strings.Fields(paragraph) {
		switch {
		case len(line)+1+len(word) > 118:
			text.WriteString(line + "\n")
			line = strings.Repeat(" ", len(bullet)) + word
		case line == "":
			line = word
		default:
			line += " " + word
		}
	}
	return text.String() + line + "\n"
}

// golden compares a file of the project with want. With the flag -update, it writes the file.
func golden(t *testing.T, file, want string) {
	t.Helper()
	path, err := project.Path(file)
	must(t, err)
	if *update {
		must(t, os.WriteFile(path, []byte(want), 0o644))
		return
	}
	if diff := cmp.Diff(read(t, file), want); diff != "" {
		t.Errorf("%s is out of date: cd test && go test ./observability -run %s -update\n%s", file,
			strings.Split(t.Name(), "/")[0], diff)
	}
}
