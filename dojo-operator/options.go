package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"jutsu.com/operators/dojo-operator/internal/dojo"
)

// leaseName is the Lease that the leader holds.
const leaseName = "dojo-operator.core.jutsu.com"

// options is what the command line says.
type options struct {
	dojo    dojo.Config
	workers int

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

	log         zap.Options
	showVersion bool
}

// parse reads the command line; --help is told on out.
func parse(args []string, out io.Writer) (*options, error) {
	o := &options{}
	flags := flag.NewFlagSet("dojo-operator", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	usage := func() {
		flags.SetOutput(out)
		_, _ = fmt.Fprintf(out, "dojo-operator %s turns Dojo objects into running applications.\n\nUsage: dojo-operator [flags]\n\n", version)
		flags.PrintDefaults()
	}
	flags.StringVar(&o.dojo.Image, "dojo-image", "danijelradakovic/dojo:0.1.0-alpine", "`image` of the Dojo application")
	flags.DurationVar(&o.dojo.ProgressDeadline, "progress-deadline", 2*time.Minute,
		"how long a Dojo may wait for its credentials or for its pods before it counts as Degraded; 1s to 24h")
	flags.DurationVar(&o.dojo.DatabaseDeadline, "database-deadline", 15*time.Minute,
		"how long CloudNativePG may take for a step towards a Dojo's database before the Dojo counts as Degraded; 1s to 24h")
	flags.StringVar(&o.dojo.PostgresImage, "postgres-image", "ghcr.io/cloudnative-pg/postgresql",
		"`image` of Postgres, without a tag, for Dojos that ask for a version; the tag is the major version")
	flags.IntVar(&o.workers, "concurrency", 4, "how many Dojos are reconciled at once; at least 1")
	flags.Func("watch-namespaces", "comma-separated `namespaces` that are watched; by default all", func(list string) (err error) {
		o.dojo.Namespaces, err = namespaces(list)
		return err
	})

	flags.BoolVar(&o.leaderElect, "leader-elect", true, "let only one of several replicas work at a time")
	flags.StringVar(&o.leaseNamespace, "leader-election-namespace", "", "`namespace` of the Lease; by default the pod's own")
	flags.DurationVar(&o.leaseDuration, "lease-duration", 15*time.Second, "how long others wait after a leader that vanished without a word")
	flags.DurationVar(&o.renewDeadline, "lease-renew-deadline", 10*time.Second,
		"how long the leader tries to renew before it gives up; shorter than --lease-duration")
	flags.DurationVar(&o.retryPeriod, "lease-retry-period", 500*time.Millisecond, "pause between tries to get or renew the Lease")

	flags.StringVar(&o.metricsAddress, "metrics-bind-address", ":8443", "`address` of the metrics; 0 turns them off")
	flags.BoolVar(&o.metricsSecure, "metrics-secure", true,
		"serve the metrics over HTTPS to those only whom the API server authenticates and allows to get /metrics")
	flags.StringVar(&o.metricsCertDir, "metrics-cert-dir", "", "`folder` with tls.crt and tls.key for the metrics; by default a self-signed certificate is made")
	flags.StringVar(&o.probeAddress, "health-probe-bind-address", ":8081", "`address` of /healthz and /readyz; 0 turns them off")
	flags.StringVar(&o.pprofAddress, "pprof-bind-address", "0", "`address` of Go's profiles under /debug/pprof, such as 127.0.0.1:6060; 0 turns them off. "+
		"Everybody who reaches it is served, so let it be on the loopback interface")
	flags.DurationVar(&o.shutdownTimeout, "shutdown-timeout", 10*time.Second, "how long running work may take to end on SIGTERM")
	flags.BoolVar(&o.showVersion, "version", false, "print the version and leave")
	o.log.BindFlags(flags)
	config.RegisterFlags(flags)

	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		usage()
		return nil, err
	} else if err != nil {
		return nil, fmt.Errorf("%w; see --help", err)
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q; see --help", flags.Arg(0))
	}
	if err := o.validate(); err != nil {
		return nil, err
	}
	return o, nil
}

// namespaces reads the value of --watch-namespaces. An empty one is a mistake: it would mean all of them.
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

func (o *options) validate() error {
	switch {
	case o.dojo.Image == "":
		return errors.New("--dojo-image must not be empty")
	case o.dojo.ProgressDeadline < time.Second, o.dojo.ProgressDeadline > 24*time.Hour:
		return fmt.Errorf("--progress-deadline is %s, it must be at least 1s and at most 24h", o.dojo.ProgressDeadline)
	case o.dojo.DatabaseDeadline < time.Second, o.dojo.DatabaseDeadline > 24*time.Hour:
		return fmt.Errorf("--database-deadline is %s, it must be at least 1s and at most 24h", o.dojo.DatabaseDeadline)
	case o.dojo.PostgresImage == "":
		return errors.New("--postgres-image must not be empty")
	case o.log.Level != nil && o.log.Level.Enabled(-8):
		return errors.New("--zap-log-level must be at most 7: from 8 on client-go logs the bodies of requests, Secrets among them")
	case o.workers < 1:
		return fmt.Errorf("--concurrency is %d, it must be at least 1", o.workers)
	case o.leaseDuration <= o.renewDeadline:
		return fmt.Errorf("--lease-duration (%s) must be longer than --lease-renew-deadline (%s)", o.leaseDuration, o.renewDeadline)
	case o.retryPeriod <= 0 || o.renewDeadline <= 2*o.retryPeriod:
		return fmt.Errorf("--lease-renew-deadline (%s) must be longer than twice --lease-retry-period (%s)", o.renewDeadline, o.retryPeriod)
	}
	return nil
}

func (o *options) managerOptions(scheme *runtime.Scheme) ctrl.Options {
	warm := true
	m := metricsserver.Options{BindAddress: o.metricsAddress, CertDir: o.metricsCertDir}
	if o.metricsSecure {
		m.SecureServing = true
		m.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	return ctrl.Options{
		Scheme:                  scheme,
		Cache:                   dojo.CacheOptions(o.dojo.Namespaces),
		Client:                  client.Options{Cache: &client.CacheOptions{Unstructured: true}}, // optional kinds are read from the cache too
		Metrics:                 m,
		HealthProbeBindAddress:  o.probeAddress,
		PprofBindAddress:        o.pprofAddress,
		GracefulShutdownTimeout: &o.shutdownTimeout,

		LeaderElection:                o.leaderElect,
		LeaderElectionID:              leaseName,
		LeaderElectionNamespace:       o.leaseNamespace,
		LeaderElectionReleaseOnCancel: true, // run returns right after the manager has stopped, so nothing works on without the lease
		LeaseDuration:                 &o.leaseDuration,
		RenewDeadline:                 &o.renewDeadline,
		RetryPeriod:                   &o.retryPeriod,

		// A standby fills its cache beforehand, so that it takes over at once.
		Controller: ctrlconfig.Controller{EnableWarmup: &warm},
	}
}

// cacheSynced is ready when the cache shows the cluster; on a standby as well, which must be able to take over.
func cacheSynced(c cache.Cache) healthz.Checker {
	return func(req *http.Request) error {
		for _, kind := range dojo.Watched() {
			informer, err := c.GetInformer(req.Context(), kind, cache.BlockUntilSynced(false))
			if err != nil {
				return err
			}
			if !informer.HasSynced() {
				return fmt.Errorf("the cache of %T is not filled yet", kind)
			}
		}
		return nil
	}
}
