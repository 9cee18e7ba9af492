package channel

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
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
const Kind = "DiscordChannel"

// FieldOwner owns the fields of the Secrets that are applied.
const FieldOwner = "discord-operator"

// Errors that may pass are retried after these pauses, doubled each time.
const firstBackoff, lastBackoff = 200 * time.Millisecond, time.Minute

// Reconciler makes DiscordChannels come true.
type Reconciler struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Applier writes the Secrets of webhooks.
	Applier *apply.Applier
	// Bots are the connections to Discord.
	Bots *bot.Bots
	// Finder finds and creates channels, Hooks remembers what came of creates of webhooks.
	Finder *external.Finder
	Hooks  *external.Records
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

// +kubebuilder:rbac:groups=discord.jutsu.com,resources=discordchannels,verbs=list;watch;patch
// +kubebuilder:rbac:groups=discord.jutsu.com,resources=discordchannels/status,verbs=patch
// +kubebuilder:rbac:groups=discord.jutsu.com,resources=discordchannels/finalizers,verbs=update
// +kubebuilder:rbac:groups=discord.jutsu.com,resources=discordgroups,verbs=list;watch
// +kubebuilder:rbac:groups=discord.jutsu.com,resources=discordservers,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// SetupWithManager registers the controller and its watches. At most workers channels are reconciled at once.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, workers int) error {
	return builder.ControllerManagedBy(mgr).
		Named("discordchannel").
		For(&v1alpha1.DiscordChannel{}, builder.WithPredicates(predicate.Or(
			predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, r.Status.Expectations.ByOthers(Kind)))).
		Watches(&v1alpha1.DiscordChannel{}, handler.EnqueueRequestsFromMapFunc(r.rivals), builder.WithPredicates(letGo)).
		Watches(&v1alpha1.DiscordGroup{}, handler.EnqueueRequestsFromMapFunc(r.ofGroup), builder.WithPredicates(groupMoved)).
		Watches(&v1alpha1.DiscordServer{}, handler.EnqueueRequestsFromMapFunc(r.ofServer), builder.WithPredicates(serverMoved)).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.ofSecret)).
		WatchesRawSource(source.TypedChannel(r.Bots.Events(), handler.TypedEnqueueRequestsFromMapFunc(r.ofEvent))).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstBackoff, lastBackoff),
		}).
		Complete(reconcile.AsReconciler(r.Client, r))
}

// Reconcile looks, decides, acts and tells, in that order, and nothing else.
func (r *Reconciler) Reconcile(ctx context.Context, c *v1alpha1.DiscordChannel) (reconcile.Result, error) {
	if !r.Status.Satisfied(c) {
		return reconcile.Result{RequeueAfter: apply.StaleRetry}, nil
	}
	if !c.DeletionTimestamp.IsZero() {
		return r.finish(ctx, c)
	}
	var now state
	seen, err := r.observe(ctx, c)
	if err == nil {
		now, err = r.act(ctx, c, seen, plan(c, seen))
	}
	return r.conclude(ctx, c, seen, now, issues.Of(err, r.Clock.Now()))
}

// conclude tells how a pass ended and says when the next one is.
func (r *Reconciler) conclude(ctx context.Context, c *v1alpha1.DiscordChannel, seen *observed, now state, end error) (reconcile.Result, error) {
	report := status.Report{
		Name: "channel #" + c.Spec.Name, Age: r.Clock.Since(c.CreationTimestamp.Time), Reported: c.Status.Conditions, Changed: now.changed, Resync: r.Resync,
		Write: func(ctx context.Context, end error) error { return r.report(ctx, c, statusOf(c, seen, now, end)) },
	}
	return report.Update(ctx, end)
}
