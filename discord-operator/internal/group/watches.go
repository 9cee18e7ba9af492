package group

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/external"
	"jutsu.com/operators/discord-operator/internal/index"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

// list returns the groups that an index names, without copying them.
func (r *Reconciler) list(ctx context.Context, namespace, by, value string) []v1alpha1.DiscordGroup {
	var groups v1alpha1.DiscordGroupList
	if err := r.Client.List(ctx, &groups, client.InNamespace(namespace), client.MatchingFields{by: value}, client.UnsafeDisableDeepCopy); err != nil {
		logf.FromContext(ctx).Error(err, "list groups", "by", by)
	}
	return groups.Items
}

func requests(groups []v1alpha1.DiscordGroup) []reconcile.Request {
	all := make([]reconcile.Request, 0, len(groups))
	for i := range groups {
		all = append(all, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&groups[i])})
	}
	return all
}

func (r *Reconciler) ofServer(ctx context.Context, server client.Object) []reconcile.Request {
	return requests(r.list(ctx, server.GetNamespace(), index.GroupByServer, server.GetName()))
}

func ofChannel(_ context.Context, o client.Object) []reconcile.Request {
	ref := o.(*v1alpha1.DiscordChannel).Spec.GroupRef
	if ref == nil {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: ref.Name}}}
}

// ofEvent returns the groups that something on Discord is about.
func (r *Reconciler) ofEvent(ctx context.Context, e guildcache.Event) []reconcile.Request {
	if e.ChannelID != "" {
		return requests(r.list(ctx, "", index.GroupByID, e.ChannelID))
	}
	// A refused token, which is about no guild, is told to the servers, and through their status to their groups.
	var servers v1alpha1.DiscordServerList
	if err := r.Client.List(ctx, &servers, client.MatchingFields{index.ServerByGuild: e.GuildID}, client.UnsafeDisableDeepCopy); err != nil {
		logf.FromContext(ctx).Error(err, "list the servers of a guild", "guild", e.GuildID)
	}
	var all []reconcile.Request
	for i := range servers.Items {
		all = append(all, r.ofServer(ctx, &servers.Items[i])...) // also those that have nothing on Discord yet: they may wait for a role
	}
	return all
}

// rivals returns the groups that claim the counterpart of another one: they can have it when that one lets it go.
func (r *Reconciler) rivals(ctx context.Context, o client.Object) []reconcile.Request {
	g := o.(*v1alpha1.DiscordGroup)
	var all []reconcile.Request
	for _, id := range external.Claimed(g.Status.GroupID, g.Spec.Adopt) {
		all = append(all, requests(r.list(ctx, "", index.GroupByID, id))...)
	}
	return all
}

// letGo lets through a group that is gone, or that has another counterpart than before.
var letGo = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*v1alpha1.DiscordGroup).Status.GroupID, e.ObjectNew.(*v1alpha1.DiscordGroup).Status.GroupID
		return before != "" && before != after
	},
}

// left lets through a channel that leaves its group: a group that is being deleted waits for that.
var left = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*v1alpha1.DiscordChannel).Spec.GroupRef, e.ObjectNew.(*v1alpha1.DiscordChannel).Spec.GroupRef
		return before != nil && (after == nil || *before != *after)
	},
}

// serverMoved lets through a server that came or went, or that became available or ceased to be.
var serverMoved = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, after := e.ObjectOld.(*v1alpha1.DiscordServer), e.ObjectNew.(*v1alpha1.DiscordServer)
	return before.Status.ServerID != after.Status.ServerID || available(before) != available(after) ||
		before.Spec.TokenSecretRef != after.Spec.TokenSecretRef
}}

func available(s *v1alpha1.DiscordServer) bool {
	return meta.IsStatusConditionTrue(s.Status.Conditions, conditions.TypeAvailable)
}
