package channel

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// list returns the channels that an index names, without copying them.
func (r *Reconciler) list(ctx context.Context, namespace, by, value string) []v1alpha1.DiscordChannel {
	var channels v1alpha1.DiscordChannelList
	if err := r.Client.List(ctx, &channels, client.InNamespace(namespace), client.MatchingFields{by: value}, client.UnsafeDisableDeepCopy); err != nil {
		logf.FromContext(ctx).Error(err, "list channels", "by", by)
	}
	return channels.Items
}

func requests(channels []v1alpha1.DiscordChannel) []reconcile.Request {
	all := make([]reconcile.Request, 0, len(channels))
	for i := range channels {
		all = append(all, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&channels[i])})
	}
	return all
}

func (r *Reconciler) ofGroup(ctx context.Context, group client.Object) []reconcile.Request {
	return requests(r.list(ctx, group.GetNamespace(), index.ChannelByGroup, group.GetName()))
}

// ofServer returns the channels of a server: those that name it, and those whose groups do.
func (r *Reconciler) ofServer(ctx context.Context, server client.Object) []reconcile.Request {
	all := requests(r.list(ctx, server.GetNamespace(), index.ChannelByServer, server.GetName()))
	var groups v1alpha1.DiscordGroupList
	if err := r.Client.List(ctx, &groups, client.InNamespace(server.GetNamespace()), client.MatchingFields{index.GroupByServer: server.GetName()},
		client.UnsafeDisableDeepCopy); err != nil {
		logf.FromContext(ctx).Error(err, "list the groups of a server", "server", server.GetName())
	}
	for i := range groups.Items {
		all = append(all, r.ofGroup(ctx, &groups.Items[i])...)
	}
	return all
}

// ofSecret returns the channel that a Secret belongs to, and those that want its name: they are told when somebody else's is out of the way.
func (r *Reconciler) ofSecret(ctx context.Context, secret client.Object) []reconcile.Request {
	all := requests(r.list(ctx, secret.GetNamespace(), index.ChannelBySecret, secret.GetName()))
	if owner := metav1.GetControllerOfNoCopy(secret); owner != nil && ours(owner) {
		all = append(all, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: secret.GetNamespace(), Name: owner.Name}})
	}
	return all
}

func ours(owner *metav1.OwnerReference) bool {
	return owner.Kind == Kind && owner.APIVersion == v1alpha1.GroupVersion.String()
}

// ofEvent returns the channels that something on Discord is about.
func (r *Reconciler) ofEvent(ctx context.Context, e guildcache.Event) []reconcile.Request {
	if e.ChannelID != "" {
		return requests(r.list(ctx, "", index.ChannelByID, e.ChannelID))
	}
	// A refused token, which is about no guild, is told to the servers, and through their status to their channels.
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

// rivals returns the channels that claim the counterpart of another one: they can have it when that one lets it go.
func (r *Reconciler) rivals(ctx context.Context, o client.Object) []reconcile.Request {
	c := o.(*v1alpha1.DiscordChannel)
	var all []reconcile.Request
	for _, id := range external.Claimed(c.Status.ChannelID, c.Spec.Adopt) {
		all = append(all, requests(r.list(ctx, "", index.ChannelByID, id))...)
	}
	return all
}

// letGo lets through a channel that is gone, or that has another counterpart than before.
var letGo = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*v1alpha1.DiscordChannel).Status.ChannelID, e.ObjectNew.(*v1alpha1.DiscordChannel).Status.ChannelID
		return before != "" && before != after
	},
}

// groupMoved lets through a group that came or went, or whose category is another one.
var groupMoved = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, after := e.ObjectOld.(*v1alpha1.DiscordGroup), e.ObjectNew.(*v1alpha1.DiscordGroup)
	return before.Status.GroupID != after.Status.GroupID || before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero()
}}

// serverMoved lets through a server that came or went, or that became available or ceased to be.
var serverMoved = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, after := e.ObjectOld.(*v1alpha1.DiscordServer), e.ObjectNew.(*v1alpha1.DiscordServer)
	return before.Status.ServerID != after.Status.ServerID || available(before) != available(after) ||
		before.Spec.TokenSecretRef != after.Spec.TokenSecretRef
}}

func available(s *v1alpha1.DiscordServer) bool {
	return meta.IsStatusConditionTrue(s.Status.Conditions, conditions.TypeAvailable)
}
