package main

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/dojo-operator/internal/dojo"
)

func TestDefaults(t *testing.T) {
	o, err := parse(nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	want := dojo.Config{Image: "danijelradakovic/dojo:0.1.0-alpine", ProgressDeadline: 2 * time.Minute,
		DatabaseDeadline: 15 * time.Minute, PostgresImage: "ghcr.io/cloudnative-pg/postgresql"}
	if diff := cmp.Diff(want, o.dojo); diff != "" {
		t.Error(diff)
	}
	m := o.managerOptions(runtime.NewScheme())
	if !m.LeaderElection || !m.LeaderElectionReleaseOnCancel || m.LeaderElectionID != "dojo-operator.core.jutsu.com" {
		t.Errorf("one leader at a time, which lets go when it leaves: %+v", m)
	}
	if !m.Metrics.SecureServing || m.Metrics.FilterProvider == nil || m.Metrics.BindAddress != ":8443" {
		t.Error("the metrics are served to anybody")
	}
	if m.HealthProbeBindAddress != ":8081" || *m.GracefulShutdownTimeout != 10*time.Second {
		t.Errorf("probes on %s, %s to end", m.HealthProbeBindAddress, m.GracefulShutdownTimeout)
	}
	if m.PprofBindAddress != "0" {
		t.Errorf("anybody can have profiles on %q", m.PprofBindAddress)
	}
	if m.Controller.EnableWarmup == nil || !*m.Controller.EnableWarmup {
		t.Error("a standby has to fill its cache before it can take over")
	}
	if o.workers < 2 || o.showVersion {
		t.Errorf("%d workers, version %v", o.workers, o.showVersion)
	}
}

func TestFlags(t *testing.T) {
	o, err := parse([]string{
		"--dojo-image=dojo:9", "--database-deadline=20s", "--postgres-image=pg", "--progress-deadline=10s", "--concurrency=1", "--leader-elect=false", "--leader-election-namespace=here",
		"--lease-duration=3s", "--lease-renew-deadline=2s", "--lease-retry-period=500ms", "--metrics-bind-address=:1", "--metrics-secure=false",
		"--metrics-cert-dir=/certs", "--health-probe-bind-address=:2", "--pprof-bind-address=:3", "--shutdown-timeout=1s", "--version", "--zap-devel",
		"--watch-namespaces=team-b, team-a,team-b",
	}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(dojo.Config{Image: "dojo:9", ProgressDeadline: 10 * time.Second, DatabaseDeadline: 20 * time.Second, PostgresImage: "pg",
		Namespaces: []string{"team-a", "team-b"}}, o.dojo); diff != "" {
		t.Error(diff)
	}
	m := o.managerOptions(runtime.NewScheme())
	got := map[string]any{
		"workers": o.workers, "version": o.showVersion, "development": o.log.Development,
		"election": m.LeaderElection, "namespace": m.LeaderElectionNamespace,
		"lease": *m.LeaseDuration, "renew": *m.RenewDeadline, "retry": *m.RetryPeriod,
		"metrics": m.Metrics.BindAddress, "secure": m.Metrics.SecureServing, "open": m.Metrics.FilterProvider == nil, "certs": m.Metrics.CertDir,
		"probes": m.HealthProbeBindAddress, "profiles": m.PprofBindAddress, "shutdown": *m.GracefulShutdownTimeout,
	}
	want := map[string]any{
		"workers": 1, "version": true, "development": true,
		"election": false, "namespace": "here",
		"lease": 3 * time.Second, "renew": 2 * time.Second, "retry": 500 * time.Millisecond,
		"metrics": ":1", "secure": false, "open": true, "certs": "/certs",
		"probes": ":2", "profiles": ":3", "shutdown": time.Second,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWrongFlags(t *testing.T) {
	cases := map[string]struct {
		args []string
		want string // "" where it is right
	}{
		"no image":                         {[]string{"--dojo-image="}, "--dojo-image must not be empty"},
		"deadline of less than a second":   {[]string{"--progress-deadline=999ms"}, "--progress-deadline is 999ms, it must be at least 1s"},
		"deadline of more than a day":      {[]string{"--progress-deadline=25h"}, "--progress-deadline is 25h0m0s, it must be at least 1s and at most 24h"},
		"longest deadline":                 {[]string{"--progress-deadline=24h"}, ""},
		"shortest deadline":                {[]string{"--progress-deadline=1s"}, ""},
		"no worker":                        {[]string{"--concurrency=0"}, "--concurrency is 0, it must be at least 1"},
		"lease no longer than its renewal": {[]string{"--lease-duration=10s"}, "--lease-duration (10s) must be longer than --lease-renew-deadline (10s)"},
		"lease just longer":                {[]string{"--lease-duration=10001ms"}, ""},
		"renewal of two tries":             {[]string{"--lease-retry-period=5s"}, "--lease-renew-deadline (10s) must be longer than twice --lease-retry-period (5s)"},
		"renewal of just more":             {[]string{"--lease-retry-period=4999ms"}, ""},
		"no pause between tries":           {[]string{"--lease-retry-period=0s"}, "must be longer than twice --lease-retry-period"},
		"deadline without a unit":          {[]string{"--progress-deadline=90"}, `invalid value "90" for flag -progress-deadline`},
		"unknown flag":                     {[]string{"--replicas=3"}, "flag provided but not defined: -replicas; see --help"},
		"no namespace":                     {[]string{"--watch-namespaces="}, `"" is not the name of a namespace`},
		"a comma too many":                 {[]string{"--watch-namespaces=a,"}, `"" is not the name of a namespace`},
		"a pattern of namespaces":          {[]string{"--watch-namespaces=team-*"}, `"team-*" is not the name of a namespace`},
		"a word too many":                  {[]string{"--leader-elect", "false"}, `unexpected argument "false"; see --help`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			_, err := parse(c.args, &out)
			if out.Len() > 0 {
				t.Errorf("main tells the error; this is told besides: %s", &out)
			}
			if c.want == "" && err != nil {
				t.Errorf("got %v", err)
			}
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	var out bytes.Buffer
	if _, err := parse([]string{"--help"}, &out); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("got %v", err)
	}
	for _, want := range []string{
		"dojo-operator dev turns Dojo objects into running applications.", "Usage: dojo-operator [flags]",
		"-progress-deadline duration", "(default 2m0s)", "-dojo-image image", "-kubeconfig string", "-zap-log-level",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("--help does not say %q", want)
		}
	}
}
