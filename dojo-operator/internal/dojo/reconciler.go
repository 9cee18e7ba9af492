package dojo

import (
	"context"
	"errors"
	"fmt"
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
	"jutsu.com/operators/dojo-operator/internal/optional"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/ownwrites"
)

const (
	// staleRetry is when a pass whose cache lagged is tried again.
	staleRetry = 50 * time.Millisecond
	// Errors that may pass are retried after these pauses, doubled each time.
	firstBackoff, lastBackoff = 50 * time.Millisecond, time.Minute
	// deletionRetry is when a Dojo that is being deleted with its data is looked at again: pods that end tell nobody.
	deletionRetry = time.Second
)

// Reconciler makes Dojos come true.
type Reconciler struct {
	// Client reads from the cache and writes as FieldOwner.
	Client client.Client
	// Live reads from the API server: the data of Secrets, and whether there is one where the cache shows none.
	Live client.Reader
	// Events tells people.
	Events events.EventRecorder
	// Metrics counts.
	Metrics *Metrics
	// Kinds tells which optional kinds the cluster has.
	Kinds Kinds
	// Clock tells the time.
	Clock clock.PassiveClock
	// Config is what the operator's flags say.
	Config Config

	written *ownwrites.Record
}

// Kinds tells which optional kinds the cache shows.
type Kinds interface {
	Has(kind optional.Kind) bool
}

// The operator writes nothing of a Dojo but its status and its finalizers. It deletes no Secret, but takes the owner off the database's password when
// the data is to be kept, and clusters with the admission plugin OwnerReferencesPermissionEnforcement ask for the permission to delete for that.
//
// +kubebuilder:rbac:groups=core.jutsu.com,resources=dojos,verbs=list;watch;patch
// +kubebuilder:rbac:groups=core.jutsu.com,resources=dojos/status,verbs=patch
// +kubebuilder:rbac:groups=core.jutsu.com,resources=dojos/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=services,verbs=list;watch;create;patch
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=list;watch
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups=networking.k8s.io,resources=ingresses,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups=postgresql.cnpg.io,resources=clusters;databases;databaseroles;scheduledbackups,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups=postgresql.cnpg.io,resources=backups,verbs=list;watch;create;patch
// +kubebuilder:rbac:groups=monitoring.coreos.com,resources=servicemonitors;prometheusrules;alertmanagerconfigs,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups=discord.jutsu.com,resources=discordchannels,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups=autoscaling,resources=horizontalpodautoscalers,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// SetupWithManager registers the controller, its watches and its indexes. At most workers Dojos are reconciled at once.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, workers int) error {
	r.written = ownwrites.NewRecord(r.Clock)
	if err := addIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return fmt.Errorf("index: %w", err)
	}
	kinds := optional.New(mgr, r.Clock, r.Config.Namespaces, OptionalKinds()...)
	r.Kinds = kinds
	children := handler.EnqueueRequestsFromMapFunc(r.dojoOfChild)
	dojos, err := builder.ControllerManagedBy(mgr).
		Named("dojo").
		For(&corev1api.Dojo{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, wished, r.written.ByOthers("Dojo")))).
		Watches(&appsv1.Deployment{}, ahead{children}).
		Watches(&corev1.Service{}, children).
		Watches(&policyv1.PodDisruptionBudget{}, children).
		Watches(&networkingv1.Ingress{}, children).
		Watches(&batchv1.Job{}, children).
		WatchesMetadata(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(r.dojosOfConfigMap)).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.dojosOfSecret)).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(dojoOfPod), builder.WithPredicates(troubleChanged)).
		Watches(&autoscalingv2.HorizontalPodAutoscaler{}, handler.EnqueueRequestsFromMapFunc(dojoOfAutoscaler), builder.WithPredicates(targetChanged)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstBackoff, lastBackoff),
		}).
		Build(reconcile.AsReconciler(r.Client, r))
	if err != nil {
		return err
	}
	return kinds.SetupWithManager(ctx, mgr, dojos, handler.EnqueueRequestsFromMapFunc(r.dojosOfCustom),
		handler.TypedEnqueueRequestsFromMapFunc(r.dojosWanting))
}

// Reconcile looks, decides, acts and tells, in that order, and nothing else.
func (r *Reconciler) Reconcile(ctx context.Context, d *corev1api.Dojo) (reconcile.Result, error) {
	if !d.DeletionTimestamp.IsZero() && !finalizes(d) {
		return reconcile.Result{}, nil // the garbage collector takes the children
	}
	seen, outcome := r.observe(ctx, d)
	var todo *steps
	if outcome == nil {
		todo = plan(d, seen, r.Config)
		outcome = r.act(ctx, d, todo)
	} else {
		seen = nil
	}
	// What was seen is no longer so, or not yet: nothing to tell of.
	if errors.Is(outcome, errStale) {
		return reconcile.Result{RequeueAfter: staleRetry}, nil
	}
	if conditions.LostRace(outcome) {
		return conditions.Result(outcome)
	}
	again, untold := r.report(ctx, d, seen, status(d, seen, todo, outcome))
	result, err := conditions.Result(outcome)
	if err := errors.Join(err, untold); err != nil {
		return reconcile.Result{}, err // the queue's backoff says when
	}
	if again > 0 && (result.RequeueAfter == 0 || again < result.RequeueAfter) {
		result.RequeueAfter = again
	}
	return result, nil
}
