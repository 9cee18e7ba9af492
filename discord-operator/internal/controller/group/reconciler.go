// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"strconv"

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

// Kind describes DiscordGroups to package lifecycle.
var Kind = lifecycle.Kind{
	Name: "DiscordGroup", Noun: "category", ByID: index.GroupByID,
	Title:        func(name string) string { return "the category " + strconv.Quote(name) },
	NotRecreated: "its former place, and without the permission overwrites that the spec does not list",
	Fields:       fields.Rows(), Calls: resource.Categories,
	List: func() client.ObjectList { return &v1alpha1.DiscordGroupList{} },
	Identity: func(o client.Object) lifecycle.Identity {
		g := o.(*v1alpha1.DiscordGroup)
		return lifecycle.Identity{
			Name: g.Spec.Name, StatusID: g.Status.GroupID, Adopt: g.Spec.Adopt, Position: g.Spec.Position,
			Policy: g.Spec.DeletionPolicy, Matched: g.Status.Matched, Adopted: g.Status.Adopted, Observed: status.Observed(g),
			Released: g.Status.Observed,
		}
	},
}

// Reconciler reconciles DiscordGroups.
type Reconciler struct {
	controller.Controller
	RoleNames *lifecycle.RoleNames
}

// +kubebuilder:rbac:groups=discord.jutsu.com,resources=discordgroups,verbs=list;watch;patch
// +kubebuilder:rbac:groups=discord.jutsu.com,resources=discordgroups/status,verbs=patch
// +kubebuilder:rbac:groups=discord.jutsu.com,resources=discordchannels,verbs=list;watch
// +kubebuilder:rbac:groups=discord.jutsu.com,resources=discordservers;discordroles,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// SetupWithManager registers the controller and its watches.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, workers int) error {
	when, requests := builder.WithPredicates, handler.EnqueueRequestsFromMapFunc
	return r.Build(mgr, &v1alpha1.DiscordGroup{}, r.ofServer, r.ofNamespace, workers).
		Watches(&v1alpha1.DiscordChannel{}, requests(ofChannel), when(leavesGroup)).
		Watches(&v1alpha1.DiscordRole{}, requests(r.Resources.OfRole), when(lifecycle.RoleBound)).
		Complete(fence.Quiet(reconcile.AsReconciler(r.Client, r)))
}

// Reconcile observes, plans, applies and updates the status.
func (r *Reconciler) Reconcile(ctx context.Context, g *v1alpha1.DiscordGroup) (reconcile.Result, error) {
	ctx, current := r.Begin(ctx, g)
	if !current {
		return controller.Stale, nil
	}
	if !g.DeletionTimestamp.IsZero() {
		return r.reconcileDelete(ctx, g)
	}
	state, err := r.observe(ctx, g)
	if err != nil {
		return r.updateStatus(ctx, g, state, lifecycle.Results{Issues: r.Issues(err)})
	}
	plan := NewPlan(g, state)
	if status.Observed(g) {
		return r.updateStatus(ctx, g, state, r.Resources.Observe(state.Binding, state.Guild.Snapshot, plan))
	}
	if status.Paused(g) {
		return r.updateStatus(ctx, g, State{}, r.Resources.Pause(ctx, state.Binding, plan, plan.Pending()))
	}
	results := r.Resources.Apply(ctx, state.Guild.Bot.Client, state.Binding, plan)
	return r.updateStatus(ctx, g, state, results)
}

func (r *Reconciler) reconcileDelete(ctx context.Context, g *v1alpha1.DiscordGroup) (reconcile.Result, error) {
	if !status.Finalized(g) {
		return reconcile.Result{}, nil
	}
	state, err := r.observeDeletion(ctx, g)
	results := r.Delete(ctx, g, state.Guild, PlanDeletion(g, state, r.Issues(err)))
	if results.Deleted {
		return reconcile.Result{}, nil
	}
	return r.updateStatus(ctx, g, State{}, results)
}
