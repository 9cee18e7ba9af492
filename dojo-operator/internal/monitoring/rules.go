// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/robfig/cron"

	corev1api "jutsu.com/operators/apis/core/v1"
)

// operatorJob is the value of the label job in the operator's metrics. It is not a valid name of a
// Service, so an application never has the same job.
const operatorJob = "jutsu.com/dojo-operator"

// rulesFor requires that Prometheus scrapes the operator with honorLabels, so that the label
// namespace keeps the namespace of the Dojo. The application counts requests with
// https://github.com/zsais/go-gin-prometheus.
func rulesFor(dojo *corev1api.Dojo) []any {
	appLabels := fmt.Sprintf(`namespace=%q,service=%q`, dojo.Namespace, dojo.Name)
	operatorLabels := fmt.Sprintf(`job=%q,namespace=%q,dojo=%q`, operatorJob, dojo.Namespace, dojo.Name)
	name := dojo.Namespace + "/" + dojo.Name // summaries cannot use $labels, which lacks the labels that the rule adds
	see := func(command string, more ...string) string { return run(dojo, command, more...) }
	var rules []any
	if *dojo.Spec.Replicas > 0 {
		rules = append(rules, rule(dojo, "DojoDown", "2m", "critical", downExpr(appLabels, operatorLabels),
			"Dojo "+name+" is down", "No pod of the Dojo has answered Prometheus for two minutes. Why: "+see("tree")+"."))
	}
	rules = append(rules,
		rule(dojo, "DojoErrors", "5m", "warning",
			ratioAbove("0.05", `gin_requests_total{`+appLabels+`,code=~"5.."}`, `gin_requests_total{`+appLabels+`}`),
			"Dojo "+name+" returns errors",
			"More than 5% of the requests have failed with a status code 5xx. Why: "+see("logs")+"."),
		rule(dojo, "DojoSlow", "10m", "warning",
			ratioAbove("1", `gin_request_duration_seconds_sum{`+appLabels+`}`,
				`gin_request_duration_seconds_count{`+appLabels+`}`),
			"Dojo "+name+" is slow", "Requests have taken more than a second on average. See "+see("status")+"."),
		rule(dojo, "DojoDegraded", "1m", "warning",
			fmt.Sprintf(`max by (reason) (dojo_condition{%s,type="Degraded"}) == 1`, operatorLabels),
			"Dojo "+name+" is degraded: {{ $labels.reason }}", "A user must act. What to do: "+see("status")+"."),
		rule(dojo, "DojoReplicasMissing", "10m", "warning",
			fmt.Sprintf(`max(dojo_replicas_ready{%s}) < max(dojo_replicas_desired{%s})`, operatorLabels, operatorLabels),
			"Dojo "+name+" lacks replicas",
			"Fewer replicas than desired have been ready for ten minutes. Why: "+see("tree")+"."))
	if dojo.Spec.Postgres != nil {
		rules = append(rules,
			rule(dojo, "DojoDatabaseUnreachable", "2m", "critical",
				fmt.Sprintf(`max(dojo_condition{%s,type="Available",reason=%q}) == 0`, operatorLabels,
					corev1api.ReasonDatabaseUnreachable),
				"The database of Dojo "+name+" cannot be reached",
				"The application has not reached Postgres for two minutes, so requests fail. Why: "+see("status")+
					". The log of Postgres: "+see("logs", "postgres")+"."),
			rule(dojo, "DojoDatabaseNotReady", "10m", "warning",
				fmt.Sprintf(`max by (reason) (dojo_condition{%s,type="DatabaseReady"}) == 0`, operatorLabels),
				"The database of Dojo "+name+" is not ready: {{ $labels.reason }}",
				"The condition DatabaseReady of the Dojo names the cause. See "+see("status")+"."))
	}
	if own := dojo.Spec.Postgres; own != nil && own.Cluster != nil && own.Cluster.Version != "" {
		lasting := "1440m"
		if p := own.Cluster.VersionPolicy; p != nil && p.Minor == corev1api.MinorAutomatic {
			lasting = "11520m" // 8 days, so that a weekly window has passed
		}
		rules = append(rules, rule(dojo, "DojoPostgresOutdated", lasting, "info",
			fmt.Sprintf(`max(dojo_postgres_outdated{%s}) == 1`, operatorLabels),
			"Postgres of Dojo "+name+" is outdated",
			"A newer minor version or build fixes errors or security problems. To upgrade: "+see("upgrade", "--minor")+"."))
	}
	if policy := dojo.BackupPolicy(); policy != nil {
		rules = append(rules, backupRules(dojo, policy, operatorLabels, name)...)
	}
	return rules
}

// downExpr is true if no pod answers, unless the Dojo is starting, scaled to zero or suspended.
// If Prometheus lacks the operator's series, downExpr is true only if Prometheus has a pod to
// scrape, and a pod was up within the last hour. downExpr can be true for an Available Dojo,
// because Prometheus may fail to reach the pods.
func downExpr(appLabels, operatorLabels string) string {
	up, available := "up{"+appLabels+"}", "dojo_condition{"+operatorLabels+`,type="Available"`
	inactive := strings.Join([]string{
		corev1api.ReasonStarting, corev1api.ReasonScaledToZero, corev1api.ReasonSuspended,
	}, "|")
	return fmt.Sprintf("absent(%[1]s == 1) and on () (%[2]s} or max_over_time(%[1]s[1h]) == 1 and on () %[1]s)"+
		" unless on () %[2]s,reason=~%[3]q}", up, available, inactive)
}

func backupRules(dojo *corev1api.Dojo, policy *corev1api.Backup, operatorLabels, name string) []any {
	see := func(command string) string { return run(dojo, command) }
	rules := []any{rule(dojo, "DojoBackupFailed", "1m", "warning",
		fmt.Sprintf(`max by (reason) (dojo_condition{%s,type=%q}) == 0`, operatorLabels, corev1api.ConditionBackupSucceeded),
		"Backups of Dojo "+name+" fail",
		"The condition BackupSucceeded of the Dojo has the error of CloudNativePG. See "+see("status")+".")}
	if age := maxBackupAge(policy.Schedule); age > 0 {
		rules = append(rules, rule(dojo, "DojoBackupOverdue", "60m", "warning",
			fmt.Sprintf(`time() - max(dojo_last_backup_timestamp_seconds{%s}) > %.0f`, operatorLabels, age.Seconds()),
			"Dojo "+name+" has no recent backup",
			"No backup has completed for longer than the schedule allows. See "+see("backups")+"."))
	}
	return rules
}

// maxBackupAge returns 1.25 times the longest interval of the schedule, or 0 if the schedule is
// invalid or never runs.
func maxBackupAge(fiveFields string) (longest time.Duration) {
	schedule, err := cron.ParseStandard(fiveFields)
	if err != nil {
		return 0
	}
	const week, year = 8 * 24 * time.Hour, 400 * 24 * time.Hour // slightly longer, to cover a whole period
	start := schedule.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	for at, runs := start, 0; at.Sub(start) < week || runs < 60 && at.Sub(start) < year; runs++ {
		next := schedule.Next(at)
		if next.IsZero() { // the schedule has no further runs
			break
		}
		longest, at = max(longest, next.Sub(at)), next
	}
	return longest + longest/4
}

func run(dojo *corev1api.Dojo, command string, more ...string) string {
	words := append([]string{"kubectl dojo", command, dojo.Name, "-n", dojo.Namespace}, more...)
	return "`" + strings.Join(words, " ") + "`"
}

func rule(dojo *corev1api.Dojo, name, lasting, severity, expr, summary, description string) map[string]any {
	return map[string]any{
		"alert": name, "expr": expr, "for": lasting,
		"labels":      map[string]any{"severity": severity, "namespace": dojo.Namespace, "dojo": dojo.Name},
		"annotations": map[string]any{"summary": summary, "description": description},
	}
}

// Annotations of alerts, named as in https://github.com/kubernetes-monitoring/kubernetes-mixin.
const (
	dashboardAnnotation = "dashboard_url"
	runbookAnnotation   = "runbook_url"
)

// addLinks sets Grafana variables in the URL of the dashboard:
// https://grafana.com/docs/grafana/latest/dashboards/build-dashboards/create-dashboard-url-variables/
func addLinks(dojo *corev1api.Dojo, rules []any, cfg Config) []any {
	links := map[string]any{}
	if cfg.DashboardURL != nil {
		dashboard := *cfg.DashboardURL
		query := dashboard.Query()
		query.Set("var-namespace", dojo.Namespace)
		query.Set("var-dojo", dojo.Name)
		dashboard.RawQuery = query.Encode()
		links[dashboardAnnotation] = dashboard.String()
	}
	for _, rule := range rules {
		annotations := rule.(map[string]any)["annotations"].(map[string]any)
		maps.Copy(annotations, links)
		if cfg.DocsURL != "" {
			annotations[runbookAnnotation] = cfg.DocsURL + runbook(rule.(map[string]any))
		}
	}
	return rules
}

func runbook(rule map[string]any) string {
	if strings.HasPrefix(rule["expr"].(string), "max by (reason)") {
		return "/reasons.md#{{ $labels.reason | toLower }}"
	}
	return "/dojo-alerts.md#" + strings.ToLower(rule["alert"].(string))
}

func ratioAbove(limit, part, whole string) string {
	return fmt.Sprintf("sum(rate(%s[5m])) / sum(rate(%s[5m])) > %s", part, whole, limit)
}
