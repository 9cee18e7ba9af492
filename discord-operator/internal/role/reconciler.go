// SPDX-License-Identifier: Apache-2.0

package role

import (
	"context"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/bot"
	"jutsu.com/operators/discord-operator/internal/grant"
	"jutsu.com/operators/discord-operator/internal/index"
	"jutsu.com/operators/discord-operator/internal/issues"
	"jutsu.com/operators/discord-operator/internal/lifecycle"
	"jutsu.com/operators/discord-operator/internal/resource"
	"jutsu.com/operators/discord-operator/internal/status"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/manager/fence"
)

// Kind is what differs of a role.
var Kind = lifecycle.Kind{
	Name: "DiscordRole", Noun: "role", ByID: index.RoleByID,
	Title:  func(name string) string { return "the role " + strconv.Quote(name) },
	Lost:   "its members but for those of spec.members, and the permission overwrites that name it by its id",
	Fields: fields.Rows(), Calls: resource.Roles{}, FromBottom: true,
	List: func() client.ObjectList { return &v1alpha1.DiscordRoleList{} },
	Identity: func(o client.Object) lifecycle.Identity {
		role := o.(*v1alpha1.DiscordRole)
		return lifecycle.Identity{
			Name: role.Spec.Name, StatusID: role.Status.RoleID, Adopt: role.Spec.Adopt, Position: role.Spec.Position,
			Policy: role.Spec.DeletionPolicy, Matched: role.Status.Matched, Adopted: role.Status.Adopted,
			Observed: status.Observed(role),
		}
	},
}

// Reconciler reconciles DiscordRoles.
type Reconciler struct {
	// Client reads from the cache.
	Client client.Client
	// Grants say what it may use.
	Grants *grant.Reader
	// Bots are the connections to Discord.
	Bots *bot.Bots
	// Roles are the external resources.
	Roles *lifecycle.Resources
	// Resync is how long it is before a member is read again.
	Resync time.Duration
}

// +kubebuilder:rbac:groups=discord.jutsu.com,resources=discordroles,verbs=list;watch;patch
// +kubebuilder:rbac:groups=discord.jutsu.com,resources=discordroles/status,verbs=patch
// +kubebuilder:rbac:groups=discord.jutsu.com,resources=discordservers,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// SetupWithManager registers the controller and its watches. At most workers roles are reconciled at
// once.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, workers int) error {
	when, requests := builder.WithPredicates, handler.EnqueueRequestsFromMapFunc
	b := builder.ControllerManagedBy(mgr).
		Named("discordrole").
		For(&v1alpha1.DiscordRole{}, when(r.Roles.Status.Relevant())).
		Watches(&v1alpha1.DiscordRole{}, requests(r.Roles.Rivals), when(r.Roles.Released())).
		Watches(&v1alpha1.DiscordRole{}, requests(r.ofSibling), when(lifecycle.RoleBound)).
		Watches(&v1alpha1.DiscordServer{}, requests(r.ofServer), when(bot.ServerChanged)).
		WatchesRawSource(source.TypedChannel(r.Bots.Events(), r.Roles.OfEvent(r.ofServer))).
		WatchesRawSource(&r.Roles.Queue).
		WithOptions(lifecycle.Options(workers))
	if r.Grants.Labels {
		b = b.WatchesMetadata(&corev1.Namespace{}, requests(r.ofNamespace), when(predicate.LabelChangedPredicate{}))
	}
	return b.Complete(fence.Quiet(reconcile.AsReconciler(r.Client, r)))
}

// Reconcile observes, plans, applies and updates the status, in that order.
func (r *Reconciler) Reconcile(ctx context.Context, role *v1alpha1.DiscordRole) (reconcile.Result, error) {
	ctx = r.Roles.Queue.Caller(r.Bots.Caused(ctx, role), role, 1)
	if !r.Roles.Status.Satisfied(role) {
		return reconcile.Result{RequeueAfter: apply.StaleRetry}, nil
	}
	if !role.DeletionTimestamp.IsZero() {
		return r.reconcileDelete(ctx, role)
	}
	state, err := r.observe(ctx, role)
	if err != nil {
		return r.updateStatus(ctx, role, state, lifecycle.Results{Issues: issues.Of(err, r.Roles.Status.Clock.Now())})
	}
	plan := Plan(role, state)
	if status.Observed(role) {
		results := r.Roles.Observe(state.Binding, state.Guild.Snapshot, plan)
		members, err := r.memberChanges(ctx, role, state)
		results.Differences = append(results.Differences, members...)
		results.Fail(err, r.Roles.Status.Clock.Now())
		r.enforce(ctx, role, state, &results)
		return r.updateStatus(ctx, role, state, results)
	}
	if status.Paused(role) {
		members, err := r.memberChanges(ctx, role, state)
		results := r.Roles.Pause(ctx, state.Binding, plan, len(members) > 0 || plan.Pending())
		results.Fail(err, r.Roles.Status.Clock.Now())
		r.enforce(ctx, role, state, &results)
		return r.updateStatus(ctx, role, State{}, results)
	}
	results := r.Roles.Apply(ctx, state.Guild.Bot.Client, state.Binding, plan)
	if results.Live != nil && !results.Stale {
		state.Guild.Refresh()
		results.Fail(r.applyMembers(ctx, role, state, &results), r.Roles.Status.Clock.Now())
	}
	return r.updateStatus(ctx, role, state, results)
}

// enforce keeps a role of another namespace within its bounds although its object is paused or only
// observes: these are the server's, and no tenant suspends them.
func (r *Reconciler) enforce(ctx context.Context, role *v1alpha1.DiscordRole, s State, results *lifecycle.Results) {
	plan := PlanBounds(role, s)
	if plan.Low == nil || len(plan.Fields) == 0 && plan.Low.Holds(s.Guild.Snapshot, s.Binding.Live.GetID()) {
		return
	}
	done := r.Roles.Apply(ctx, s.Guild.Bot.Client, s.Binding, plan)
	results.Issues = append(results.Issues, done.Issues...)
	results.Stale = results.Stale || done.Stale
}

// reconcileDelete is Reconcile for a deleted role.
func (r *Reconciler) reconcileDelete(ctx context.Context, role *v1alpha1.DiscordRole) (reconcile.Result, error) {
	if !status.Finalized(role) {
		return reconcile.Result{}, nil
	}
	state, err := r.observeDeletion(ctx, role)
	plan := PlanDeletion(role, state, issues.Of(err, r.Roles.Status.Clock.Now()))
	results := lifecycle.Delete(ctx, state.Guild.OrNone(), r.Roles.Status, role, plan)
	if results.Deleted {
		r.Roles.Records.Forget(role.UID)
		return reconcile.Result{}, nil
	}
	if state.Guild != nil {
		r.enforce(ctx, role, state, &results)
	}
	return r.updateStatus(ctx, role, State{}, results)
}
