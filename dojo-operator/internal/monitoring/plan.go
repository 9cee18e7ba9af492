// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/optionalkinds"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// Plan plans the monitoring and the alerts of a Dojo. port is the name of the Service's port that
// Prometheus scrapes.
func Plan(dojo *corev1api.Dojo, s State, port string, cfg Config) apply.Plan {
	var p apply.Plan
	for _, monitor := range []struct {
		kind  optionalkinds.Kind
		live  *unstructured.Unstructured
		spec  map[string]any
		asked bool
	}{
		{serviceMonitorKind, s.ServiceMonitor, scrapeFor(dojo, port), Monitored(dojo)},
		// A suspended Dojo has no pods, so it gets no alerts.
		{ruleKind, s.Rule, rulesSpec(dojo, cfg), Monitored(dojo) && !dojo.Spec.Suspend},
	} {
		if s.has(monitor.kind) { // otherwise create the object once the cluster has the kind
			desired := addLabels(dojo, ownership.Child(dojo, monitor.kind.GroupVersionKind, dojo.Name, monitor.spec))
			ownership.PlanOption(dojo, &p, monitor.kind.Kind, monitor.live, monitor.asked, desired, s.Unchanged)
		}
	}
	planAlerts(dojo, s, cfg, &p)
	return p.ForPart(corev1api.ConditionAlertsReady)
}

// Monitored reports whether Prometheus should scrape the Dojo. It is true for each Dojo with
// alerts, because alerts need the metrics.
func Monitored(dojo *corev1api.Dojo) bool {
	return dojo.Spec.Monitoring != nil && dojo.Spec.Monitoring.Enabled || dojo.Spec.Alerts != nil
}

func addLabels(dojo *corev1api.Dojo, o *unstructured.Unstructured) *unstructured.Unstructured {
	all := map[string]string{}
	if dojo.Spec.Monitoring != nil {
		maps.Copy(all, dojo.Spec.Monitoring.Labels)
	}
	maps.Copy(all, o.GetLabels())
	o.SetLabels(all)
	return o
}

// scrapeFor limits samples and labels, so that a tenant cannot fill a shared Prometheus.
func scrapeFor(dojo *corev1api.Dojo, port string) map[string]any {
	return map[string]any{
		"sampleLimit": int64(10_000), "bodySizeLimit": "10MB",
		"labelLimit": int64(32), "labelNameLengthLimit": int64(128), "labelValueLengthLimit": int64(1024),
		"selector":  map[string]any{"matchLabels": apply.As[map[string]any](ownership.Selector(dojo))},
		"endpoints": []any{map[string]any{"port": port, "path": "/metrics"}},
	}
}

func rulesSpec(dojo *corev1api.Dojo, cfg Config) map[string]any {
	return map[string]any{"groups": []any{map[string]any{"name": "dojo", "rules": addLinks(dojo, rulesFor(dojo), cfg)}}}
}

func notInstalled(reason, what, operator string, kind *optionalkinds.Kind) *conditions.Issue {
	return conditions.Degraded(reason, "%s needs %s, but this cluster does not have its kind %s, or does not let "+
		"dojo-operator read it. Install the missing operator, or see docs/platform/rbac.md; the Dojo then continues "+
		"automatically.", what, operator, kind.Kind)
}
