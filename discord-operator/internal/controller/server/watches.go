// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/bot"
	"jutsu.com/operators/discord-operator/internal/discord/lifecycle"
	"jutsu.com/operators/discord-operator/internal/kube/index"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

// childChangeDelay combines hundreds of simultaneous changes into one status update.
const childChangeDelay = 2 * time.Second

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

type serverOf func(context.Context, client.Object) types.NamespacedName

func enqueueLater(servers ...serverOf) handler.EventHandler {
	put := func(ctx context.Context, o client.Object, q queue) {
		for _, of := range servers {
			if name := of(ctx, o); name.Name != "" {
				q.AddAfter(reconcile.Request{NamespacedName: name}, childChangeDelay)
			}
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { put(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			put(ctx, e.ObjectOld, q) // the object may have left its former server
			put(ctx, e.ObjectNew, q)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { put(ctx, e.Object, q) },
	}
}

func (r *Reconciler) ofGroup(_ context.Context, o client.Object) types.NamespacedName {
	return o.(*v1alpha1.DiscordGroup).Spec.ServerRef.In(o.GetNamespace())
}

func (r *Reconciler) ofRole(_ context.Context, o client.Object) types.NamespacedName {
	return o.(*v1alpha1.DiscordRole).Spec.ServerRef.In(o.GetNamespace())
}

func (r *Reconciler) ofChannel(ctx context.Context, o client.Object) (server types.NamespacedName) {
	c := o.(*v1alpha1.DiscordChannel)
	if c.Spec.ServerRef != nil {
		return c.Spec.ServerRef.In(c.Namespace)
	}
	var group v1alpha1.DiscordGroup
	if c.Spec.GroupRef == nil || r.Grants.Objects.Get(ctx, c.Spec.GroupRef.In(c.Namespace), &group) != nil {
		return server
	}
	return group.Spec.ServerRef.In(group.Namespace)
}

// inServer returns the server that has the channel, even if the object now refers to another server.
func inServer(_ context.Context, o client.Object) (server types.NamespacedName) {
	if c := o.(*v1alpha1.DiscordChannel); c.Status.ServerRef != nil {
		return c.Status.ServerRef.In(c.Namespace)
	}
	return server
}

func (r *Reconciler) ofNamespace(ctx context.Context, _ client.Object) []reconcile.Request {
	return r.requests(ctx, "", index.BySelector, string(v1alpha1.FromSelector))
}

// childChanged selects changes that can affect the server's counts, permissions or deletion.
var childChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
		status.ID(e.ObjectOld) != status.ID(e.ObjectNew) || lifecycle.Ended(e.ObjectOld) != lifecycle.Ended(e.ObjectNew)
}}

func (r *Reconciler) requests(ctx context.Context, namespace, by, value string) []reconcile.Request {
	return index.Requests(ctx, r.Client, &v1alpha1.DiscordServerList{}, namespace, by, value)
}

func (r *Reconciler) ofSecret(ctx context.Context, secret client.Object) []reconcile.Request {
	return r.requests(ctx, secret.GetNamespace(), index.ServerBySecret, secret.GetName())
}

func (r *Reconciler) ofConfigMap(ctx context.Context, cm client.Object) []reconcile.Request {
	return r.requests(ctx, cm.GetNamespace(), index.ServerByIcon, cm.GetName())
}

// Events of channels and roles change only the server's status, so onEvent delays the reconcile.
func (r *Reconciler) onEvent(ctx context.Context, e bot.Event, q queue) {
	var requests []reconcile.Request
	after := time.Duration(0)
	switch e.Object.Kind {
	case guildcache.EventGuild:
		requests = r.requests(ctx, "", index.ServerByGuild, e.Object.GuildID)
	case guildcache.EventChannel, guildcache.EventRole:
		requests, after = r.requests(ctx, "", index.ServerByGuild, e.Object.GuildID), childChangeDelay
	case bot.EventTokenRefused: // the event does not name the bot
		requests = slices.DeleteFunc(index.Requests(ctx, r.Client, &v1alpha1.DiscordServerList{}, "", "", ""),
			func(server reconcile.Request) bool { return !r.Bots.HasRefused(server.NamespacedName) })
	default:
	}
	for _, request := range requests {
		q.AddAfter(request, after)
	}
}

func (r *Reconciler) rivals(ctx context.Context, o client.Object) (all []reconcile.Request) {
	server := o.(*v1alpha1.DiscordServer)
	for _, id := range []string{server.Spec.ServerID, server.Status.ServerID} {
		if id != "" {
			all = append(all, r.requests(ctx, "", index.ServerByGuild, id)...)
		}
	}
	return all
}

var claimChanged = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*v1alpha1.DiscordServer), e.ObjectNew.(*v1alpha1.DiscordServer)
		now, deleted := time.Now(), before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero()
		return deleted || lifecycle.Ended(before) != lifecycle.Ended(after) || weightOf(before, now) != weightOf(after, now)
	},
}
