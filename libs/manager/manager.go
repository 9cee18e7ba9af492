// SPDX-License-Identifier: Apache-2.0

// Package manager creates the controller-runtime manager of both operators, with flags, metrics,
// probes and leader election. When a leader exits, a warm standby takes over within two retry
// periods. After a crash, or SIGTERM while acquiring the Lease, the Lease must expire first.
package manager

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	clientconfig "sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/leaderelection"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"jutsu.com/operators/libs/manager/fence"
)

// reconcileTimeout is the time after which the context of a reconcile is cancelled, so that a call
// without an answer does not occupy a worker for good. The error in the log then names the object.
// Most reconciles take milliseconds.
const reconcileTimeout = 5 * time.Minute

// Options are the settings of one operator.
type Options struct {
	Name string
	// Version is in the metric <name>_build_info, and in the user agent of all requests except
	// Lease requests.
	Version string
	Lease   string
	Kinds   []func(*runtime.Scheme) error
	Cache   cache.Options
	Client  client.Options
	// Watched are the kinds with caches that must sync before /readyz succeeds, on a standby too.
	Watched []client.Object
}

// Manager is a manager with clients that write only while the process leads.
type Manager struct {
	ctrl.Manager
	// Fence is for writes that do not use the manager's clients. It is nil without leader election.
	Fence *fence.Fence
}

// New sets up logging and returns a manager for the cluster that the flags or the environment name.
func New(f *Flags, o Options) (*Manager, error) {
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&f.log)))
	klog.SetLogger(ctrl.Log) // client-go's leader election logs through klog
	kubeconfig, err := clientconfig.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("find the cluster (set KUBECONFIG, --kubeconfig, or run in a pod): %w", err)
	}
	kubeconfig.UserAgent = o.Name + "/" + o.Version
	// An API server compresses each watch event separately, which costs more than it saves.
	kubeconfig.DisableCompression = true
	refused := newForbidden()
	kubeconfig.Wrap(refused.wrap)
	scheme, kinds := runtime.NewScheme(), runtime.SchemeBuilder(o.Kinds)
	if err := kinds.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("register kinds: %w", err)
	}
	settings := f.managerOptions(o.Lease)
	settings.Scheme, settings.Cache, settings.Client = scheme, o.Cache, o.Client
	mgr, err := f.fenced(kubeconfig, settings)
	if err != nil {
		return nil, fmt.Errorf("set up the manager: %w", err)
	}
	err = errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping),
		mgr.AddReadyzCheck("cache", synced(mgr.GetCache(), o.Watched)),
		metrics.Registry.Register(buildInfo(o.Name, o.Version)), metrics.Registry.Register(refused))
	if err != nil {
		return nil, fmt.Errorf("add the checks and metrics: %w", err)
	}
	ctrl.Log.Info("starting", "version", o.Version, "leaderElection", f.leaderElect)
	return mgr, nil
}

func (f *Flags) fenced(kubeconfig *rest.Config, settings ctrl.Options) (*Manager, error) {
	if !f.leaderElect {
		mgr, err := ctrl.NewManager(kubeconfig, settings)
		return &Manager{Manager: mgr}, err
	}
	m := &Manager{Fence: fence.New(f.leaseDuration, f.renewDeadline)}
	lock := m.Fence.Lock()
	kubeconfig.Wrap(m.Fence.Transport)
	settings.LeaderElectionResourceLockInterface = lock
	var err error
	if m.Manager, err = ctrl.NewManager(kubeconfig, settings); err != nil {
		return nil, err
	}
	// The Lease's lock needs the manager, to record events.
	lock.Interface, err = leaderelection.NewResourceLock(kubeconfig, m, leaderelection.Options{
		LeaderElection: true, LeaderElectionID: settings.LeaderElectionID,
		LeaderElectionNamespace: f.leaseNamespace, RenewDeadline: f.renewDeadline,
	})
	return m, err
}

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
		LeaderElectionReleaseOnCancel: true, // nothing writes after the release: the fence is closed
		LeaseDuration:                 &f.leaseDuration,
		RenewDeadline:                 &f.renewDeadline,
		RetryPeriod:                   &f.retryPeriod,

		// A standby fills its cache before its election, so it takes over immediately.
		Controller: config.Controller{EnableWarmup: &warm, ReconciliationTimeout: reconcileTimeout},
	}
}

// synced returns a check that the caches of kinds have synced. It ignores leadership, because a
// standby must be ready too.
func synced(c cache.Cache, kinds []client.Object) healthz.Checker {
	return func(req *http.Request) error {
		for _, kind := range kinds {
			informer, err := c.GetInformer(req.Context(), kind, cache.BlockUntilSynced(false))
			if err != nil {
				return err
			}
			if !informer.HasSynced() {
				return fmt.Errorf("the cache of %T is not synced", kind)
			}
		}
		return nil
	}
}

func buildInfo(name, version string) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        strings.ReplaceAll(name, "-", "_") + "_build_info",
		Help:        "Always 1; the label has the version of the operator.",
		ConstLabels: prometheus.Labels{"version": version},
	}, func() float64 { return 1 })
}
