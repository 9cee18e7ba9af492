// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"cmp"
	"context"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/controller"
	"jutsu.com/operators/discord-operator/internal/controller/webhook"
	"jutsu.com/operators/discord-operator/internal/discord/lifecycle"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/discord-operator/internal/kube/index"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/manager/fence"
)

// Kind describes DiscordChannels to package lifecycle.
var Kind = lifecycle.Kind{
	Name: "DiscordChannel", Noun: "channel", ByID: index.ChannelByID,
	Title:        func(name string) string { return "#" + name },
	NotRecreated: "its messages, threads, invites and webhook URLs",
	Fields:       fields.Rows(), Calls: resource.Channels,
	List: func() client.ObjectList { return &v1alpha1.DiscordChannelList{} },
	Identity: func(o client.Object) lifecycle.Identity {
		c := o.(*v1alpha1.DiscordChannel)
		return lifecycle.Identity{
			Name: c.Spec.Name, StatusID: c.Status.ChannelID, Adopt: c.Spec.Adopt, Position: c.Spec.Position,
			Policy: c.Spec.DeletionPolicy, Matched: c.Status.Matched, Adopted: c.Status.Adopted, Observed: status.Observed(c),
			Released: c.Status.Observed,
		}
	},
}

// Reconciler reconciles DiscordChannels.
type Reconciler struct {
	controller.Controller
	RoleNames *lifecycle.RoleNames
	Webhooks  *webhook.Webhooks
}

// The admission plugin OwnerReferencesPermissionEnforcement lets the operator change a
// Secret's owner references only with the verb delete on Secrets. The kustomize component
// owner-references-permission-enforcement adds this verb.
// +kubebuilder:rbac:groups=discord.jutsu.com,resources=discordchannels,verbs=list;watch;patch
// +kubebuilder:rbac:groups=discord.jutsu.com,resources=discordchannels/status,verbs=patch
// +kubebuilder:rbac:groups=discord.jutsu.com,resources=discordchannels/finalizers,verbs=update
// +kubebuilder:rbac:groups=discord.jutsu.com,resources=discordgroups,verbs=list;watch
// +kubebuilder:rbac:groups=discord.jutsu.com,resources=discordservers;discordroles,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// SetupWithManager registers the controller and its watches.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, workers int) error {
	when, requests := builder.WithPredicates, handler.EnqueueRequestsFromMapFunc
	return r.Build(mgr, &v1alpha1.DiscordChannel{}, r.ofServer, r.ofNamespace, workers).
		Watches(&v1alpha1.DiscordChannel{}, lifecycle.OnDelete(r.Webhooks.Records.Forget)).
		Watches(&v1alpha1.DiscordGroup{}, requests(r.ofGroup), when(groupChanged)).
		Watches(&v1alpha1.DiscordRole{}, requests(r.Resources.OfRole), when(lifecycle.RoleBound)).
		WatchesMetadata(&corev1.Secret{}, requests(r.ofSecret), when(r.Webhooks.Applier.Expectations.NotOurs("Secret"))).
		WatchesRawSource(source.TypedChannel(r.Bots.Events(), r.ofCategory())).
		Complete(fence.Quiet(reconcile.AsReconciler(r.Client, r)))
}

// Reconcile observes, plans, applies and updates the status.
func (r *Reconciler) Reconcile(ctx context.Context, c *v1alpha1.DiscordChannel) (reconcile.Result, error) {
	ctx, current := r.Begin(ctx, c)
	if !current {
		return controller.Stale, nil
	}
	if !c.DeletionTimestamp.IsZero() {
		return r.reconcileDelete(ctx, c)
	}
	state, err := r.observe(ctx, c)
	if err != nil {
		var results Results
		results.Fail(err, r.Resources.Status.Clock.Now())
		return r.updateStatus(ctx, c, state, results)
	}
	plan := NewPlan(c, state)
	if status.Observed(c) {
		return r.updateStatus(ctx, c, state, r.observed(c, state, plan))
	}
	if status.Paused(c) {
		paused := r.Resources.Pause(ctx, state.Binding, plan.Plan, plan.Pending() || plan.Webhook.Pending())
		return r.updateStatus(ctx, c, State{}, Results{Results: paused})
	}
	results := r.apply(ctx, c, state, plan)
	result, err := r.updateStatus(ctx, c, state, results)
	if retry := state.Webhook.RetryAfter; err == nil && retry > 0 {
		result.RequeueAfter = min(retry, cmp.Or(result.RequeueAfter, retry))
	}
	return result, err
}

// Results reports the changes to the channel and to its webhook.
type Results struct {
	lifecycle.Results
	Webhook webhook.Results
}

func (r *Reconciler) observed(c *v1alpha1.DiscordChannel, s State, plan Plan) Results {
	results := Results{Results: r.Resources.Observe(s.Binding, s.Guild.Snapshot, plan.Plan)}
	results.Differences = append(results.Differences, plan.Webhook.Differences(c)...)
	results.Fail(plan.Webhook.Err, r.Resources.Status.Clock.Now())
	return results
}

// apply changes the webhook even if an edit of the channel has failed, but not if the channel cannot
// be used yet.
func (r *Reconciler) apply(ctx context.Context, c *v1alpha1.DiscordChannel, s State, plan Plan) Results {
	api, calls := s.Guild.Bot.Client, 1
	if plan.Create != nil && plan.Webhook.Create {
		calls = 2 // reserve the webhook's call too, so that the rate limit does not delay it
	}
	both := r.Resources.Queue.Caller(ctx, c, calls)
	results := Results{Results: r.Resources.Apply(both, api, s.Binding, plan.Plan)}
	if results.Created {
		r.Webhooks.Records.Absent(c.UID)
	}
	if results.Blocked {
		return results
	}
	var err error
	results.Webhook, err = r.Webhooks.Apply(ctx, c, api, results.Live.GetID(), plan.Webhook)
	results.Changed = results.Changed || results.Webhook.Changed
	results.Fail(err, r.Resources.Status.Clock.Now())
	return results
}

func (r *Reconciler) reconcileDelete(ctx context.Context, c *v1alpha1.DiscordChannel) (reconcile.Result, error) {
	if !status.Finalized(c) {
		return reconcile.Result{}, nil
	}
	state, err := r.observeDeletion(ctx, c)
	results := r.Delete(ctx, c, state.Guild, PlanDeletion(c, state, r.Issues(err)))
	if results.Deleted {
		r.Webhooks.Records.Forget(c.UID)
		return reconcile.Result{}, nil
	}
	return r.updateStatus(ctx, c, State{}, Results{Results: results})
}
