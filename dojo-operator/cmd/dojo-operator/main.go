// SPDX-License-Identifier: Apache-2.0

// Command dojo-operator runs Dojo objects as monitored applications.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	corev1api "jutsu.com/operators/apis/core/v1"
	discordv1alpha1 "jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/dojo-operator/internal/dojo"
	dojometrics "jutsu.com/operators/dojo-operator/internal/metrics"
	"jutsu.com/operators/dojo-operator/internal/mounted"
	"jutsu.com/operators/dojo-operator/internal/options"
	"jutsu.com/operators/dojo-operator/internal/postgres/sizes"
	"jutsu.com/operators/libs/manager"
	"jutsu.com/operators/libs/manager/buildversion"
)

// The build sets version with -ldflags "-X main.version=...".
var version string

// garbagePercent applies if GOGC is not set. It is half of Go's default, because most of the heap
// is cache, not garbage.
const garbagePercent = 50

// The operator always needs these permissions. Package dojo lists the permissions that it needs in
// each watched namespace.
//
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=dojo-system,resources=leases,verbs=create
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=dojo-system,resources=leases,resourceNames=dojo-operator.core.jutsu.com,verbs=get;update
// +kubebuilder:rbac:groups="",namespace=dojo-system,resources=events,verbs=create
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=list;watch

func main() { manager.Main("dojo-operator", buildversion.Of(version), parse, run) }

func parse(args []string, out io.Writer) (*options.Options, error) {
	return options.Parse(buildversion.Of(version), args, out)
}

func run(ctx context.Context, o *options.Options) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbagePercent)
	}
	mgr, err := manager.New(&o.Manager, manager.Options{
		Name: "dojo-operator", Version: buildversion.Of(version), Lease: "dojo-operator.core.jutsu.com",
		Kinds: []func(*runtime.Scheme) error{
			corev1api.AddToScheme, corev1.AddToScheme, appsv1.AddToScheme, policyv1.AddToScheme, autoscalingv2.AddToScheme,
			networkingv1.AddToScheme, batchv1.AddToScheme, cnpgv1.AddToScheme, discordv1alpha1.AddToScheme,
		},
		Cache: dojo.CacheOptions(o.Manager.Namespaces),
		// Without Unstructured, the client would read unstructured objects from the API server.
		Client:  client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		Watched: dojo.Watched(),
	})
	if err != nil {
		return err
	}
	if err := addDojos(ctx, mgr, o); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

func addDojos(ctx context.Context, mgr ctrl.Manager, o *options.Options) error {
	counts, err := dojometrics.New(metrics.Registry, mgr.GetCache(), mgr.Elected())
	if err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	presets, err := mounted.Read(o.PostgresSizes, sizes.Parse)
	if err != nil {
		return fmt.Errorf("--postgres-sizes: %w", err)
	}
	catalog, err := mounted.Read(o.PostgresCatalog, o.Catalog)
	if err != nil {
		return fmt.Errorf("--postgres-catalog: %w", err)
	}
	if err := errors.Join(mgr.Add(presets), mgr.Add(catalog)); err != nil {
		return err
	}
	reconciler := &dojo.Reconciler{
		Client:  mgr.GetClient(),
		Live:    mgr.GetAPIReader(),
		Events:  mgr.GetEventRecorder("dojo-operator"),
		Metrics: counts,
		Clock:   clock.RealClock{},
		Config:  o.Config(),
		Sizes:   presets,
		Catalog: catalog,
	}
	if err := reconciler.SetupWithManager(ctx, mgr, o.Workers); err != nil {
		return fmt.Errorf("set up the Dojo controller: %w", err)
	}
	return nil
}
