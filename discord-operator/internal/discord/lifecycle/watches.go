// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/kube/index"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/manager/fairqueue"
)

const firstBackoff, lastBackoff = 200 * time.Millisecond, time.Minute

// Each change of a role enqueues all objects of the guild, so roleChangeDelay batches changes.
const roleChangeDelay = time.Second

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// OfEvent enqueues the objects of the event's channel or role. If the event is not of a channel, it
// enqueues all objects of the guild.
func (r *Resources) OfEvent(ofServer handler.MapFunc) handler.TypedEventHandler[guildcache.Event, reconcile.Request] {
	put := func(ctx context.Context, e event.TypedGenericEvent[guildcache.Event], q queue) {
		switch e := e.Object; {
		case e.ChannelID != "":
			r.enqueueClaims(ctx, e.ChannelID, q)
		case e.RoleID != "":
			r.enqueueClaims(ctx, e.RoleID, q)
			r.enqueueGuild(ctx, e.GuildID, ofServer, q, roleChangeDelay)
		default:
			// An event of a refused token has no guild, so it enqueues nothing here. The server's
			// status reports the refusal.
			r.enqueueGuild(ctx, e.GuildID, ofServer, q, 0)
		}
	}
	return handler.TypedFuncs[guildcache.Event, reconcile.Request]{GenericFunc: put}
}

func (r *Resources) enqueueClaims(ctx context.Context, id string, q queue) {
	for _, request := range index.Requests(ctx, r.Cache, r.Kind.List(), "", r.Kind.ByID, id) {
		q.Add(request)
	}
}

func (r *Resources) enqueueGuild(ctx context.Context, id string, of handler.MapFunc, q queue, after time.Duration) {
	var servers v1alpha1.DiscordServerList
	if err := index.List(ctx, r.Cache, &servers, "", index.ServerByGuild, id); err != nil {
		logf.FromContext(ctx).Error(err, "find the servers of a guild")
	}
	for i := range servers.Items {
		for _, request := range of(ctx, &servers.Items[i]) {
			q.AddAfter(request, after)
		}
	}
}

// Rivals maps an object that has released its resource to all objects that claim this resource.
func (r *Resources) Rivals(ctx context.Context, o client.Object) (all []reconcile.Request) {
	for _, id := range r.Kind.Identity(o).claims() {
		all = append(all, index.Requests(ctx, r.Cache, r.Kind.List(), "", r.Kind.ByID, id)...)
	}
	return all
}

// Released selects objects that no longer have their former resource, or now only observe it. It
// also selects objects that were deleted, or whose deletion has ended.
func (r *Resources) Released() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, after := r.Kind.Identity(e.ObjectOld), r.Kind.Identity(e.ObjectNew)
			return !Ended(e.ObjectOld) && Ended(e.ObjectNew) ||
				before.StatusID != "" && (before.StatusID != after.StatusID || !before.Released && after.Released)
		},
	}
}

// OnDelete calls functions with the UID of each deleted object, even if it had no finalizer.
func OnDelete(forget ...func(types.UID)) handler.EventHandler {
	return handler.Funcs{DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ queue) {
		for _, f := range forget {
			f(e.Object.GetUID())
		}
	}}
}

// Bound selects objects with a new resource id. They missed the resource's events from before their
// status had the id.
func (r *Resources) Bound() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, after := r.Kind.Identity(e.ObjectOld).StatusID, r.Kind.Identity(e.ObjectNew).StatusID
			return after != "" && after != before
		},
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}

// RoleBound selects DiscordRoles that were deleted, got another role id, or got first conditions.
// It also selects a DiscordRole whose deletion begins without a role id: its siblings stop waiting.
var RoleBound = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*v1alpha1.DiscordRole), e.ObjectNew.(*v1alpha1.DiscordRole)
		noRole := after.Status.RoleID == "" && before.DeletionTimestamp.IsZero() && !after.DeletionTimestamp.IsZero()
		return noRole || before.Status.RoleID != after.Status.RoleID ||
			len(before.Status.Conditions) == 0 && len(after.Status.Conditions) > 0
	},
}

// OfRole maps a DiscordRole to the objects with overwrites for it.
func (r *Resources) OfRole(ctx context.Context, role client.Object) []reconcile.Request {
	return index.Requests(ctx, r.Cache, r.Kind.List(), role.GetNamespace(), index.ByRole, role.GetName())
}

// Options returns the options of all controllers. The queue serves namespaces round-robin.
func Options(workers int) controller.Options {
	backoff := workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstBackoff, lastBackoff)
	return controller.Options{MaxConcurrentReconciles: workers, RateLimiter: backoff, NewQueue: fairqueue.New}
}
