package group

import (
	"context"
	"strconv"
	"time"

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
	"jutsu.com/operators/discord-operator/internal/order"
	"jutsu.com/operators/discord-operator/internal/status"
	"jutsu.com/operators/libs/apply"
)

// Kind is what is reconciled here.
const Kind = "DiscordGroup"

// Errors that may pass are retried after these pauses, doubled each time.
const firstBackoff, lastBackoff = 200 * time.Millisecond, time.Minute

// Reconciler makes DiscordGroups come true.
type Reconciler struct {
	// Client reads from the cache.
	Client client.Client
	// Bots are the connections to Discord.
	Bots *bot.Bots
	// Finder finds and creates categories.
	Finder *external.Finder
	// Status writes to the objects.
	Status *status.Recorder
	// Metrics counts.
	Metrics *metrics.Metrics
	// Clock tells the time.
	Clock clock.PassiveClock
	// Resync is how often a settled object is looked at although nothing tells of a change.
	Resync time.Duration

	arranging order.Turns
}

// +kubebuilder:rbac:groups=discord.jutsu.com,resources=discordgroups,verbs=list;watch;patch
// +kubebuilder:rbac:groups=discord.jutsu.com,resources=discordgroups/status,verbs=patch
// +kubebuilder:rbac:groups=discord.jutsu.com,resources=discordchannels,verbs=list;watch
// +kubebuilder:rbac:groups=discord.jutsu.com,resources=discordservers,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// SetupWithManager registers the controller and its watches. At most workers groups are reconciled at once.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, workers int) error {
	return builder.ControllerManagedBy(mgr).
		Named("discordgroup").
		For(&v1alpha1.DiscordGroup{}, builder.WithPredicates(predicate.Or(
			predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, r.Status.Expectations.ByOthers(Kind)))).
		Watches(&v1alpha1.DiscordGroup{}, handler.EnqueueRequestsFromMapFunc(r.rivals), builder.WithPredicates(letGo)).
		Watches(&v1alpha1.DiscordChannel{}, handler.EnqueueRequestsFromMapFunc(ofChannel), builder.WithPredicates(left)).
		Watches(&v1alpha1.DiscordServer{}, handler.EnqueueRequestsFromMapFunc(r.ofServer), builder.WithPredicates(serverMoved)).
		WatchesRawSource(source.TypedChannel(r.Bots.Events(), handler.TypedEnqueueRequestsFromMapFunc(r.ofEvent))).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstBackoff, lastBackoff),
		}).
		Complete(reconcile.AsReconciler(r.Client, r))
}

// Reconcile looks, decides, acts and tells, in that order, and nothing else.
func (r *Reconciler) Reconcile(ctx context.Context, g *v1alpha1.DiscordGroup) (reconcile.Result, error) {
	if !r.Status.Satisfied(g) {
		return reconcile.Result{RequeueAfter: apply.StaleRetry}, nil
	}
	if !g.DeletionTimestamp.IsZero() {
		return r.finish(ctx, g)
	}
	var now state
	seen, err := r.observe(ctx, g)
	if err == nil {
		now, err = r.act(ctx, g, seen, plan(g, seen))
	}
	return r.conclude(ctx, g, seen, now, issues.Of(err, r.Clock.Now()))
}

// conclude tells how a pass ended and says when the next one is.
func (r *Reconciler) conclude(ctx context.Context, g *v1alpha1.DiscordGroup, seen *observed, now state, end error) (reconcile.Result, error) {
	report := status.Report{
		Name: "group " + strconv.Quote(g.Spec.Name), Age: r.Clock.Since(g.CreationTimestamp.Time), Reported: g.Status.Conditions, Changed: now.changed, Resync: r.Resync,
		Write: func(ctx context.Context, end error) error { return r.report(ctx, g, statusOf(g, seen, now, end)) },
	}
	return report.Update(ctx, end)
}
