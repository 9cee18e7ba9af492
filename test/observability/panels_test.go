// SPDX-License-Identifier: Apache-2.0

package observability

import (
	"os/exec"
	"path/filepath"
	"testing"
)

type panelCase struct {
	dashboard, panel string
	series           map[string]string // values by minute; $job is replaced
	want             map[string]float64
}

var panelCases = map[string]panelCase{
	"an object with a condition that the panel ignores": {
		dashboard: "jutsu-discord-operator", panel: "Conditions",
		series: map[string]string{
			`discord_object_condition{job="$job", kind="DiscordChannel", namespace="a", name="x", type="Ready"}`:    "1x10",
			`discord_object_condition{job="$job", kind="DiscordChannel", namespace="a", name="x", type="Degraded"}`: "0x10",
			`discord_object_condition{job="$job", kind="DiscordChannel", namespace="a", name="x", type="Paused"}`:   "1x10",
		},
		want: map[string]float64{`{type="Ready"}`: 1, `{type="Degraded"}`: 0},
	},
	"Dojos of the same name in two namespaces": {
		panel: "Requests by status",
		series: map[string]string{
			`gin_requests_total{namespace="a", service="tokyo", code="200"}`: "0+60x10",
			`gin_requests_total{namespace="b", service="tokyo", code="200"}`: "0+120x10",
		},
		want: map[string]float64{
			`{namespace="a", service="tokyo", code="200"}`: 1, `{namespace="b", service="tokyo", code="200"}`: 2,
		},
	},
	"one of two Dojos of the same name is slow": {
		panel: "Duration of requests",
		series: map[string]string{
			`gin_request_duration_seconds_sum{namespace="a", service="tokyo"}`:   "0+30x10",
			`gin_request_duration_seconds_count{namespace="a", service="tokyo"}`: "0+60x10",
			`gin_request_duration_seconds_sum{namespace="b", service="tokyo"}`:   "0+240x10",
			`gin_request_duration_seconds_count{namespace="b", service="tokyo"}`: "0+60x10",
		},
		want: map[string]float64{`{namespace="a", service="tokyo"}`: 0.5, `{namespace="b", service="tokyo"}`: 4},
	},
	"a standby queues objects, but has no workers": {
		panel: "Waiting objects",
		series: map[string]string{
			`workqueue_depth{job="$job", pod="leader", controller="x", priority="0"}`:    "2x10",
			`workqueue_depth{job="$job", pod="leader", controller="x", priority="-100"}`: "1x10",
			`workqueue_depth{job="$job", pod="standby", controller="x", priority="0"}`:   "500x10",
			`leader_election_master_status{job="$job", pod="leader"}`:                    "1x10",
			`leader_election_master_status{job="$job", pod="standby"}`:                   "0x10",
		},
		want: map[string]float64{`{controller="x"}`: 3},
	},
}

// A case without a dashboard applies to each dashboard that has the panel.
func TestPanels(t *testing.T) {
	for name, c := range panelCases {
		t.Run(c.panel+": "+name, func(t *testing.T) {
			tried := 0
			for _, d := range dashboards(t) {
				for _, p := range d.Panels {
					if p.Title == c.panel && (c.dashboard == "" || c.dashboard == d.UID) {
						c.try(t, d, p)
						tried++
					}
				}
			}
			if tried == 0 {
				t.Error("there is no such panel")
			}
		})
	}
}

func (c panelCase) try(t *testing.T, d dashboard, p panel) {
	t.Helper()
	var series, want []any
	for name, values := range c.series {
		series = append(series, map[string]string{"series": substituteVariables(name, d), "values": values})
	}
	for labels, value := range c.want {
		want = append(want, map[string]any{"labels": labels, "value": value})
	}
	file := filepath.Join(t.TempDir(), "tests.yaml")
	write(t, file, map[string]any{"tests": []any{map[string]any{
		"interval": "1m", "input_series": series, "promql_expr_test": []any{map[string]any{
			"expr": substituteVariables(p.Targets[0].Expr, d), "eval_time": "10m", "exp_samples": want,
		}},
	}}})
	if out, err := exec.CommandContext(t.Context(), promtool(t), "test", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("%s: promtool test rules: %v\n%s", d.Title, err, out)
	}
}
