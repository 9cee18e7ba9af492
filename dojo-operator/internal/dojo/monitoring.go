package dojo

import (
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/optional"
)

// The kinds of prometheus-operator (https://prometheus-operator.dev/docs/api-reference/api/) that a Dojo makes where they exist.
var (
	serviceMonitorKind = monitoringKind("ServiceMonitor", "servicemonitors")
	prometheusRuleKind = monitoringKind("PrometheusRule", "prometheusrules")
	monitoringKinds    = []optional.Kind{serviceMonitorKind, prometheusRuleKind}
)

func monitoringKind(kind, plural string) optional.Kind {
	return optional.Kind{GroupVersionKind: schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: kind}, Plural: plural}
}

// monitored reports whether the Dojo asks to be watched by Prometheus; without that there are no alarms.
func monitored(d *corev1api.Dojo) bool {
	return d.Spec.Monitoring != nil && d.Spec.Monitoring.Enabled || d.Spec.Alerts != nil
}

// monitoringLabels are those of the objects that a Prometheus or an Alertmanager may select by label.
func monitoringLabels(d *corev1api.Dojo) map[string]string {
	all := map[string]string{}
	if d.Spec.Monitoring != nil {
		maps.Copy(all, d.Spec.Monitoring.Labels)
	}
	maps.Copy(all, labels(d))
	return all
}

// monitorFor returns the object of one of monitoringKinds.
func monitorFor(d *corev1api.Dojo, kind optional.Kind) *unstructured.Unstructured {
	spec := map[string]any{
		"selector":  map[string]any{"matchLabels": generic[map[string]any](selector(d))},
		"endpoints": []any{map[string]any{"port": portName, "path": "/metrics"}},
	}
	if kind == prometheusRuleKind {
		spec = map[string]any{"groups": []any{map[string]any{"name": "dojo", "rules": rulesFor(d)}}}
	}
	o := owned(d, custom(d, kind, d.Name, spec))
	o.SetLabels(monitoringLabels(d))
	return o
}

// planMonitor returns an object of one of monitoringKinds where it has to be written, or the live one where it has to go. Where
// the kind does not exist there is nothing to do: it is made as soon as it does.
func planMonitor(d *corev1api.Dojo, kind optional.Kind, seen map[string]*unstructured.Unstructured) (*child, *leftover) {
	live, served := seen[kind.Kind]
	switch {
	case !served, taken(d, live):
		return nil, nil
	case monitored(d):
		return planCustom(live, monitorFor(d, kind)), nil
	case live == nil:
		return nil, nil
	}
	return nil, &leftover{kind.Kind, live}
}

// rulesFor are the alerts about a Dojo. Those about traffic read what the application's go-gin-prometheus counts
// (https://github.com/zsais/go-gin-prometheus); the others are about the operator's own metrics, which Prometheus has to scrape too, with
// honorLabels, so that the namespace is that of the Dojo.
func rulesFor(d *corev1api.Dojo) []any {
	app := fmt.Sprintf(`namespace=%q,service=%q`, d.Namespace, d.Name)
	of := fmt.Sprintf(`namespace=%q,dojo=%q`, d.Namespace, d.Name)
	dojo := d.Namespace + "/" + d.Name // in the summaries: $labels are those of the expression alone, without the rule's own
	var rules []any
	if *d.Spec.Replicas > 0 {
		rules = append(rules, rule(d, "DojoDown", "2m", "critical",
			// One that has never been up is told about by the alerts on Degraded and on its database. An autoscaler may want none to be up.
			fmt.Sprintf(`absent(up{%s} == 1) unless on () dojo_condition{%s,type="Available",reason=~"%s|%s"}`,
				app, of, corev1api.ReasonStarting, corev1api.ReasonScaledToZero),
			"Nobody serves the Dojo "+dojo, "No pod of it has answered Prometheus for two minutes."))
	}
	rules = append(rules,
		rule(d, "DojoErrors", "5m", "warning",
			fmt.Sprintf(`sum(rate(gin_requests_total{%s,code=~"5.."}[5m])) / sum(rate(gin_requests_total{%s}[5m])) > 0.05`, app, app),
			"The Dojo "+dojo+" fails", "More than 5% of the requests have ended in an error of the server."),
		rule(d, "DojoSlow", "10m", "warning",
			fmt.Sprintf(`sum(rate(gin_request_duration_seconds_sum{%s}[5m])) / sum(rate(gin_request_duration_seconds_count{%s}[5m])) > 1`, app, app),
			"The Dojo "+dojo+" is slow", "Requests have taken more than a second on average."),
		rule(d, "DojoDegraded", "1m", "warning", fmt.Sprintf(`max by (reason) (dojo_condition{%s,type="Degraded"}) == 1`, of),
			"The Dojo "+dojo+" needs somebody: {{ $labels.reason }}", "`kubectl describe dojo` says what to do."),
		rule(d, "DojoReplicasMissing", "10m", "warning", fmt.Sprintf(`max(dojo_replicas_ready{%s}) < max(dojo_replicas_wanted{%s})`, of, of),
			"The Dojo "+dojo+" lacks replicas", "Fewer replicas than wanted have been ready for ten minutes."))
	if d.Spec.Postgres != nil {
		rules = append(rules, rule(d, "DojoDatabaseNotReady", "10m", "warning",
			fmt.Sprintf(`max by (reason) (dojo_condition{%s,type="DatabaseReady"}) == 0`, of),
			"The database of the Dojo "+dojo+" is not ready: {{ $labels.reason }}",
			"The condition DatabaseReady of the Dojo says what is waited for."))
	}
	if backupPolicy(d) != nil {
		rules = append(rules, rule(d, "DojoBackupFailed", "1m", "warning",
			fmt.Sprintf(`max by (reason) (dojo_condition{%s,type=%q}) == 0`, of, corev1api.ConditionBackupSucceeded),
			"The last backup of the Dojo "+dojo+" has failed",
			"The condition BackupSucceeded of the Dojo has CloudNativePG's words."))
	}
	return rules
}

func rule(d *corev1api.Dojo, name, lasting, severity, expr, summary, description string) map[string]any {
	return map[string]any{
		"alert": name, "expr": expr, "for": lasting,
		"labels":      map[string]any{"severity": severity, "namespace": d.Namespace, "dojo": d.Name},
		"annotations": map[string]any{"summary": summary, "description": description},
	}
}
