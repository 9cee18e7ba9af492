package server

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/bot"
	"jutsu.com/operators/discord-operator/internal/external"
	"jutsu.com/operators/discord-operator/internal/issues"
	"jutsu.com/operators/discord-operator/internal/metrics"
	"jutsu.com/operators/discord-operator/internal/status"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

// Kind is what is reconciled here.
const Kind = "DiscordServer"

// Errors that may pass are retried after these pauses, doubled each time.
const firstBackoff, lastBackoff = 200 * time.Millisecond, time.Minute

// Reconciler makes DiscordServers come true.
type Reconciler struct {
	// Client reads from the cache.
	Client client.Client
	// Bots are the connections to Discord.
	Bots *bot.Bots
	// Records remember what came of creates of guilds.
	Records *external.Records
	// Settle is how long after a create of unknown outcome absence is believed.
	Settle time.Duration
	// Status writes to the objects.
	Status *status.Recorder
	// Metrics counts.
	Metrics *metrics.Metrics
	// Clock tells the time.
	Clock clock.PassiveClock
	// Resync is how often a settled object is looked at although nothing tells of a change.
	Resync time.Duration
}

// +kubebuilder:rbac:groups=discord.jutsu.com,resources=discordservers,verbs=list;watch;patch
// +kubebuilder:rbac:groups=discord.jutsu.com,resources=discordservers/status,verbs=patch
// +kubebuilder:rbac:groups=discord.jutsu.com,resources=discordgroups;discordchannels,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// SetupWithManager registers the controller and its watches. At most workers servers are reconciled at once.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, workers int) error {
	return builder.ControllerManagedBy(mgr).
		Named("discordserver").
		For(&v1alpha1.DiscordServer{}, builder.WithPredicates(predicate.Or(
			predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, r.Status.Expectations.ByOthers(Kind)))).
		Watches(&v1alpha1.DiscordServer{}, handler.EnqueueRequestsFromMapFunc(r.rivals), builder.WithPredicates(claimMoved)).
		Watches(&v1alpha1.DiscordGroup{}, later(r.ofGroup), builder.WithPredicates(childMoved)).
		Watches(&v1alpha1.DiscordChannel{}, later(r.ofChannel), builder.WithPredicates(childMoved)).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.ofSecret)).
		WatchesRawSource(source.TypedChannel(r.Bots.Events(), handler.TypedFuncs[guildcache.Event, reconcile.Request]{GenericFunc: r.onEvent})).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstBackoff, lastBackoff),
		}).
		Complete(reconcile.Func(r.reconcile))
}

// reconcile gets the object of a request. One that is gone needs no session with Discord any more.
func (r *Reconciler) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var s v1alpha1.DiscordServer
	if err := r.Client.Get(ctx, req.NamespacedName, &s); apierrors.IsNotFound(err) {
		r.Bots.Release(req.NamespacedName)
		return reconcile.Result{}, nil
	} else if err != nil {
		return reconcile.Result{}, fmt.Errorf("get DiscordServer: %w", err)
	}
	return r.Reconcile(ctx, &s)
}

// Reconcile looks, decides, acts and tells, in that order, and nothing else.
func (r *Reconciler) Reconcile(ctx context.Context, s *v1alpha1.DiscordServer) (reconcile.Result, error) {
	if !r.Status.Satisfied(s) {
		return reconcile.Result{RequeueAfter: apply.StaleRetry}, nil
	}
	if !s.DeletionTimestamp.IsZero() {
		return r.finish(ctx, s)
	}
	var now state
	seen, err := r.observe(ctx, s)
	if err == nil {
		now, err = r.act(ctx, s, seen, plan(s, seen))
	}
	return r.conclude(ctx, s, seen, now, issues.Of(tokenRefused(s, err), r.Clock.Now()))
}

// conclude tells how a pass ended and says when the next one is.
func (r *Reconciler) conclude(ctx context.Context, s *v1alpha1.DiscordServer, seen *observed, now state, end error) (reconcile.Result, error) {
	report := status.Report{
		Name: "server", Age: r.Clock.Since(s.CreationTimestamp.Time), Reported: s.Status.Conditions, Changed: now.changed, Resync: r.Resync,
		Write: func(ctx context.Context, end error) error { return r.report(ctx, s, statusOf(s, seen, now, end)) },
	}
	return report.Update(ctx, end)
}
