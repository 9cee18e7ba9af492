// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/bot"
	"jutsu.com/operators/discord-operator/internal/discord/issues"
	"jutsu.com/operators/discord-operator/internal/discord/lifecycle"
	"jutsu.com/operators/discord-operator/internal/kube/grant"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/manager/fence"
)

// Kind is the kind of the objects that this package reconciles.
const Kind = "DiscordServer"

// Reconciler reconciles DiscordServers.
type Reconciler struct {
	Client  client.Client // reads from the cache
	Live    client.Reader // reads the ConfigMaps of icons; the cache has only their metadata
	Grants  *grant.Reader
	Bots    *bot.Bots          // connections to Discord
	Records *lifecycle.Records // of Discord's responses to edits
	Status  *status.Recorder

	icons icons
	calls lifecycle.CallQueue
}

// +kubebuilder:rbac:groups=discord.jutsu.com,resources=discordservers,verbs=list;watch;patch
// +kubebuilder:rbac:groups=discord.jutsu.com,resources=discordservers/status,verbs=patch
// +kubebuilder:rbac:groups=discord.jutsu.com,resources=discordgroups;discordchannels;discordroles,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// SetupWithManager registers the controller and its watches.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, workers int) error {
	when, requests := builder.WithPredicates, handler.EnqueueRequestsFromMapFunc
	onEvent := handler.TypedFuncs[guildcache.Event, reconcile.Request]{GenericFunc: r.onEvent}
	b := builder.ControllerManagedBy(mgr).
		Named("discordserver").
		For(&v1alpha1.DiscordServer{}, when(r.Status.Relevant())).
		Watches(&v1alpha1.DiscordServer{}, requests(r.rivals), when(claimChanged)).
		Watches(&v1alpha1.DiscordServer{}, lifecycle.OnDelete(r.Records.Forget, r.Status.Forget)).
		Watches(&v1alpha1.DiscordGroup{}, enqueueLater(r.ofGroup), when(childChanged)).
		Watches(&v1alpha1.DiscordChannel{}, enqueueLater(r.ofChannel, inServer), when(childChanged)).
		Watches(&v1alpha1.DiscordRole{}, enqueueLater(r.ofRole), when(childChanged)).
		WatchesMetadata(&corev1.Secret{}, requests(r.ofSecret)).
		WatchesMetadata(&corev1.ConfigMap{}, requests(r.ofConfigMap)).
		WatchesRawSource(source.TypedChannel(r.Bots.Events(), onEvent)).
		WatchesRawSource(&r.calls).
		WithOptions(lifecycle.Options(workers))
	if r.Grants.Labels {
		b = b.WatchesMetadata(&corev1.Namespace{}, requests(r.ofNamespace), when(predicate.LabelChangedPredicate{}))
	}
	return b.Complete(fence.Quiet(reconcile.Func(r.reconcile)))
}

func (r *Reconciler) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var s v1alpha1.DiscordServer
	if err := r.Client.Get(ctx, req.NamespacedName, &s); apierrors.IsNotFound(err) {
		r.Bots.Release(req.NamespacedName)
		r.icons.keep(req.NamespacedName, Icon{})
		return reconcile.Result{}, nil
	} else if err != nil {
		return reconcile.Result{}, fmt.Errorf("get DiscordServer: %w", err)
	}
	return r.Reconcile(ctx, &s)
}

// Reconcile observes, plans, applies and updates the status.
func (r *Reconciler) Reconcile(ctx context.Context, server *v1alpha1.DiscordServer) (reconcile.Result, error) {
	ctx = r.calls.Caller(r.Bots.Caused(ctx, server), server, 1)
	if !r.Status.Satisfied(server) {
		return reconcile.Result{RequeueAfter: apply.StaleRetry}, nil
	}
	if !server.DeletionTimestamp.IsZero() {
		return r.reconcileDelete(ctx, server)
	}
	state, err := r.observe(ctx, server)
	if err != nil {
		var results Results
		results.Fail(r.tokenRefused(server, err), r.Status.Clock.Now())
		return r.updateStatus(ctx, server, state, results)
	}
	plan := NewPlan(server, state)
	if status.Observed(server) {
		return r.updateStatus(ctx, server, state, r.observed(ctx, server, state, plan))
	}
	if status.Paused(server) {
		results := paused(server, state, plan)
		if results.Guild == nil {
			state = State{}
		}
		return r.updateStatus(ctx, server, state, results)
	}
	results := r.apply(ctx, server, state, plan)
	return r.updateStatus(ctx, server, state, results)
}

func (r *Reconciler) reconcileDelete(ctx context.Context, server *v1alpha1.DiscordServer) (reconcile.Result, error) {
	if !status.Finalized(server) {
		return reconcile.Result{}, nil
	}
	state, err := r.observeDeletion(ctx, server)
	plan := PlanDeletion(server, state, issues.Of(err, r.Status.Clock.Now()))
	results := lifecycle.Delete(ctx, state.Bot.OrNone(), r.Status, server, plan)
	if results.Deleted {
		r.Records.Forget(server.UID)
		r.Bots.Release(client.ObjectKeyFromObject(server))
		return reconcile.Result{}, nil
	}
	return r.updateStatus(ctx, server, State{}, Results{Results: results})
}
