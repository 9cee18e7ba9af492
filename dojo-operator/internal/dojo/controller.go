// SPDX-License-Identifier: Apache-2.0

package dojo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/credentials"
	"jutsu.com/operators/dojo-operator/internal/exposure"
	"jutsu.com/operators/dojo-operator/internal/metrics"
	"jutsu.com/operators/dojo-operator/internal/monitoring"
	"jutsu.com/operators/dojo-operator/internal/mounted"
	"jutsu.com/operators/dojo-operator/internal/optionalkinds"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/pods"
	"jutsu.com/operators/dojo-operator/internal/postgres"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/dojo-operator/internal/postgres/images"
	"jutsu.com/operators/dojo-operator/internal/postgres/sizes"
	"jutsu.com/operators/dojo-operator/internal/release"
	"jutsu.com/operators/dojo-operator/internal/workload"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/apply/expectations"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/manager/fairqueue"
	"jutsu.com/operators/libs/manager/fence"
)

const firstBackoff, lastBackoff = 50 * time.Millisecond, time.Minute

// Reconciler reconciles Dojos. Client reads from the cache, and Live reads from the API server.
type Reconciler struct {
	Client  client.Client
	Live    client.Reader
	Events  events.EventRecorder
	Metrics *metrics.Metrics
	Kinds   Kinds
	Clock   clock.PassiveClock
	Config  Config
	// If Sizes or Catalog is nil, the Reconciler uses the built-in sizes or images.
	Sizes   *mounted.Folder[sizes.Presets]
	Catalog *mounted.Folder[images.Catalog]

	applier *apply.Applier
}

// Kinds reports which optional kinds are in the cache.
type Kinds = postgres.Kinds

// To retain a password, the operator removes the owner reference of a Secret. The admission plugin
// OwnerReferencesPermissionEnforcement demands the right to delete Secrets for this: see
// deploy/dojo-operator/components/owner-references-permission-enforcement.
//
// +kubebuilder:rbac:groups=core.jutsu.com,resources=dojos,verbs=list;watch;patch
// +kubebuilder:rbac:groups=core.jutsu.com,resources=dojos/status,verbs=patch
// +kubebuilder:rbac:groups=core.jutsu.com,resources=dojos/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups="",resources=services,verbs=list;watch;create;patch
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=list;watch;create;delete
// +kubebuilder:rbac:groups=networking.k8s.io,resources=ingresses,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=httproutes,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups=postgresql.cnpg.io,resources=clusters;databases;databaseroles;scheduledbackups;poolers,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups=postgresql.cnpg.io,resources=backups,verbs=list;watch;create
// +kubebuilder:rbac:groups=monitoring.coreos.com,resources=servicemonitors;prometheusrules;alertmanagerconfigs,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups=discord.jutsu.com,resources=discordchannels,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups=autoscaling,resources=horizontalpodautoscalers,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Prepare prepares a Reconciler without a manager. It needs only the fields Client and Clock.
func (r *Reconciler) Prepare(ctx context.Context, indexer client.FieldIndexer) error {
	r.applier = apply.New(r.Client, ownership.FieldOwner, apply.Reasons{
		Refused: corev1api.ReasonChildRefused, NamespaceTerminating: corev1api.ReasonNamespaceTerminating,
		NameConflict: corev1api.ReasonNameConflict,
	}, r.Clock)
	if err := addIndexes(ctx, indexer); err != nil {
		return fmt.Errorf("index: %w", err)
	}
	return nil
}

// SetupWithManager registers the controller. workers limits how many Dojos are reconciled at once.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, workers int) error {
	if err := r.Prepare(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	all := slices.Concat(cnpg.Kinds(), exposure.Kinds(), monitoring.Kinds())
	kinds := optionalkinds.New(mgr, r.Clock, r.Config.Credentials.Namespaces, all...)
	r.Kinds = kinds
	objects := handler.EnqueueRequestsFromMapFunc(r.dojosOf)
	children := ownCreates{objects}
	relevant := predicate.Or(
		predicate.GenerationChangedPredicate{}, requestChanged, r.applier.Expectations.ByOthers("Dojo"))
	dojos, err := builder.ControllerManagedBy(mgr).
		Named("dojo").
		For(&corev1api.Dojo{}, builder.WithPredicates(relevant)).
		Watches(&appsv1.Deployment{}, finishedFirst{children}).
		Watches(&corev1.Service{}, children).
		Watches(&policyv1.PodDisruptionBudget{}, objects).
		Watches(&networkingv1.Ingress{}, objects).
		Watches(&batchv1.Job{}, objects).
		WatchesMetadata(&corev1.ConfigMap{}, objects).
		WatchesMetadata(&corev1.Secret{}, children).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(dojoOfPod), builder.WithPredicates(pods.Changed)).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(r.waitingDojoOfPod), builder.WithPredicates(podEnds)).
		Watches(&corev1api.Dojo{}, handler.EnqueueRequestsFromMapFunc(r.ownerOfClusterOf),
			builder.WithPredicates(mayLeaveCluster)).
		Watches(&autoscalingv2.HorizontalPodAutoscaler{}, handler.EnqueueRequestsFromMapFunc(dojoOfAutoscaler),
			builder.WithPredicates(targetChanged)).
		Watches(&autoscalingv2.HorizontalPodAutoscaler{}, objects, builder.WithPredicates(scalerChanged)).
		WatchesRawSource(whenChanged(r, r.Sizes, hasSize)).
		WatchesRawSource(whenChanged(r, r.Catalog, hasVersion)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			NewQueue:                fairqueue.New, // serves the namespaces in turn, so that none blocks the others
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](
				firstBackoff, lastBackoff),
		}).
		Build(fence.Quiet(reconcile.AsReconciler(r.Client, r)))
	if err != nil {
		return err
	}
	return kinds.SetupWithManager(ctx, mgr, dojos, objects, handler.TypedEnqueueRequestsFromMapFunc(r.dojosWithKind))
}

// Reconcile reads the current state, plans the writes, applies them, and updates the status.
func (r *Reconciler) Reconcile(ctx context.Context, dojo *corev1api.Dojo) (reconcile.Result, error) {
	if !dojo.DeletionTimestamp.IsZero() && !hasFinalizer(dojo) {
		return r.applySafeguards(ctx, dojo) // the garbage collector deletes the children
	}
	dojo, unsized := sizes.Resolve(dojo, current(r.Sizes, sizes.BuiltIn))
	state, err := r.observe(ctx, dojo, unsized)
	if err != nil {
		// Alertmanager must not post to an unchecked URL, even if other objects cannot be read.
		r.reportWrites(dojo, r.applier.Run(ctx, dojo, monitoring.Safeguards(dojo, state.Monitoring, r.Config.Monitoring)))
	}
	if errors.Is(err, apply.ErrStale) {
		return reconcile.Result{RequeueAfter: apply.StaleRetry}, nil
	}
	if err != nil {
		issues := conditions.Of(err)
		return r.updateStatus(ctx, dojo, lastKnownStatus(dojo, issues), issues)
	}
	plan := Plan(dojo, state, r.Config)
	if paused(dojo) {
		plan = pause(dojo, plan, monitoring.Safeguards(dojo, state.Monitoring, r.Config.Monitoring))
	}
	results := r.applier.Run(ctx, dojo, plan)
	r.reportWrites(dojo, results)
	if slices.ContainsFunc(results.Issues, notLeading) {
		return reconcile.Result{}, fence.ErrNotLeading
	}
	if results.Stale {
		return reconcile.Result{RequeueAfter: apply.StaleRetry}, nil
	}
	issues := slices.Concat(results.Issues, plan.Issues)
	next := status(dojo, state, results, issues)
	if wait := deferral(dojo.Status, next, state.Workload); wait > 0 {
		return conditions.Result(append(issues, conditions.Issue{RequeueAfter: wait}))
	}
	result, err := r.updateStatus(ctx, dojo, next, issues)
	for _, wait := range []time.Duration{
		workload.AwaitsMetrics(dojo, state.Workload), postgres.AwaitsWindow(dojo, state.Postgres),
	} {
		if err == nil && wait > 0 && (result.RequeueAfter == 0 || wait < result.RequeueAfter) {
			result.RequeueAfter = wait
		}
	}
	return result, err
}

func current[T any](folder *mounted.Folder[T], builtIn func() T) T {
	if folder == nil {
		return builtIn()
	}
	return folder.Current()
}

func (r *Reconciler) catalog() images.Catalog {
	return current(r.Catalog, func() images.Catalog { return images.BuiltIn("") })
}

// applySafeguards applies only [monitoring.Safeguards], while a finalizer of another client delays
// the deletion of the Dojo.
func (r *Reconciler) applySafeguards(ctx context.Context, dojo *corev1api.Dojo) (reconcile.Result, error) {
	observed, err := monitoring.Observe(ctx, r.reader(dojo), dojo, r.Kinds.Has, r.Clock.Now())
	if errors.Is(err, apply.ErrStale) {
		return reconcile.Result{RequeueAfter: apply.StaleRetry}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	results := r.applier.Run(ctx, dojo, monitoring.Safeguards(dojo, observed, r.Config.Monitoring))
	r.reportWrites(dojo, results)
	switch {
	case slices.ContainsFunc(results.Issues, notLeading):
		return reconcile.Result{}, fence.ErrNotLeading
	case results.Stale:
		return reconcile.Result{RequeueAfter: apply.StaleRetry}, nil
	}
	return conditions.Result(results.Issues)
}

func (r *Reconciler) reader(dojo *corev1api.Dojo) apply.Reader {
	return apply.Reader{
		Cache: r.Client, Live: r.Live, Expectations: r.applier.Expectations, Unchanged: r.applier.Unchanged(dojo.UID),
	}
}

func notLeading(i conditions.Issue) bool { return errors.Is(i.Err, fence.ErrNotLeading) }

func (r *Reconciler) observe(
	ctx context.Context, dojo *corev1api.Dojo, unsized *conditions.Issue,
) (s State, err error) {
	if !r.applier.Expectations.Satisfied(expectations.KeyOf("Dojo", dojo.Namespace, dojo.Name), dojo) {
		return s, apply.ErrStale
	}
	now := r.Clock.Now()
	reader := r.reader(dojo)
	if s.Workload, err = workload.Observe(ctx, reader, dojo, now); err != nil {
		return s, err
	}
	if s.Workload.BudgetTakenBy, err = r.budgetTakenBy(ctx, dojo); err != nil {
		return s, err
	}
	if s.Exposure, err = exposure.Observe(ctx, reader, dojo, r.Kinds.Has, now); err != nil {
		return s, err
	}
	observed, err := monitoring.Observe(ctx, reader, dojo, r.Kinds.Has, now)
	if err != nil {
		return s, err
	}
	// After an error of observe, Reconcile still applies the safeguards of s.Monitoring. They change
	// nothing while s.Monitoring is empty, so it is set only after it was read completely.
	s.Monitoring = observed
	generated, err := r.observePostgres(ctx, reader, dojo, unsized, &s, now)
	if err != nil {
		return s, err
	}
	s.Workload.HoldStart = postgres.Unreachable(dojo, s.Postgres)
	s.Workload.Stopped = postgres.RequiresStop(dojo, s.Postgres)
	s.Credentials, err = credentials.Observe(ctx, reader, dojo, generated, r.Config.Credentials, now)
	return s, err
}

func (r *Reconciler) observePostgres(
	ctx context.Context, reader apply.Reader, dojo *corev1api.Dojo, unsized *conditions.Issue, s *State, now time.Time,
) (_ *credentials.Generated, err error) {
	target := release.Target{Image: workload.Image(dojo, r.Config.Workload), SecretName: credentials.Name(dojo)}
	if dojo.Spec.Postgres == nil {
		s.Postgres = postgres.State{Now: now}
		s.Release, err = release.Observe(ctx, reader, dojo, target, now)
		return nil, err
	}
	own, err := credentials.ObserveOwn(ctx, reader, dojo)
	if err != nil {
		return nil, err
	}
	s.Postgres, err = postgres.Observe(ctx, reader, dojo, credentials.SourceOf(own), r.Kinds, r.catalog(), now)
	if s.Postgres.Unsized = unsized; err != nil {
		return nil, err
	}
	target.Database = postgres.DatabaseID(s.Postgres)
	s.Release, err = release.Observe(ctx, reader, dojo, target, now)
	s.Postgres.Application.Releasing = s.Release.MayRun()
	s.Postgres.Application.Pooled = credentials.PoolerOf(own) != ""
	if err == nil && postgres.WaitsForPods(dojo, s.Postgres) {
		s.Postgres.Application.Outdated, err = outdated(ctx, reader, dojo, own, s.Workload.Deployment, s.Release.Pods)
		if err == nil {
			s.Postgres.Login.Leaving, err = leaving(ctx, reader, dojo, s.Postgres)
		}
	}
	if err == nil && (dojo.Spec.Suspend || postgres.UpgradeStep(dojo, s.Postgres) != "") {
		s.Postgres.Application.Pods, err = workload.Running(ctx, reader, dojo)
		s.Postgres.Application.Pods = append(s.Postgres.Application.Pods, s.Release.Alive()...)
		s.Postgres.Application.Stopped = err == nil && len(s.Postgres.Application.Pods) == 0 && !s.Release.MayRun()
	}
	name, secret := postgres.Source(dojo, s.Postgres)
	source := client.ObjectKey{Namespace: dojo.Namespace, Name: name}
	hosts := credentials.Hosts{ReadOnly: postgres.ReadOnlyHost(dojo, s.Postgres), Pooler: postgres.Host(dojo, s.Postgres)}
	return &credentials.Generated{Name: source, Secret: secret, Hosts: hosts}, err
}

// budgetTakenBy returns the name of another Dojo with a Cluster, or "". CloudNativePG creates a
// PodDisruptionBudget for that Cluster, with the same name as the given Dojo's PodDisruptionBudget.
func (r *Reconciler) budgetTakenBy(ctx context.Context, dojo *corev1api.Dojo) (string, error) {
	for _, suffix := range cnpg.BudgetSuffixes() {
		name, found := strings.CutSuffix(dojo.Name, suffix)
		if !found {
			continue
		}
		var other corev1api.Dojo
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: dojo.Namespace, Name: name}, &other)
		if err == nil && other.Spec.Postgres != nil && other.Spec.Postgres.Cluster != nil {
			return name, nil
		}
		if client.IgnoreNotFound(err) != nil {
			return "", fmt.Errorf("read Dojo %s: %w", name, err)
		}
	}
	return "", nil
}

func (r *Reconciler) reportWrites(dojo *corev1api.Dojo, results apply.Results) {
	for _, result := range results.Objects {
		r.Metrics.Applied(result)
		switch o := result.Object; {
		case result.Outcome == apply.Failed:
		case o.Rotation:
			r.event(dojo, corev1.EventTypeNormal, "CredentialsRotated",
				"The database credentials have changed; the pods are replaced.")
		case result.Outcome == apply.Updated && o.Drift && dojo.Status.ObservedGeneration == dojo.Generation:
			r.event(dojo, corev1.EventTypeNormal, "DriftCorrected",
				fmt.Sprintf("The %s %s was changed by another client and has its desired state again.", o.Kind, o.Name))
		}
	}
}

func (r *Reconciler) event(dojo *corev1api.Dojo, kind, reason, message string) {
	const maxLength = 1024 // the API server's limit for the note of an event
	if len(message) > maxLength {
		message = strings.ToValidUTF8(message[:maxLength-3], "") + "..."
	}
	r.Events.Eventf(dojo, nil, kind, reason, "Reconcile", "%s", message)
}
