// SPDX-License-Identifier: Apache-2.0

package role

import (
	"context"
	"strconv"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/controller"
	"jutsu.com/operators/discord-operator/internal/discord/lifecycle"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/discord-operator/internal/kube/index"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/manager/fence"
)

// Kind describes DiscordRoles to package lifecycle.
var Kind = lifecycle.Kind{
	Name: "DiscordRole", Noun: "role", ByID: index.RoleByID,
	Title:        func(name string) string { return "the role " + strconv.Quote(name) },
	NotRecreated: "the members that spec.members does not list, and without the permission overwrites for its former id",
	Fields:       fields.Rows(), Calls: resource.Roles, FromBottom: true,
	List: func() client.ObjectList { return &v1alpha1.DiscordRoleList{} },
	Identity: func(o client.Object) lifecycle.Identity {
		role := o.(*v1alpha1.DiscordRole)
		return lifecycle.Identity{
			Name: role.Spec.Name, StatusID: role.Status.RoleID, Adopt: role.Spec.Adopt, Position: role.Spec.Position,
			Policy: role.Spec.DeletionPolicy, Matched: role.Status.Matched, Adopted: role.Status.Adopted,
			Observed: status.Observed(role), Released: role.Status.Observed,
		}
	},
}

// Reconciler reconciles DiscordRoles.
type Reconciler struct {
	controller.Controller
	Resync time.Duration // interval between two reads of the same member
}

// +kubebuilder:rbac:groups=discord.jutsu.com,resources=discordroles,verbs=list;watch;patch
// +kubebuilder:rbac:groups=discord.jutsu.com,resources=discordroles/status,verbs=patch
// +kubebuilder:rbac:groups=discord.jutsu.com,resources=discordservers,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// SetupWithManager registers the controller and its watches.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, workers int) error {
	return r.Build(mgr, &v1alpha1.DiscordRole{}, r.ofServer, r.ofNamespace, workers).
		Watches(&v1alpha1.DiscordRole{}, handler.EnqueueRequestsFromMapFunc(r.ofSibling),
			builder.WithPredicates(lifecycle.RoleBound)).
		Complete(fence.Quiet(reconcile.AsReconciler(r.Client, r)))
}

// Reconcile observes, plans, applies and updates the status.
func (r *Reconciler) Reconcile(ctx context.Context, role *v1alpha1.DiscordRole) (reconcile.Result, error) {
	ctx, current := r.Begin(ctx, role)
	if !current {
		return controller.Stale, nil
	}
	if !role.DeletionTimestamp.IsZero() {
		return r.reconcileDelete(ctx, role)
	}
	state, err := r.observe(ctx, role)
	if err != nil {
		return r.updateStatus(ctx, role, state, lifecycle.Results{Issues: r.Issues(err)})
	}
	plan := NewPlan(role, state)
	if status.Observed(role) {
		results := r.Resources.Observe(state.Binding, state.Guild.Snapshot, plan)
		members, err := r.memberChanges(ctx, role, state)
		results.Differences = append(results.Differences, members...)
		results.Fail(err, r.Resources.Status.Clock.Now())
		r.enforce(ctx, role, state, &results)
		return r.updateStatus(ctx, role, state, results)
	}
	if status.Paused(role) {
		members, err := r.memberChanges(ctx, role, state)
		results := r.Resources.Pause(ctx, state.Binding, plan, len(members) > 0 || plan.Pending())
		results.Fail(err, r.Resources.Status.Clock.Now())
		r.enforce(ctx, role, state, &results)
		return r.updateStatus(ctx, role, State{}, results)
	}
	results := r.Resources.Apply(ctx, state.Guild.Bot.Client, state.Binding, plan)
	if results.Live != nil && !results.Stale {
		state.Guild.Refresh()
		r.reduce(ctx, role, state, &results)
		results.Fail(r.applyMembers(ctx, role, state, &results), r.Resources.Status.Clock.Now())
	}
	return r.updateStatus(ctx, role, state, results)
}

// reduce removes only forbidden permissions, because Discord may have refused the complete edit.
func (r *Reconciler) reduce(ctx context.Context, role *v1alpha1.DiscordRole, s State, results *lifecycle.Results) {
	s.Binding.Live = results.Live
	plan := PlanBounds(role, s)
	if len(plan.Fields) == 0 {
		return
	}
	plan.Bounds = nil // Apply has already tried to move the role
	done := r.Resources.Apply(ctx, s.Guild.Bot.Client, s.Binding, plan)
	results.Live = done.Live
	results.Changed, results.Stale = results.Changed || done.Changed, results.Stale || done.Stale
}

// enforce applies the server's limits to a role that is paused, only observed, or being deleted.
// Otherwise, a tenant could keep forbidden permissions in these states.
func (r *Reconciler) enforce(ctx context.Context, role *v1alpha1.DiscordRole, s State, results *lifecycle.Results) {
	plan := PlanBounds(role, s)
	if plan.Bounds == nil || len(plan.Fields) == 0 && plan.Bounds.Holds(s.Guild.Snapshot, s.Binding.Live.GetID()) {
		return
	}
	done := r.Resources.Apply(ctx, s.Guild.Bot.Client, s.Binding, plan)
	results.Issues = append(results.Issues, done.Issues...)
	results.Stale = results.Stale || done.Stale
}

func (r *Reconciler) reconcileDelete(ctx context.Context, role *v1alpha1.DiscordRole) (reconcile.Result, error) {
	if !status.Finalized(role) {
		return reconcile.Result{}, nil
	}
	state, err := r.observeDeletion(ctx, role)
	results := r.Delete(ctx, role, state.Guild, PlanDeletion(role, state, r.Issues(err)))
	if results.Deleted {
		return reconcile.Result{}, nil
	}
	if state.Guild != nil {
		r.enforce(ctx, role, state, &results)
	}
	return r.updateStatus(ctx, role, State{}, results)
}
