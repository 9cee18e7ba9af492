// Command discord-operator makes DiscordServer, DiscordGroup and DiscordChannel objects come true on Discord and keeps them so.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/export"
)

// version is stamped by the build with -ldflags "-X main.version=...".
var version = "dev"

// What the process needs wherever it runs and whichever namespaces it watches. Leader election needs the Lease and tells of it in an
// event; the metrics endpoint asks the API server who may read it. What it needs in each namespace that it watches is said where it is
// used, in internal/.
//
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=discord-system,resources=leases,verbs=create
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=discord-system,resources=leases,resourceNames=discord-operator.discord.jutsu.com,verbs=get;update
// +kubebuilder:rbac:groups="",namespace=discord-system,resources=events,verbs=create
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

func main() {
	if err := run(ctrl.SetupSignalHandler(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "discord-operator:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == "export" {
		return export.Run(ctx, args[1:], os.Stdout, os.Stderr)
	}
	o, err := parse(args, os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	if o.showVersion {
		fmt.Println("discord-operator", version)
		return nil
	}
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&o.log)))
	klog.SetLogger(ctrl.Log) // client-go's leader election logs through klog

	kubeconfig, err := config.GetConfig()
	if err != nil {
		return fmt.Errorf("find the cluster (set KUBECONFIG, --kubeconfig, or run in a pod): %w", err)
	}
	mgr, err := newManager(kubeconfig, o)
	if err != nil {
		return err
	}
	if err := addControllers(ctx, mgr, o); err != nil {
		return err
	}
	ctrl.Log.Info("starting", "version", version, "discord", o.apiURL, "leaderElection", o.leaderElect)
	return mgr.Start(ctx)
}

// newManager builds the manager: cache, leader election, metrics and probes.
func newManager(kubeconfig *rest.Config, o *options) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register kinds: %w", err)
		}
	}
	kubeconfig = rest.CopyConfig(kubeconfig)
	kubeconfig.UserAgent = "discord-operator/" + version
	mgr, err := ctrl.NewManager(kubeconfig, o.managerOptions(scheme))
	if err != nil {
		return nil, fmt.Errorf("set up the manager: %w", err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, fmt.Errorf("add the health check: %w", err)
	}
	if err := mgr.AddReadyzCheck("cache", cacheSynced(mgr.GetCache())); err != nil {
		return nil, fmt.Errorf("add the readiness check: %w", err)
	}
	return mgr, nil
}
