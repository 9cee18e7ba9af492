package server

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/bot"
	"jutsu.com/operators/discord-operator/internal/index"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

// rest is how long a change of a group or a channel may wait until its server is looked at: hundreds of them come at once, and the server's
// status would be written for each.
const rest = 2 * time.Second

// later enqueues the server of a child after a rest, so that many changes cost one pass.
func later(of func(context.Context, client.Object) string) handler.EventHandler {
	put := func(ctx context.Context, o client.Object, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		if name := of(ctx, o); name != "" {
			q.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}}, rest)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			put(ctx, e.Object, q)
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			put(ctx, e.ObjectOld, q) // it may have moved away
			put(ctx, e.ObjectNew, q)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			put(ctx, e.Object, q)
		},
	}
}

func (r *Reconciler) ofGroup(_ context.Context, o client.Object) string {
	return o.(*v1alpha1.DiscordGroup).Spec.ServerRef.Name
}

func (r *Reconciler) ofChannel(ctx context.Context, o client.Object) string {
	c := o.(*v1alpha1.DiscordChannel)
	if c.Spec.ServerRef != nil {
		return c.Spec.ServerRef.Name
	}
	if c.Status.ServerRef != nil {
		return c.Status.ServerRef.Name
	}
	var group v1alpha1.DiscordGroup
	if c.Spec.GroupRef == nil || r.Client.Get(ctx, types.NamespacedName{Namespace: c.Namespace, Name: c.Spec.GroupRef.Name}, &group) != nil {
		return ""
	}
	return group.Spec.ServerRef.Name
}

// childMoved lets through a group or channel that came or went, on Discord or here, or whose spec changed: the server counts them, needs
// permissions for them, and may wait for one to exist or to be gone.
var childMoved = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() || counterpartOf(e.ObjectOld) != counterpartOf(e.ObjectNew)
}}

func counterpartOf(o client.Object) string {
	switch o := o.(type) {
	case *v1alpha1.DiscordGroup:
		return o.Status.GroupID
	case *v1alpha1.DiscordChannel:
		return o.Status.ChannelID
	}
	return ""
}

// list returns the servers that an index names, without copying them.
func (r *Reconciler) list(ctx context.Context, namespace, by, value string) []v1alpha1.DiscordServer {
	var servers v1alpha1.DiscordServerList
	if err := r.Client.List(ctx, &servers, client.InNamespace(namespace), client.MatchingFields{by: value}, client.UnsafeDisableDeepCopy); err != nil {
		logf.FromContext(ctx).Error(err, "list servers", "by", by)
	}
	return servers.Items
}

func requests(servers []v1alpha1.DiscordServer) []reconcile.Request {
	all := make([]reconcile.Request, 0, len(servers))
	for i := range servers {
		all = append(all, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&servers[i])})
	}
	return all
}

func (r *Reconciler) ofSecret(ctx context.Context, secret client.Object) []reconcile.Request {
	return requests(r.list(ctx, secret.GetNamespace(), index.ServerBySecret, secret.GetName()))
}

// onEvent enqueues the servers that something on Discord is about; what becomes of single channels only changes their number, which may wait.
func (r *Reconciler) onEvent(ctx context.Context, e bot.Event, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	var servers []v1alpha1.DiscordServer
	after := time.Duration(0)
	switch e.Object.Kind {
	case guildcache.EventGuild:
		servers = r.list(ctx, "", index.ServerByGuild, e.Object.GuildID)
	case guildcache.EventChannel:
		servers, after = r.list(ctx, "", index.ServerByGuild, e.Object.GuildID), rest
	case bot.EventTokenRefused: // whose token it was is seen by looking
		var all v1alpha1.DiscordServerList
		if err := r.Client.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
			logf.FromContext(ctx).Error(err, "list servers")
		}
		servers = all.Items
	default:
	}
	for _, request := range requests(servers) {
		q.AddAfter(request, after)
	}
}

// rivals returns the other servers that claim the same guild.
func (r *Reconciler) rivals(ctx context.Context, o client.Object) []reconcile.Request {
	s := o.(*v1alpha1.DiscordServer)
	var all []reconcile.Request
	for _, id := range []string{s.Spec.ServerID, s.Status.ServerID} {
		if id != "" {
			all = append(all, requests(r.list(ctx, "", index.ServerByGuild, id))...)
		}
	}
	return all
}

// claimMoved lets through a server whose claim on a guild came, went or changed its weight.
var claimMoved = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*v1alpha1.DiscordServer), e.ObjectNew.(*v1alpha1.DiscordServer)
		return !equality.Semantic.DeepEqual(claim(before), claim(after)) || before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero()
	},
}

func available(s *v1alpha1.DiscordServer) bool {
	return meta.IsStatusConditionTrue(s.Status.Conditions, conditions.TypeAvailable)
}
