// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/dojotest"
)

// withCluster gives the Dojo a Cluster of its own, and its backups where it has any.
func withCluster(backup *corev1api.Backup) func(*corev1api.Dojo) {
	return func(d *corev1api.Dojo) {
		d.Spec.Postgres = &corev1api.Postgres{Cluster: &corev1api.PostgresCluster{Backup: backup}}
	}
}

// The alerts are those that make sense for the Dojo; each has a duration, a severity and texts, and
// is documented.
func TestAlerts(t *testing.T) {
	t.Parallel()
	docs, err := os.ReadFile("../../../docs/operations.md")
	must(t, err)
	names := func(d *corev1api.Dojo) []string {
		var names []string
		for _, r := range rulesFor(d) {
			rule := r.(map[string]any)
			for _, key := range []string{"expr", "for", "labels", "annotations"} {
				if rule[key] == nil || rule[key] == "" {
					t.Errorf("%s lacks %s", rule["alert"], key)
				}
			}
			minutes, _ := strings.CutSuffix(rule["for"].(string), "m")
			if row := fmt.Sprintf("\n| %#q | %s min | ", rule["alert"], minutes); !strings.Contains(string(docs), row) {
				t.Errorf("docs/operations.md has no row %s", row)
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
		"serving":       {dojotest.Dojo(), all()},
		"off":           {dojotest.Dojo(dojotest.Replicas(0)), common},
		"with database": {dojotest.Dojo(withCluster(nil)), all("DojoDatabaseUnreachable", "DojoDatabaseNotReady")},
		"with backups": {dojotest.Dojo(withCluster(&corev1api.Backup{Schedule: "0 2 * * *"})),
			all("DojoDatabaseUnreachable", "DojoDatabaseNotReady", "DojoBackupFailed", "DojoBackupOverdue")},
		"with backups that CloudNativePG refuses": {dojotest.Dojo(withCluster(&corev1api.Backup{Schedule: "99 2 * * *"})),
			all("DojoDatabaseUnreachable", "DojoDatabaseNotReady", "DojoBackupFailed")},
	} {
		if diff := cmp.Diff(c.want, names(c.dojo)); diff != "" {
			t.Error(name, diff)
		}
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

// Alertmanager's templates are Go's (https://prometheus.io/docs/alerting/latest/notifications/);
// the end-to-end tests have Alertmanager itself render them.
func TestAlertText(t *testing.T) {
	t.Parallel()
	type alert struct {
		Labels, Annotations map[string]string
		StartsAt            time.Time
	}
	data := struct {
		Status      string
		GroupLabels map[string]string
		Alerts      []alert
	}{"firing", map[string]string{"alertname": "DojoDown", "namespace": "school", "dojo": "tokyo"}, []alert{{
		map[string]string{"severity": "critical"},
		map[string]string{"summary": "Dojo is down", "description": "No pod answers."}, dojotest.Noon,
	}}}
	render := func(text string) string {
		var out strings.Builder
		must(t, template.Must(template.New("").Option("missingkey=error").Parse(text)).Execute(&out, data))
		return out.String()
	}
	for text, want := range map[string]string{
		alertTitle:   "🔥 DojoDown · school/tokyo",
		alertMessage: "**Dojo is down**\nNo pod answers.\n_critical, since 2026-01-02 12:00:00 UTC_\n",
	} {
		if got := render(text); got != want {
			t.Errorf("reads %q, not %q", got, want)
		}
	}
	data.Status = "resolved"
	if got := render(alertTitle); got != "✅ Resolved: DojoDown · school/tokyo" {
		t.Errorf("reads %q", got)
	}
}
