package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestRun runs every scenario once, small, on real clusters. What the figures are is of no interest here, but for those that
// hold on any machine.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	o := &options{dojos: 3, secrets: 5, channels: 10, idle: 2 * time.Second, repeat: 1, quiet: 3 * time.Second}
	measured, err := run(t.Context(), o, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range measured.Figures {
		got[f.Scenario+": "+f.Name] = f.Value
	}
	for name, want := range map[string]float64{
		"load: child writes":                    3, // Secret, Deployment, Service
		"load: writes that change nothing":      0,
		"idle: writes":                          0,
		"rotation: child writes":                2, // Secret, Deployment
		"rotation: writes that change nothing":  0,
		"restart: status writes":                0,
		"restart: child writes":                 0,
		"discord: calls to Discord per channel": 1.2, // a fifth have a webhook
		"discord: intents (finalizers)":         1,
		"discord: idle: calls to Discord":       0,
		"discord: idle: writes":                 0,
		"discord: restart: writes":              0,
		"load: requests: patch deployments":     1,
		"rotation: requests: patch deployments": 1,
	} {
		if diff := cmp.Diff(want, got[name]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for _, name := range []string{
		"load: created to Ready, p99", "load: status writes", "load: operator's RSS", "direct: created to available, first to last",
		"idle: Lease requests of leader election", "rotation: new password to all pods replaced, p50", "restart: start to leading",
		"takeover: SIGTERM to the other has acted, median", "takeover: SIGKILL to the other has acted, median",
		"memory: RSS with 0 Secrets", "memory: live heap with 5 Secrets of 10 KiB",
	} {
		if got[name] <= 0 {
			t.Errorf("%s is %v", name, got[name])
		}
	}
}
