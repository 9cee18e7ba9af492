// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"fmt"
	"maps"
	"time"

	"github.com/robfig/cron"

	corev1api "jutsu.com/operators/apis/core/v1"
)

// job is that of the operator's own metrics, as its ServiceMonitor sets it. It is no name that a
// Service may have, so that no application can be taken for the operator.
const job = "jutsu.com/dojo-operator"

// rulesFor are the alerts about a Dojo. Those about traffic read what the application's
// go-gin-prometheus counts (https://github.com/zsais/go-gin-prometheus); the others read the
// operator's own metrics, which Prometheus has to scrape too, with honorLabels, so that the
// namespace is that of the Dojo, and under its job.
func rulesFor(d *corev1api.Dojo) []any {
	app := fmt.Sprintf(`namespace=%q,service=%q`, d.Namespace, d.Name)
	of := fmt.Sprintf(`job=%q,namespace=%q,dojo=%q`, job, d.Namespace, d.Name)
	dojo := d.Namespace + "/" + d.Name // for summaries: $labels are those of the expression, without the rule's own
	var rules []any
	if *d.Spec.Replicas > 0 {
		rules = append(rules, rule(d, "DojoDown", "2m", "critical",
			// One that has never been up is covered by the alerts on Degraded and on its database.
			// An autoscaler may scale to zero.
			fmt.Sprintf(`absent(up{%s} == 1) unless on () dojo_condition{%s,type="Available",reason=~"%s|%s"}`,
				app, of, corev1api.ReasonStarting, corev1api.ReasonScaledToZero),
			"Dojo "+dojo+" is down", "No pod of the Dojo has answered Prometheus for two minutes."))
	}
	rules = append(rules,
		rule(d, "DojoErrors", "5m", "warning",
			above("0.05", `gin_requests_total{`+app+`,code=~"5.."}`, `gin_requests_total{`+app+`}`),
			"Dojo "+dojo+" returns errors", "More than 5% of the requests have ended in an error of the server."),
		rule(d, "DojoSlow", "10m", "warning",
			above("1", `gin_request_duration_seconds_sum{`+app+`}`, `gin_request_duration_seconds_count{`+app+`}`),
			"Dojo "+dojo+" is slow", "Requests have taken more than a second on average."),
		rule(d, "DojoDegraded", "1m", "warning", fmt.Sprintf(`max by (reason) (dojo_condition{%s,type="Degraded"}) == 1`, of),
			"Dojo "+dojo+" is degraded: {{ $labels.reason }}", "A user must act: `kubectl describe dojo` shows what to do."),
		rule(d, "DojoReplicasMissing", "10m", "warning",
			fmt.Sprintf(`max(dojo_replicas_ready{%s}) < max(dojo_replicas_desired{%s})`, of, of),
			"Dojo "+dojo+" lacks replicas", "Fewer replicas than desired have been ready for ten minutes."))
	if d.Spec.Postgres != nil {
		rules = append(rules,
			rule(d, "DojoDatabaseUnreachable", "2m", "critical",
				fmt.Sprintf(`max(dojo_condition{%s,type="Available",reason=%q}) == 0`, of, corev1api.ReasonDatabaseUnreachable),
				"The database of Dojo "+dojo+" cannot be reached",
				"Its Cluster has had no ready primary for two minutes, so that requests fail: "+
					"`kubectl describe dojo`, and the Cluster."),
			rule(d, "DojoDatabaseNotReady", "10m", "warning",
				fmt.Sprintf(`max by (reason) (dojo_condition{%s,type="DatabaseReady"}) == 0`, of),
				"The database of Dojo "+dojo+" is not ready: {{ $labels.reason }}",
				"The condition DatabaseReady of the Dojo shows what it waits for."))
	}
	if policy := d.BackupPolicy(); policy != nil {
		rules = append(rules, backupRules(d, policy, of, dojo)...)
	}
	return rules
}

// backupRules are the alerts about backups: one that has failed, and one that is overdue, also
// because it hangs or has never run.
func backupRules(d *corev1api.Dojo, policy *corev1api.Backup, of, dojo string) []any {
	rules := []any{rule(d, "DojoBackupFailed", "1m", "warning",
		fmt.Sprintf(`max by (reason) (dojo_condition{%s,type=%q}) == 0`, of, corev1api.ConditionBackupSucceeded),
		"Backups of Dojo "+dojo+" fail",
		"The condition BackupSucceeded of the Dojo has the error of CloudNativePG.")}
	if age := maxBackupAge(policy.Schedule); age > 0 {
		rules = append(rules, rule(d, "DojoBackupOverdue", "60m", "warning",
			fmt.Sprintf(`time() - max(dojo_last_backup_timestamp_seconds{%s}) > %.0f`, of, age.Seconds()),
			"Dojo "+dojo+" has no recent backup",
			"No backup has completed for longer than the schedule allows: `kubectl get backups,scheduledbackups`."))
	}
	return rules
}

// maxBackupAge is how old the last backup of a schedule may become: the longest time between two
// runs, and a quarter more for one that takes longer than that before. It is 0 where the schedule
// cannot be read, which CloudNativePG refuses too.
func maxBackupAge(fiveFields string) (longest time.Duration) {
	schedule, err := cron.ParseStandard(fiveFields)
	if err != nil {
		return 0
	}
	const week, year = 8 * 24 * time.Hour, 400 * 24 * time.Hour // and a bit
	start := schedule.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	for at, runs := start, 0; at.Sub(start) < week || runs < 60 && at.Sub(start) < year; runs++ {
		next := schedule.Next(at)
		if next.IsZero() { // also where at is
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

// The annotations by which an alert links to what helps, as those of kubernetes-mixin
// (https://github.com/kubernetes-monitoring/kubernetes-mixin).
const (
	dashboardAnnotation = "dashboard_url"
	runbookAnnotation   = "runbook_url"
)

// linked are the rules with links to the dashboard of the Dojo, in the form of Grafana
// (https://grafana.com/docs/grafana/latest/dashboards/build-dashboards/create-dashboard-url-variables/),
// and to the runbook. The flags are refused where they hold a template of Prometheus.
func linked(d *corev1api.Dojo, rules []any, cfg Config) []any {
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

// above is a ratio of the rates of two counters that is above a limit.
func above(limit, part, whole string) string {
	return fmt.Sprintf("sum(rate(%s[5m])) / sum(rate(%s[5m])) > %s", part, whole, limit)
}
