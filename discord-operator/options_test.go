package main

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
)

// These do not run in parallel: parse registers --kubeconfig, whose value is a global of controller-runtime.

func TestDefaults(t *testing.T) {
	o, err := parse(nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	m := o.managerOptions(runtime.NewScheme())
	got := map[string]any{
		"api": o.apiURL, "resync": o.resync, "recovery": o.recoveryWait, "workers": o.workers, "namespaces": len(m.Cache.DefaultNamespaces),
		"election": m.LeaderElection && m.LeaderElectionReleaseOnCancel, "lease": m.LeaderElectionID, "warm": *m.Controller.EnableWarmup,
		"metrics": m.Metrics.BindAddress, "guarded": m.Metrics.SecureServing && m.Metrics.FilterProvider != nil, "probes": m.HealthProbeBindAddress,
		"profiles": m.PprofBindAddress,
	}
	want := map[string]any{
		"api": "https://discord.com/api/v10", "resync": 5 * time.Minute, "recovery": 15 * time.Second, "workers": 8, "namespaces": 0,
		"election": true, "lease": "discord-operator.discord.jutsu.com", "warm": true,
		"metrics": ":8443", "guarded": true, "probes": ":8081", "profiles": "0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFlags(t *testing.T) {
	o, err := parse([]string{
		"--discord-api-url=http://discord.example/api", "--resync-period=1s", "--recovery-wait=1s", "--concurrency=1", "--watch-namespaces=a, b,c",
		"--pprof-bind-address=:3",
	}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if o.apiURL != "http://discord.example/api" || o.resync != time.Second || o.recoveryWait != time.Second || o.workers != 1 {
		t.Errorf("%+v", o)
	}
	m := o.managerOptions(runtime.NewScheme())
	if m.PprofBindAddress != ":3" {
		t.Errorf("profiles on %q", m.PprofBindAddress)
	}
	watched := m.Cache.DefaultNamespaces
	for _, namespace := range []string{"a", "b", "c"} {
		if _, ok := watched[namespace]; !ok || len(watched) != 3 {
			t.Errorf("%v", watched)
		}
	}
}

func TestWrongFlags(t *testing.T) {
	cases := map[string]struct {
		args []string
		want string // "" where it is right
	}{
		"an API without a scheme":       {[]string{"--discord-api-url=discord.com/api"}, "it must be an address such as https://discord.com/api/v10"},
		"resync too often":              {[]string{"--resync-period=999ms"}, "--resync-period is 999ms, it must be at least 1s"},
		"resync too seldom":             {[]string{"--resync-period=25h"}, "must be at least 1s and at most 24h"},
		"longest resync":                {[]string{"--resync-period=24h"}, ""},
		"recovery too soon":             {[]string{"--recovery-wait=0s"}, "--recovery-wait is 0s, it must be at least 1s"},
		"recovery too late":             {[]string{"--recovery-wait=11m"}, "must be at least 1s and at most 10m"},
		"no worker":                     {[]string{"--concurrency=0"}, "--concurrency is 0"},
		"logs that would hold secrets":  {[]string{"--zap-log-level=8"}, "--zap-log-level must be at most 7"},
		"lease no longer than renewal":  {[]string{"--lease-duration=10s"}, "must be longer than --lease-renew-deadline"},
		"no pause between tries":        {[]string{"--lease-retry-period=0s"}, "must be longer than twice --lease-retry-period"},
		"unknown flag":                  {[]string{"--token=secret"}, "flag provided but not defined: -token; see --help"},
		"a word that is no flag":        {[]string{"import"}, `unexpected argument "import"; see --help`},
		"a namespace list that is none": {[]string{"--watch-namespaces="}, `"" is not the name of a namespace`},
		"a comma too many":              {[]string{"--watch-namespaces=a,"}, `"" is not the name of a namespace`},
		"a pattern of namespaces":       {[]string{"--watch-namespaces=team-*"}, `"team-*" is not the name of a namespace`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := parse(c.args, io.Discard)
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	var out bytes.Buffer
	if _, err := parse([]string{"--help"}, &out); !errors.Is(err, flag.ErrHelp) {
		t.Fatal(err)
	}
	for _, want := range []string{"Usage: discord-operator [flags]", "discord-operator export --help", "-discord-api-url URL", "-recovery-wait", "-zap-log-level"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("--help does not say %q", want)
		}
	}
}
