// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"fmt"
	"maps"
	"time"

	"github.com/robfig/cron"

	corev1api "jutsu.com/operators/apis/core/v1"
)

// operatorJob is set by the operator's ServiceMonitor. No application's Service has that name.
const operatorJob = "jutsu.com/dojo-operator"

// The operator's metrics need honorLabels, so that the namespace is the Dojo's. The application
// counts traffic (https://github.com/zsais/go-gin-prometheus).
func rulesFor(d *corev1api.Dojo) []any {
	appLabels := fmt.Sprintf(`namespace=%q,service=%q`, d.Namespace, d.Name)
	operatorLabels := fmt.Sprintf(`job=%q,namespace=%q,dojo=%q`, operatorJob, d.Namespace, d.Name)
	dojo := d.Namespace + "/" + d.Name // for summaries: $labels lack the rule's own
	var rules []any
	if *d.Spec.Replicas > 0 {
		rules = append(rules, rule(d, "DojoDown", "2m", "critical",
			// Other alerts cover a Dojo that never started. An autoscaler may scale to zero.
			fmt.Sprintf(`absent(up{%s} == 1) unless on () dojo_condition{%s,type="Available",reason=~"%s|%s"}`,
				appLabels, operatorLabels, corev1api.ReasonStarting, corev1api.ReasonScaledToZero),
			"Dojo "+dojo+" is down", "No pod of the Dojo has answered Prometheus for two minutes."))
	}
	rules = append(rules,
		rule(d, "DojoErrors", "5m", "warning",
			ratioAbove("0.05", `gin_requests_total{`+appLabels+`,code=~"5.."}`, `gin_requests_total{`+appLabels+`}`),
			"Dojo "+dojo+" returns errors", "More than 5% of the requests have ended in an error of the server."),
		rule(d, "DojoSlow", "10m", "warning",
			ratioAbove("1", `gin_request_duration_seconds_sum{`+appLabels+`}`,
				`gin_request_duration_seconds_count{`+appLabels+`}`),
			"Dojo "+dojo+" is slow", "Requests have taken more than a second on average."),
		rule(d, "DojoDegraded", "1m", "warning",
			fmt.Sprintf(`max by (reason) (dojo_condition{%s,type="Degraded"}) == 1`, operatorLabels),
			"Dojo "+dojo+" is degraded: {{ $labels.reason }}", "A user must act: `kubectl describe dojo` shows what to do."),
		rule(d, "DojoReplicasMissing", "10m", "warning",
			fmt.Sprintf(`max(dojo_replicas_ready{%s}) < max(dojo_replicas_desired{%s})`, operatorLabels, operatorLabels),
			"Dojo "+dojo+" lacks replicas", "Fewer replicas than desired have been ready for ten minutes."))
	if d.Spec.Postgres != nil {
		rules = append(rules,
			rule(d, "DojoDatabaseUnreachable", "2m", "critical",
				fmt.Sprintf(`max(dojo_condition{%s,type="Available",reason=%q}) == 0`, operatorLabels,
					corev1api.ReasonDatabaseUnreachable),
				"The database of Dojo "+dojo+" cannot be reached",
				"Its Cluster has had no ready primary for two minutes, so that requests fail: "+
					"`kubectl describe dojo`, and the Cluster."),
			rule(d, "DojoDatabaseNotReady", "10m", "warning",
				fmt.Sprintf(`max by (reason) (dojo_condition{%s,type="DatabaseReady"}) == 0`, operatorLabels),
				"The database of Dojo "+dojo+" is not ready: {{ $labels.reason }}",
				"The condition DatabaseReady of the Dojo shows what it waits for."))
	}
	if policy := d.BackupPolicy(); policy != nil {
		rules = append(rules, backupRules(d, policy, operatorLabels, dojo)...)
	}
	return rules
}

func backupRules(d *corev1api.Dojo, policy *corev1api.Backup, operatorLabels, dojo string) []any {
	rules := []any{rule(d, "DojoBackupFailed", "1m", "warning",
		fmt.Sprintf(`max by (reason) (dojo_condition{%s,type=%q}) == 0`, operatorLabels, corev1api.ConditionBackupSucceeded),
		"Backups of Dojo "+dojo+" fail",
		"The condition BackupSucceeded of the Dojo has the error of CloudNativePG.")}
	if age := maxBackupAge(policy.Schedule); age > 0 {
		rules = append(rules, rule(d, "DojoBackupOverdue", "60m", "warning",
			fmt.Sprintf(`time() - max(dojo_last_backup_timestamp_seconds{%s}) > %.0f`, operatorLabels, age.Seconds()),
			"Dojo "+dojo+" has no recent backup",
			"No backup has completed for longer than the schedule allows: `kubectl get backups,scheduledbackups`."))
	}
	return rules
}

// maxBackupAge allows a quarter more than the longest time between two runs. 0 is an invalid
// schedule.
func maxBackupAge(fiveFields string) (longest time.Duration) {
	schedule, err := cron.ParseStandard(fiveFields)
	if err != nil {
		return 0
	}
	const week, year = 8 * 24 * time.Hour, 400 * 24 * time.Hour // and a bit
	start := schedule.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	for at, runs := start, 0; at.Sub(start) < week || runs < 60 && at.Sub(start) < year; runs++ {
		next := schedule.Next(at)
		if next.IsZero() { // also if at is
			break
		}
		longest, at = max(longest, next.Sub(at)), next
	}
	return longest + longest/4
}

func rule(d *corev1api.Dojo, name, lasting, severity, expr, summary, description string) map[string]any {
	return map[string]any{
		"alert": name, "expr": expr, "for": lasting,
		"labels":      map[string]any{"severity": severity, "namespace": d.Namespace, "dojo": d.Name},
		"annotations": map[string]any{"summary": summary, "description": description},
	}
}

// As in kubernetes-mixin (https://github.com/kubernetes-monitoring/kubernetes-mixin).
const (
	dashboardAnnotation = "dashboard_url"
	runbookAnnotation   = "runbook_url"
)

// The links are Grafana's
// (https://grafana.com/docs/grafana/latest/dashboards/build-dashboards/create-dashboard-url-variables/).
func addLinks(d *corev1api.Dojo, rules []any, cfg Config) []any {
	links := map[string]any{}
	if cfg.DashboardURL != nil {
		dashboard := *cfg.DashboardURL
		query := dashboard.Query()
		query.Set("var-namespace", d.Namespace)
		query.Set("var-dojo", d.Name)
		dashboard.RawQuery = query.Encode()
		links[dashboardAnnotation] = dashboard.String()
	}
	if cfg.RunbookURL != "" {
		links[runbookAnnotation] = cfg.RunbookURL
	}
	for _, rule := range rules {
		maps.Copy(rule.(map[string]any)["annotations"].(map[string]any), links)
	}
	return rules
}

func ratioAbove(limit, part, whole string) string {
	return fmt.Sprintf("sum(rate(%s[5m])) / sum(rate(%s[5m])) > %s", part, whole, limit)
}
