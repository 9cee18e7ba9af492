// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// These tests are not parallel, because controller-runtime binds --kubeconfig to a global variable.

func parse(args []string, out io.Writer) (*Flags, error) {
	f := &Flags{}
	err := f.Parse(flag.NewFlagSet("operator", flag.ContinueOnError), "operator makes things.\n\n", args, out)
	return f, err
}

func settings(f *Flags) map[string]any {
	m := f.managerOptions("lease.example.com")
	return map[string]any{
		"election": m.LeaderElection, "lease": m.LeaderElectionID, "release": m.LeaderElectionReleaseOnCancel, "warm": *m.Controller.EnableWarmup,
		"namespace": m.LeaderElectionNamespace, "duration": *m.LeaseDuration, "renew": *m.RenewDeadline, "retry": *m.RetryPeriod,
		"metrics": m.Metrics.BindAddress, "https": m.Metrics.SecureServing, "guarded": m.Metrics.FilterProvider != nil, "certs": m.Metrics.CertDir,
		"probes": m.HealthProbeBindAddress, "profiles": m.PprofBindAddress, "shutdown": *m.GracefulShutdownTimeout,
		"namespaces": strings.Join(f.Namespaces, " "), "version": f.Version, "development": f.log.Development,
	}
}

func TestFlags(t *testing.T) {
	cases := map[string]struct {
		args []string
		want map[string]any
	}{
		"by default": {nil, map[string]any{
			"election": true, "lease": "lease.example.com", "release": true, "warm": true,
			"namespace": "", "duration": 15 * time.Second, "renew": 10 * time.Second, "retry": 500 * time.Millisecond,
			"metrics": ":8443", "https": true, "guarded": true, "certs": "",
			"probes": ":8081", "profiles": "0", "shutdown": 10 * time.Second,
			"namespaces": "", "version": false, "development": false,
		}},
		"all changed": {[]string{
			"--leader-elect=false", "--leader-election-namespace=here", "--lease-duration=3s", "--lease-renew-deadline=2s", "--lease-retry-period=300ms",
			"--metrics-bind-address=:1", "--metrics-secure=false", "--metrics-cert-dir=/certs", "--health-probe-bind-address=:2", "--pprof-bind-address=:3",
			"--shutdown-timeout=1s", "--version", "--zap-devel", "--watch-namespaces=team-b, team-a,team-b",
		}, map[string]any{
			"election": false, "lease": "lease.example.com", "release": true, "warm": true,
			"namespace": "here", "duration": 3 * time.Second, "renew": 2 * time.Second, "retry": 300 * time.Millisecond,
			"metrics": ":1", "https": false, "guarded": false, "certs": "/certs",
			"probes": ":2", "profiles": ":3", "shutdown": time.Second,
			"namespaces": "team-a team-b", "version": true, "development": true,
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f, err := parse(c.args, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, settings(f)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWrongFlags(t *testing.T) {
	cases := map[string]struct {
		args []string
		want string // empty: valid
	}{
		"a log level that logs Secrets":                      {[]string{"--zap-log-level=8"}, "--zap-log-level must be at most 7"},
		"the highest log level":                              {[]string{"--zap-log-level=7"}, ""},
		"lease duration equal to the renew deadline":         {[]string{"--lease-duration=10s"}, "--lease-duration (10s) must be longer than --lease-renew-deadline (10s)"},
		"lease duration just longer than the renew deadline": {[]string{"--lease-duration=10001ms"}, ""},
		"renew deadline of two retry periods":                {[]string{"--lease-retry-period=5s"}, "--lease-renew-deadline (10s) must be longer than twice --lease-retry-period (5s)"},
		"renew deadline just longer than two retry periods":  {[]string{"--lease-retry-period=4999ms"}, ""},
		"a retry period of zero":                             {[]string{"--lease-retry-period=0s"}, "--lease-retry-period (0s) must be longer than 0"},
		"a duration without a unit":                          {[]string{"--lease-duration=90"}, `invalid value "90" for flag -lease-duration`},
		"no namespace":                                       {[]string{"--watch-namespaces="}, `"" is not the name of a namespace`},
		"a comma too many":                                   {[]string{"--watch-namespaces=a,"}, `"" is not the name of a namespace`},
		"a pattern of namespaces":                            {[]string{"--watch-namespaces=team-*"}, `"team-*" is not the name of a namespace`},
		"an unknown flag":                                    {[]string{"--replicas=3"}, "flag provided but not defined: -replicas; see --help"},
		"an argument too many":                               {[]string{"--leader-elect", "false"}, `unexpected argument "false"; see --help`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			_, err := parse(c.args, &out)
			if out.Len() > 0 {
				t.Errorf("the caller reports the error, but this was printed: %s", &out)
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
	for _, want := range []string{"operator makes things.\n\n", "-lease-duration duration", "(default 15s)", "-kubeconfig string", "-zap-log-level"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("--help does not say %q", want)
		}
	}
}
