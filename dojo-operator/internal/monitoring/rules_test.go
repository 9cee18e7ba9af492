// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"fmt"
	"maps"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/dojotest"
)

func withCluster(backup *corev1api.Backup) func(*corev1api.Dojo) {
	return func(dojo *corev1api.Dojo) {
		dojo.Spec.Postgres = &corev1api.Postgres{Cluster: &corev1api.PostgresCluster{Backup: backup}}
	}
}

func withVersion(policy *corev1api.VersionPolicy) func(*corev1api.Dojo) {
	return func(dojo *corev1api.Dojo) {
		dojo.Spec.Postgres.Cluster.Version, dojo.Spec.Postgres.Cluster.VersionPolicy = "17", policy
	}
}

func TestAlerts(t *testing.T) {
	t.Parallel()
	docs, err := os.ReadFile("../../../docs/dojo-alerts.md")
	must(t, err)
	names := func(dojo *corev1api.Dojo) []string {
		var names []string
		for _, r := range rulesFor(dojo) {
			rule := r.(map[string]any)
			for _, key := range []string{"expr", "for", "labels", "annotations"} {
				if rule[key] == nil || rule[key] == "" {
					t.Errorf("%s lacks %s", rule["alert"], key)
				}
			}
			minutes, _ := strings.CutSuffix(rule["for"].(string), "m")
			if row := fmt.Sprintf("\n| %#q | %s min |", rule["alert"], minutes); !strings.Contains(string(docs), row) {
				t.Errorf("docs/dojo-alerts.md has no row %s", row)
			}
			names = append(names, rule["alert"].(string))
		}
		return names
	}
	common := []string{"DojoErrors", "DojoSlow", "DojoDegraded", "DojoReplicasMissing"}
	all := func(more ...string) []string { return slices.Concat([]string{"DojoDown"}, common, more) }
	for name, c := range map[string]struct {
		dojo *corev1api.Dojo
		want []string
	}{
		"serving":         {dojotest.Dojo(), all()},
		"scaled to zero":  {dojotest.Dojo(dojotest.Replicas(0)), common},
		"with a database": {dojotest.Dojo(withCluster(nil)), all("DojoDatabaseUnreachable", "DojoDatabaseNotReady")},
		"with backups": {dojotest.Dojo(withCluster(&corev1api.Backup{Schedule: "0 2 * * *"})),
			all("DojoDatabaseUnreachable", "DojoDatabaseNotReady", "DojoBackupFailed", "DojoBackupOverdue")},
		"with an invalid backup schedule": {dojotest.Dojo(withCluster(&corev1api.Backup{Schedule: "99 2 * * *"})),
			all("DojoDatabaseUnreachable", "DojoDatabaseNotReady", "DojoBackupFailed")},
		"with a version": {dojotest.Dojo(withCluster(nil), withVersion(nil)),
			all("DojoDatabaseUnreachable", "DojoDatabaseNotReady", "DojoPostgresOutdated")},
		"with automatic minor upgrades": {
			dojotest.Dojo(withCluster(nil), withVersion(&corev1api.VersionPolicy{Minor: corev1api.MinorAutomatic})),
			all("DojoDatabaseUnreachable", "DojoDatabaseNotReady", "DojoPostgresOutdated"),
		},
	} {
		if diff := cmp.Diff(c.want, names(c.dojo)); diff != "" {
			t.Error(name, diff)
		}
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	dojo := dojotest.Dojo(withCluster(&corev1api.Backup{Schedule: "0 2 * * *"}), withVersion(nil))
	dashboard, err := url.Parse("https://grafana.example.org/d/x?orgId=2")
	must(t, err)
	const thisDojo, ofReason = "https://grafana.example.org/d/x?orgId=2&var-dojo=tokyo&var-namespace=school",
		"/reasons.md#{{ $labels.reason | toLower }}"
	sections := map[string]string{
		"DojoDown": "/dojo-alerts.md#dojodown", "DojoErrors": "/dojo-alerts.md#dojoerrors",
		"DojoSlow": "/dojo-alerts.md#dojoslow", "DojoDegraded": ofReason,
		"DojoReplicasMissing": "/dojo-alerts.md#dojoreplicasmissing", "DojoDatabaseNotReady": ofReason,
		"DojoDatabaseUnreachable": "/dojo-alerts.md#dojodatabaseunreachable",
		"DojoBackupFailed":        ofReason, "DojoBackupOverdue": "/dojo-alerts.md#dojobackupoverdue",
		"DojoPostgresOutdated": "/dojo-alerts.md#dojopostgresoutdated",
	}
	for alert := range sections {
		page, err := os.ReadFile("../../../docs/dojo-alerts.md")
		must(t, err)
		if !strings.Contains(string(page), "\n### "+alert+"\n") {
			t.Errorf("docs/dojo-alerts.md has no section %s", alert)
		}
	}
	_, err = os.Stat("../../../docs/reasons.md") // test/pages checks that this page covers all reasons
	must(t, err)
	for name, c := range map[string]struct {
		config Config
		want   map[string]any
	}{
		"no links":    {Config{}, map[string]any{}},
		"a dashboard": {Config{DashboardURL: dashboard}, map[string]any{"dashboard_url": thisDojo}},
		"a dashboard and docs": {Config{DashboardURL: dashboard, DocsURL: "https://r.example.org/docs"}, map[string]any{
			"dashboard_url": thisDojo, "runbook_url": "https://r.example.org/docs",
		}},
	} {
		rules := rulesSpec(dojo, c.config)["groups"].([]any)[0].(map[string]any)["rules"].([]any)
		if len(rules) < 9 {
			t.Errorf("%s: %d rules", name, len(rules))
		}
		for _, rule := range rules {
			links := maps.Clone(rule.(map[string]any)["annotations"].(map[string]any))
			delete(links, "summary")
			delete(links, "description")
			if runbook, linked := links["runbook_url"].(string); linked {
				links["runbook_url"] = strings.TrimSuffix(runbook, sections[rule.(map[string]any)["alert"].(string)])
			}
			if diff := cmp.Diff(c.want, links); diff != "" {
				t.Error(name, rule, diff)
			}
		}
	}
	if dashboard.RawQuery != "orgId=2" {
		t.Error("the links change the dashboard's URL in the Config")
	}
}

func TestMaxBackupAge(t *testing.T) {
	t.Parallel()
	const hour, day = time.Hour, 24 * time.Hour
	for schedule, longest := range map[string]time.Duration{
		"0 2 * * *": day, "30 */6 * * *": 6 * hour, "* * * * *": time.Minute, "0 2 * * 0": 7 * day,
		"0 2 * * 1-5": 3 * day, "*/5 9-17 * * 1-5": 3*day - 8*hour - 55*time.Minute, // over the weekend
		"0 2 1 * *": 31 * day, "0 2 29 2 *": 4*365*day + day, "0 2 31 2 *": 0, "": 0, "99 2 * * *": 0,
	} {
		if got := maxBackupAge(schedule); got != longest+longest/4 {
			t.Errorf("%q: %s, not %s", schedule, got, longest+longest/4)
		}
	}
}

// The end-to-end tests render the same templates with Alertmanager.
func TestAlertText(t *testing.T) {
	t.Parallel()
	type alert struct {
		Labels, Annotations map[string]string
		StartsAt            time.Time
	}
	data := struct {
		Status, ExternalURL string
		GroupLabels         map[string]string
		CommonAnnotations   map[string]string
		Alerts              []alert
	}{"firing", "https://alerts.example.org", map[string]string{"alertname": "DojoDown", "namespace": "school", "dojo": "tokyo"}, nil, []alert{{
		map[string]string{"severity": "critical"},
		map[string]string{"summary": "Dojo is down", "description": "No pod answers."}, dojotest.Noon,
	}}}
	render := func(text string) string {
		var out strings.Builder
		must(t, template.Must(template.New("").Option("missingkey=error").Parse(text)).Execute(&out, data))
		return out.String()
	}
	for text, want := range map[string]string{
		alertTitle: "🔥 DojoDown · school/tokyo",
		alertMessage: "**Dojo is down**\nNo pod answers.\n_critical, since 2026-01-02 12:00:00 UTC_\n" +
			"[Silence it](https://alerts.example.org/#/silences/new?filter=" +
			"%7Balertname%3D%22DojoDown%22%2Cnamespace%3D%22school%22%2Cdojo%3D%22tokyo%22%7D)",
	} {
		if got := render(text); got != want {
			t.Errorf("reads %q, not %q", got, want)
		}
	}
	silence := render(alertMessage)
	data.CommonAnnotations = map[string]string{"dashboard_url": "https://g.example.org/d/x"}
	if got, want := render(alertMessage), silence+" · [Dashboard](https://g.example.org/d/x)"; got != want {
		t.Errorf("reads %q, not %q", got, want)
	}
	data.CommonAnnotations["runbook_url"] = "https://r.example.org"
	links := "[Dashboard](https://g.example.org/d/x) · [Runbook](https://r.example.org)"
	if got, want := render(alertMessage), silence+" · "+links; got != want {
		t.Errorf("reads %q, not %q", got, want)
	}
	data.Status = "resolved"
	if got := render(alertMessage); !strings.HasSuffix(got, "UTC_\n"+links) {
		t.Errorf("reads %q", got)
	}
	if got := render(alertTitle); got != "✅ Resolved: DojoDown · school/tokyo" {
		t.Errorf("reads %q", got)
	}
	if got := render(alertMessage); strings.Contains(got, "Silence") {
		t.Errorf("a resolved alert has a link to silence it: %q", got)
	}
}

func TestMentions(t *testing.T) {
	t.Parallel()
	text := mentions([]corev1api.AlertMention{
		{RoleID: "1401681709430341704", Severities: []corev1api.AlertSeverity{corev1api.AlertCritical}},
		{UserID: "80351110224678912", Severities: []corev1api.AlertSeverity{corev1api.AlertCritical, corev1api.AlertWarning}},
	})
	const role, user = "<@&1401681709430341704> ", "<@80351110224678912> "
	for name, c := range map[string]struct {
		firing []string
		want   string
	}{
		"a critical alert":               {[]string{"critical"}, role + user},
		"a warning":                      {[]string{"warning"}, user},
		"a warning and a critical alert": {[]string{"warning", "critical"}, role + user},
		"other severities":               {[]string{"non-critical", "info"}, ""},
		"a resolved alert":               {nil, ""},
	} {
		type alert struct{ Labels map[string]string }
		data := struct{ Alerts struct{ Firing []alert } }{}
		for _, severity := range c.firing {
			data.Alerts.Firing = append(data.Alerts.Firing, alert{map[string]string{"severity": severity}})
		}
		var out strings.Builder // Alertmanager adds the function match to Go's templates
		must(t, template.Must(template.New("").Funcs(template.FuncMap{"match": regexp.MatchString}).Parse(text)).
			Execute(&out, data))
		if out.String() != c.want {
			t.Errorf("%s: %q, want %q", name, out.String(), c.want)
		}
	}
	if got := mentions(nil); got != "" {
		t.Errorf("without mentions the content is %q", got)
	}
}
