// Package manager makes the controller-runtime manager of an operator of this project: one command line for the process, one kind of leader election,
// guarded metrics, and probes that mean something.
package manager

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	clientconfig "sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// Options are what an operator says of itself.
type Options struct {
	// Name is the operator's name: "dojo-operator".
	Name string
	// Version is what runs. The metric <name>_build_info has it as a label, and the user agent of all requests but those for the Lease,
	// whose user agent controller-runtime makes itself, ends with it.
	Version string
	// Lease is the name of the Lease that the leader holds.
	Lease string
	// Kinds register what the operator reads and writes.
	Kinds []func(*runtime.Scheme) error
	// Cache says what the cache holds.
	Cache cache.Options
	// Client says how the manager's client reads.
	Client client.Options
	// Watched are the kinds that the cache has to show before the process is ready.
	Watched []client.Object
}

// New sets up logging and returns the manager of the cluster that the command line or the environment names. An error says what is missing.
func New(f *Flags, o Options) (ctrl.Manager, error) {
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&f.log)))
	klog.SetLogger(ctrl.Log) // client-go's leader election logs through klog
	kubeconfig, err := clientconfig.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("find the cluster (set KUBECONFIG, --kubeconfig, or run in a pod): %w", err)
	}
	kubeconfig.UserAgent = o.Name + "/" + o.Version
	kubeconfig.Wrap(finishLeaseWrites)
	scheme := runtime.NewScheme()
	for _, add := range o.Kinds {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register kinds: %w", err)
		}
	}
	settings := f.managerOptions(o.Lease)
	settings.Scheme, settings.Cache, settings.Client = scheme, o.Cache, o.Client
	mgr, err := ctrl.NewManager(kubeconfig, settings)
	if err != nil {
		return nil, fmt.Errorf("set up the manager: %w", err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, fmt.Errorf("add the health check: %w", err)
	}
	if err := mgr.AddReadyzCheck("cache", synced(mgr.GetCache(), o.Watched)); err != nil {
		return nil, fmt.Errorf("add the readiness check: %w", err)
	}
	if err := metrics.Registry.Register(buildInfo(o.Name, o.Version)); err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	ctrl.Log.Info("starting", "version", o.Version, "leaderElection", f.leaderElect)
	return mgr, nil
}

// managerOptions is what the flags say, for leaders of a lease.
func (f *Flags) managerOptions(lease string) ctrl.Options {
	warm := true
	m := metricsserver.Options{BindAddress: f.metricsAddress, CertDir: f.metricsCertDir}
	if f.metricsSecure {
		m.SecureServing = true
		m.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	return ctrl.Options{
		Metrics:                 m,
		HealthProbeBindAddress:  f.probeAddress,
		PprofBindAddress:        f.pprofAddress,
		GracefulShutdownTimeout: &f.shutdownTimeout,

		LeaderElection:                f.leaderElect,
		LeaderElectionID:              lease,
		LeaderElectionNamespace:       f.leaseNamespace,
		LeaderElectionReleaseOnCancel: true, // the process ends right after the manager has stopped, so nothing works on without the lease
		LeaseDuration:                 &f.leaseDuration,
		RenewDeadline:                 &f.renewDeadline,
		RetryPeriod:                   &f.retryPeriod,

		// A standby fills its cache beforehand, so that it takes over at once.
		Controller: config.Controller{EnableWarmup: &warm},
	}
}

// synced is ready when the cache shows the cluster; on a standby as well, which must be able to take over.
func synced(c cache.Cache, kinds []client.Object) healthz.Checker {
	return func(req *http.Request) error {
		for _, kind := range kinds {
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

// buildInfo tells which version runs, so that an upgrade shows beside what it causes.
func buildInfo(name, version string) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: strings.ReplaceAll(name, "-", "_") + "_build_info", Help: "Always 1; the label has the version that runs.",
		ConstLabels: prometheus.Labels{"version": version},
	}, func() float64 { return 1 })
}
