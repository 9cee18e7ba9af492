// SPDX-License-Identifier: Apache-2.0

package observability

import (
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/common/model"
)

func TestLive(t *testing.T) {
	s := newStage(t)
	s.applySamples(t)
	s.exerciseOperators(t)
	t.Run("kubectl prints the output that docs/kubectl.md shows", s.kubectl)
	for _, d := range dashboards(t) {
		t.Run(d.Title, func(t *testing.T) {
			t.Run("every panel has data", func(t *testing.T) { s.everyPanelHasData(t, d) })
			t.Run("every metric and label exists", func(t *testing.T) {
				for _, p := range d.Panels {
					for _, q := range p.Targets {
						s.metricsExist(t, p.Title, substituteVariables(q.Expr, d))
					}
				}
			})
			t.Run("every variable has values", func(t *testing.T) { s.everyVariableHasValues(t, d) })
		})
	}
	t.Run("Prometheus evaluates the operators' alerts", s.alertsAreEvaluated)
	t.Run("Prometheus evaluates a Dojo's alerts", s.alertsOfADojo)
	t.Run("a tenant forges metrics", s.tenantForgesMetrics)
	t.Run("Prometheus verifies a given certificate", s.certificateIsVerified)
	t.Run("Argo CD and Flux report the health of objects", s.gitOpsHealth)
	t.Run("Argo CD and Flux do not report new objects as current", s.newObjectsAreNotCurrent)
	t.Run("Argo CD's configuration keeps its other settings", s.argoCDConfig)
}

func substituteVariables(expr string, d dashboard) string {
	job := "jutsu.com/" + strings.TrimPrefix(d.UID, "jutsu-")
	return strings.NewReplacer("$__rate_interval", "10m", "$__range", "10m", "$job", job,
		"$namespace", ".*", "$kind", ".*", "$dojo", ".*").Replace(expr)
}

// Idle operators make no calls, and a rate needs an increase between two scrapes. So each attempt
// sends requests, and a failed attempt causes drift.
func (s *stage) everyPanelHasData(t *testing.T, d dashboard) {
	NewWithT(t).Eventually(func() []string {
		s.ask()
		var without []string
		for _, p := range d.Panels {
			for _, q := range p.Targets {
				found, err := s.prometheus.query(t.Context(), substituteVariables(q.Expr, d))
				if err != nil {
					without = append(without, fmt.Sprintf("%s: %v", p.Title, err))
				} else if !slices.ContainsFunc(found, func(x *model.Sample) bool { return !math.IsNaN(float64(x.Value)) }) {
					without = append(without, fmt.Sprintf("%s: %s", p.Title, q.Expr))
				}
			}
		}
		if without != nil {
			s.byHand(t, "principals", `{"permission_overwrites":[]}`)
		}
		return without
	}).WithTimeout(waitLimit).WithPolling(2*time.Second).Should(BeEmpty(), "panels without data")
}

func (s *stage) metricsExist(t *testing.T, what, expr string) {
	t.Helper()
	var tree map[string]any
	must(t, s.prometheus.api(t.Context(), "parse_query", url.Values{"query": {expr}}, &tree))
	read := s.walk(t, what, tree)
	slices.Sort(read)
	if got, want := slices.Compact(read), metrics(expr); !slices.Equal(got, want) {
		t.Errorf("%s reads %q; put braces behind each metric, so that docs/dashboards.md lists it (%q)", what, got, want)
	}
}

// The first metric has labels only after a refused call, the second only while an alert is active.
var unlabelled = []string{"kubernetes_requests_forbidden_total", "ALERTS"}

// walk returns the names of the metrics in a syntax tree of Prometheus' API.
func (s *stage) walk(t *testing.T, what string, node map[string]any) []string {
	t.Helper()
	if node["type"] == "vectorSelector" || node["type"] == "matrixSelector" {
		return []string{s.selected(t, what, node)}
	}
	var read []string
	for _, part := range node {
		switch part := part.(type) {
		case map[string]any:
			read = append(read, s.walk(t, what, part)...)
		case []any:
			for _, one := range part {
				if one, ok := one.(map[string]any); ok {
					read = append(read, s.walk(t, what, one)...)
				}
			}
		}
	}
	named := texts(node["grouping"])
	if matching, ok := node["matching"].(map[string]any); ok {
		named = texts(matching["labels"])
	}
	for _, label := range named {
		found, err := s.prometheus.series(t.Context(),
			fmt.Sprintf("{__name__=~%q, %s!=\"\"}", strings.Join(read, "|"), label))
		must(t, err)
		if len(found) == 0 && (len(read) != 1 || !slices.Contains(unlabelled, read[0])) {
			t.Errorf("%s: none of %q has the label %s", what, read, label)
		}
	}
	return read
}

func (s *stage) selected(t *testing.T, what string, node map[string]any) string {
	t.Helper()
	name, _ := node["name"].(string)
	labels := []string{fmt.Sprintf("__name__=%q", name)}
	for _, matcher := range node["matchers"].([]any) {
		if label := matcher.(map[string]any)["name"].(string); label != "__name__" {
			labels = append(labels, label+`!=""`)
		}
	}
	found, err := s.prometheus.series(t.Context(), "{"+strings.Join(labels, ", ")+"}")
	must(t, err)
	if len(found) == 0 {
		t.Errorf("%s: there is no %s with %s", what, name, strings.Join(labels[1:], ", "))
	}
	return name
}

func texts(list any) []string {
	var found []string
	all, _ := list.([]any)
	for _, one := range all {
		found = append(found, one.(string))
	}
	return found
}

var labelValues = regexp.MustCompile(`^label_values\((.+), (\w+)\)$`)

func (s *stage) everyVariableHasValues(t *testing.T, d dashboard) {
	g := NewWithT(t)
	for _, v := range d.Templating.List {
		if v.Type == "datasource" {
			continue
		}
		query := labelValues.FindStringSubmatch(v.Definition)
		g.Expect(query).NotTo(BeNil(), "the query of %s: %s", v.Name, v.Definition)
		found, err := s.prometheus.series(t.Context(), substituteVariables(query[1], d))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(found).To(ContainElement(HaveKey(model.LabelName(query[2]))), "values of %s", v.Name)
	}
}

type (
	rule      struct{ Name, Query, Health, LastError, State string }
	ruleGroup struct{ Rules []rule }
)

func (s *stage) alertsAreEvaluated(t *testing.T) {
	rules := s.rules(t)
	for _, rule := range rules {
		if rule.Health != "ok" || rule.State == "firing" {
			t.Errorf("%s is %s, its health is %s %s", rule.Name, rule.State, rule.Health, rule.LastError)
		}
		s.metricsExist(t, rule.Name, rule.Query)
	}
	if len(rules) < 30 {
		t.Errorf("Prometheus has %d rules", len(rules))
	}
}

func (s *stage) alertsOfADojo(t *testing.T) {
	alerts := map[string]bool{}
	for _, dojo := range []string{"tokyo-jujutsu-high", "sendai-jujutsu-high"} {
		groups := s.ruleGroups(t, "default", dojo)
		folder := checkRules(t, groups)
		var as []ruleSpec
		decode(t, map[string]any{"groups": groups}, &struct{ Groups *[]ruleSpec }{&as})
		if dojo == "sendai-jujutsu-high" {
			tryRules(t, folder, "a-dojo.rules.yaml", as)
		}
		for _, group := range as {
			for _, rule := range group.Rules {
				alerts[rule.Alert] = true
				// Only tokyo-jujutsu-high has an application with metrics.
				s.metricsExist(t, rule.Alert, strings.ReplaceAll(rule.Expr, dojo, "tokyo-jujutsu-high"))
			}
		}
	}
	NewWithT(t).Expect(alerts).To(
		And(HaveKey("DojoDown"), HaveKey("DojoErrors"), HaveKey("DojoDegraded"), HaveKey("DojoDatabaseNotReady")))
}
