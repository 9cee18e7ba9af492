// SPDX-License-Identifier: Apache-2.0

package observability

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/common/model"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// The tenant's Service (tenantService) has the name of the operator's own metrics Service.
	tenantNamespace = "team-a"
	tenantService   = "dojo-operator-metrics"
)

const forged = `{job="jutsu.com/dojo-operator",namespace="default",dojo="tokyo-jujutsu-high",` +
	`name="tokyo-alerts",kind="DiscordChannel",controller="dojo",type="Degraded",reason="Forged",code="403",le="1"}`

// tenantForgesMetrics serves every metric that our alerts use, with forged labels.
func (s *stage) tenantForgesMetrics(t *testing.T) {
	var read []string
	for _, rule := range s.rules(t) {
		read = append(read, metrics(rule.Query)...)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for _, metric := range slices.Compact(slices.Sorted(slices.Values(read))) {
			if metric != "up" {
				_, _ = fmt.Fprintf(w, "%s%s 1\n", metric, forged)
			}
		}
		for i := range s.flood.Load() {
			_, _ = fmt.Fprintf(w, "flood{i=\"%d\"} 1\n", i)
		}
	}))
	t.Cleanup(server.Close)
	target := map[string]any{"job_name": "tenant", "static_configs": []any{map[string]any{
		"targets": []string{server.Listener.Addr().String()},
		"labels": map[string]string{"namespace": tenantNamespace, "service": tenantService, "pod": "forger-0",
			"job": tenantService}, // prometheus-operator also sets job to the Service's name
	}}}
	maps.Copy(target, s.limits(t, "tokyo-jujutsu-high"))
	s.prometheus.scrape(t, target)
	t.Run("alert rules do not read the tenant's series", s.alertsIgnoreTenant)
	t.Run("Prometheus drops a scrape with too many series", s.floodIsDropped)
}

func (s *stage) rules(t *testing.T) (all []rule) {
	t.Helper()
	var loaded struct{ Groups []ruleGroup }
	must(t, s.prometheus.api(t.Context(), "rules", nil, &loaded))
	for _, group := range loaded.Groups {
		all = append(all, group.Rules...)
	}
	return all
}

var limitNames = map[string]string{
	"sampleLimit": "sample_limit", "bodySizeLimit": "body_size_limit", "labelLimit": "label_limit",
	"labelNameLengthLimit": "label_name_length_limit", "labelValueLengthLimit": "label_value_length_limit",
}

func (s *stage) limits(t *testing.T, dojo string) map[string]any {
	t.Helper()
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(serviceMonitor)
	must(t, s.Admin.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: dojo}, live))
	found := map[string]any{}
	for field, name := range limitNames {
		value, ok, err := unstructured.NestedFieldNoCopy(live.Object, "spec", field)
		if err != nil || !ok {
			t.Errorf("the ServiceMonitor of a Dojo has no %s: %v", field, err)
		}
		found[name] = value
	}
	return found
}

// No rule reads the tenant's series, so the tenant can neither raise nor silence an alert.
func (s *stage) alertsIgnoreTenant(t *testing.T) {
	own := fmt.Sprintf("namespace=%q", tenantNamespace)
	NewWithT(t).Eventually(func() ([]model.LabelSet, error) {
		return s.prometheus.series(t.Context(), `{__name__="dojo_condition", `+own+`, exported_namespace="default"}`)
	}).WithTimeout(waitLimit).ShouldNot(BeEmpty(), "the forged series are scraped")
	for _, rule := range s.rules(t) {
		if rule.Query == "vector(1)" {
			continue // the query of a recording rule with a constant
		}
		for _, selector := range s.selectors(t, rule.Query) {
			found, err := s.prometheus.series(t.Context(), selector)
			must(t, err)
			for _, series := range found {
				if series["namespace"] == tenantNamespace {
					t.Errorf("%s reads %v", rule.Name, series)
				}
			}
		}
	}
}

func (s *stage) selectors(t *testing.T, expr string) (found []string) {
	t.Helper()
	var visit func(any)
	visit = func(part any) {
		switch part := part.(type) {
		case []any:
			for _, one := range part {
				visit(one)
			}
		case map[string]any:
			if matchers, ok := part["matchers"].([]any); ok {
				found = append(found, "{"+strings.Join(matching(matchers), ", ")+"}")
			}
			for _, one := range part {
				visit(one)
			}
		}
	}
	var tree map[string]any
	must(t, s.prometheus.api(t.Context(), "parse_query", map[string][]string{"query": {expr}}, &tree))
	visit(tree)
	NewWithT(t).Expect(found).NotTo(BeEmpty(), "selectors of %s", expr)
	return found
}

func matching(matchers []any) (all []string) {
	for _, one := range matchers {
		m := one.(map[string]any)
		all = append(all, fmt.Sprintf("%s%s%q", m["name"], m["type"], m["value"]))
	}
	return all
}

// Prometheus drops the whole scrape of an application with too many series.
func (s *stage) floodIsDropped(t *testing.T) {
	s.flood.Store(50_000)
	NewWithT(t).Eventually(func(g Gomega) {
		up, err := s.prometheus.query(t.Context(), fmt.Sprintf("up{namespace=%q}", tenantNamespace))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(up).To(ConsistOf(HaveField("Value", BeZero())))
	}).WithTimeout(waitLimit).Should(Succeed(), "the scrape is refused as a whole")
	found, err := s.prometheus.series(t.Context(), "flood")
	must(t, err)
	NewWithT(t).Expect(found).To(BeEmpty())
}
