// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"
)

// A group of scenarios has figures that must equal a value, or be above 0, on every machine.
type group struct {
	scenarios []string
	exact     map[string]float64
	positive  []string
	profiles  []string // files
}

var groups = map[string]group{
	"Dojos": {
		scenarios: []string{
			scenarioLoad, scenarioOne, scenarioIdle, scenarioRotation, scenarioRestart, scenarioTakeover,
			scenarioDirect, scenarioMemory,
		},
		exact: map[string]float64{
			"load, 3: child writes":                    leastChildWrites,
			"load, 3: writes that change nothing":      0,
			"load, 3: requests: create deployments":    1,
			"idle, 3: idle: writes":                    0,
			"rotation, 3: child writes":                2, // Secret, Deployment
			"rotation, 3: writes that change nothing":  0,
			"rotation, 3: requests: patch deployments": 1,
			"restart, 3: status writes":                0,
			"restart, 3: child writes":                 0,
		},
		positive: []string{
			"load, 3: created to Ready, p99", "load, 3: status writes", "load, 3: operator's RSS",
			"load, 3: reconciles", "direct, 3: created to available, first to last",
			"idle, 3: idle: Lease requests of leader election",
			"rotation, 3: new password to all pods replaced, p50", "restart, 3: start to leading",
			"takeover, 3: SIGTERM to the other has acted, median",
			"takeover, 3: SIGKILL to the other has acted, median", "memory, 0: RSS", "memory, 5: live heap",
		},
		profiles: []string{
			"dojo-operator-3.cpu.pb.gz", "kube-apiserver-3.cpu.pb.gz", "kube-apiserver-direct-3.allocs.pb.gz",
		},
	},
	"Discord": {
		scenarios: []string{
			scenarioDiscord, scenarioRoles, scenarioOutage, scenarioLost, scenarioResync,
		},
		exact: map[string]float64{
			"discord, without webhooks, 20 ms, 10: calls to Discord":    1,
			"discord, with webhooks, 20 ms, 10: calls to Discord":       2,
			"discord, with webhooks, 20 ms, 10: intents (finalizers)":   1,
			"discord, with webhooks, 20 ms, 10: Secrets written":        1,
			"discord, with webhooks, 20 ms, 10: idle: calls to Discord": 0,
			"discord, with webhooks, 20 ms, 10: idle: writes":           0,
			"discord, with webhooks, 20 ms, 10: restart: writes":        0,
			"roles, 20 ms, 5: calls that create":                        1,
			"roles, 20 ms, 5: idle: calls to Discord":                   0,
			"roles, 20 ms, 5: an edit of a role: " + patchRole:          1,
			"roles, 20 ms, 5: an edit of a role: other calls":           0,
			"roles, 20 ms, 5: an edit of a channel: " + patchChannel:    1,
			"roles, 20 ms, 5: an edit of a channel: other calls":        0,
			"outage, 10: channels on Discord too many":                  0,
			"lost, 10: channels on Discord too many":                    0,
			"resync, 10: calls that read a guild":                       3,
		},
		positive: []string{
			"discord, with webhooks, 20 ms, 10: drift to repair by event, p99",
			"discord, with webhooks, 20 ms, 10: reconciles", "outage, 10: return of Discord to all Ready",
			"resync, 10: drift to repair without events, p50", "lost, 1: calls to Discord but the creates",
		},
		profiles: []string{
			"discord-operator-10-with-webhooks-20-ms.allocs.pb.gz",
		},
	},
	"abuse": {
		scenarios: []string{
			scenarioAbuse,
		},
		exact: map[string]float64{
			"abuse of Dojos, 20: limits.memory":    256,
			"abuse of channels, 20: limits.memory": 256,
		},
		positive: []string{
			"abuse of Dojos, 20: alone: created to Ready, p95",
			"abuse of Dojos, 20: under references to objects of another tenant: edited to Ready, p95",
			"abuse of channels, 20: under refused tokens: created to Ready, p95",
			"abuse of channels, 20: calls that Discord answers with 401",
			"abuse of channels, 20: a start under all attacks: peak RSS",
		},
	},
}

// TestRun does not run scenarioGuilds, which is scenarioDiscord with more guilds.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	silence()
	tested := []string{scenarioGuilds}
	for name, g := range groups {
		tested = append(tested, g.scenarios...)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g.run(t)
		})
	}
	slices.Sort(tested)
	if diff := cmp.Diff(slices.Sorted(slices.Values(scenarios)), tested); diff != "" {
		t.Errorf("not every scenario is in one group: %s", diff)
	}
}

func (g group) run(t *testing.T) {
	o := &options{
		only:  strings.Join(g.scenarios, ","),
		dojos: []int{3}, secrets: 5, channels: []int{10}, guilds: 2, webhooks: []bool{false, true},
		rolesEach: []int{5}, latency: []time.Duration{20 * time.Millisecond}, outage: time.Second,
		resync: time.Second, idle: 2 * time.Second, repeat: 1, runs: 1, flood: serversOf, lives: 2, quiet: 3 * time.Second,
		out:              filepath.Join(t.TempDir(), "figures.json"),
		profileAPIServer: true,
	}
	measured, err := run(t.Context(), o, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	g.checkFigures(t, measured)
	for _, name := range g.profiles {
		checkProfile(t, filepath.Join(filepath.Dir(o.out), "profiles", name))
	}
	saved, err := read(o.out)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(measured, saved); diff != "" {
		t.Error(diff)
	}
}

func (g group) checkFigures(t *testing.T, measured *report) {
	t.Helper()
	got := map[string]float64{}
	for _, f := range measured.Figures {
		got[fmt.Sprintf("%s, %d: %s", f.Scenario, f.N, f.Name)] = f.Value
	}
	for name, want := range g.exact {
		if diff := cmp.Diff(want, got[name]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for _, name := range g.positive {
		if got[name] <= 0 {
			t.Errorf("%s is %v", name, got[name])
		}
	}
}

func checkProfile(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// The profile may have no samples, because three Dojos may take too little CPU time.
	if p, err := profile.ParseData(text); err != nil || len(p.SampleType) == 0 {
		t.Errorf("%s: %v, %v", filepath.Base(path), p, err)
	}
}
