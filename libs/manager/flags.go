// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// Flags has the flags that all operators share.
type Flags struct {
	// Namespaces are the watched namespaces, sorted and unique; empty means all.
	Namespaces []string
	Version    bool

	log zap.Options

	leaderElect    bool
	leaseNamespace string
	leaseDuration  time.Duration
	renewDeadline  time.Duration
	retryPeriod    time.Duration

	metricsAddress  string
	metricsSecure   bool
	metricsCertDir  string
	probeAddress    string
	pprofAddress    string
	shutdownTimeout time.Duration
}

// Parse adds the shared flags to set, and parses the command line like the function [Parse].
func (f *Flags) Parse(set *flag.FlagSet, introduction string, args []string, out io.Writer) error {
	f.bind(set)
	if err := Parse(set, introduction, args, out); err != nil {
		return err
	}
	return f.validate()
}

// Parse parses flags and refuses all other arguments. For --help, it prints introduction and the
// flags, and returns flag.ErrHelp.
func Parse(set *flag.FlagSet, introduction string, args []string, out io.Writer) error {
	set.Usage = func() {}
	set.SetOutput(io.Discard) // the caller reports the error
	if err := set.Parse(args); errors.Is(err, flag.ErrHelp) {
		_, _ = io.WriteString(out, introduction)
		set.SetOutput(out)
		set.PrintDefaults()
		return err
	} else if err != nil {
		return fmt.Errorf("%w; see --help", err)
	}
	if set.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; see --help", set.Arg(0))
	}
	return nil
}

func (f *Flags) bind(set *flag.FlagSet) {
	set.Func("watch-namespaces", "comma-separated `namespaces` to watch; by default all", func(list string) (err error) {
		f.Namespaces, err = namespaces(list)
		return err
	})
	set.BoolVar(&f.leaderElect, "leader-elect", true, "elect a leader, so that only one of several replicas reconciles")
	set.StringVar(&f.leaseNamespace, "leader-election-namespace", "", "`namespace` of the Lease; by default the pod's own")
	set.DurationVar(&f.leaseDuration, "lease-duration", 15*time.Second,
		"how long candidates wait after the last renewal before they take over the Lease")
	set.DurationVar(&f.renewDeadline, "lease-renew-deadline", 10*time.Second,
		"how long the leader retries a renewal before it exits; shorter than --lease-duration")
	set.DurationVar(&f.retryPeriod, "lease-retry-period", 500*time.Millisecond,
		"pause between attempts to acquire or renew the Lease")

	set.StringVar(&f.metricsAddress, "metrics-bind-address", ":8443", "`address` of the metrics endpoint; 0 disables it")
	set.BoolVar(&f.metricsSecure, "metrics-secure", true,
		"serve the metrics over HTTPS, and only to clients that the API server authenticates and allows to get /metrics")
	set.StringVar(&f.metricsCertDir, "metrics-cert-dir", "",
		"`directory` with tls.crt and tls.key for the metrics; by default a self-signed certificate is generated")
	set.StringVar(&f.probeAddress, "health-probe-bind-address", ":8081", "`address` of the health probes; 0 disables them")
	set.StringVar(&f.pprofAddress, "pprof-bind-address", "0",
		"`address` of Go's profiles under /debug/pprof, such as 127.0.0.1:6060; 0 disables them. "+
			"Clients are not authenticated, so use the loopback interface")
	set.DurationVar(&f.shutdownTimeout, "shutdown-timeout", 10*time.Second,
		"time for running reconciles to end after SIGTERM")
	set.BoolVar(&f.Version, "version", false, "print the version and exit")
	f.log.BindFlags(set)
	config.RegisterFlags(set)
}

// namespaces rejects an empty list, because no names would mean all namespaces.
func namespaces(list string) ([]string, error) {
	var all []string
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
			return nil, fmt.Errorf("%q is not the name of a namespace", name)
		}
		all = append(all, name)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

func (f *Flags) validate() error {
	switch {
	case f.log.Level != nil && f.log.Level.Enabled(-8):
		return errors.New("--zap-log-level must be at most 7: " +
			"from 8 on, client-go logs the bodies of requests and responses, including Secrets")
	case f.leaseDuration <= f.renewDeadline:
		return fmt.Errorf("--lease-duration (%s) must be longer than --lease-renew-deadline (%s)",
			f.leaseDuration, f.renewDeadline)
	case f.retryPeriod <= 0:
		return fmt.Errorf("--lease-retry-period (%s) must be longer than 0", f.retryPeriod)
	case f.renewDeadline <= 2*f.retryPeriod:
		return fmt.Errorf("--lease-renew-deadline (%s) must be longer than twice --lease-retry-period (%s)",
			f.renewDeadline, f.retryPeriod)
	}
	return nil
}
