// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/kube/index"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

func (r *Reconciler) requests(ctx context.Context, namespace, by, value string) []reconcile.Request {
	return index.Requests(ctx, r.Client, &v1alpha1.DiscordChannelList{}, namespace, by, value)
}

func (r *Reconciler) ofGroup(ctx context.Context, group client.Object) []reconcile.Request {
	return r.requests(ctx, "", index.ChannelByGroup, client.ObjectKeyFromObject(group).String())
}

func (r *Reconciler) ofServer(ctx context.Context, server client.Object) []reconcile.Request {
	name := client.ObjectKeyFromObject(server).String()
	return append(r.requests(ctx, "", index.ChannelByServer, name), r.ofGroups(ctx, "", index.GroupByServer, name)...)
}

func (r *Reconciler) ofGroups(ctx context.Context, namespace, by, value string) (all []reconcile.Request) {
	for _, group := range index.Requests(ctx, r.Client, &v1alpha1.DiscordGroupList{}, namespace, by, value) {
		all = append(all, r.requests(ctx, "", index.ChannelByGroup, group.String())...)
	}
	return all
}

// New labels of a namespace may allow or forbid its channels, and the channels of its groups.
func (r *Reconciler) ofNamespace(ctx context.Context, namespace client.Object) []reconcile.Request {
	name := namespace.GetName()
	return append(r.requests(ctx, name, "", ""), r.ofGroups(ctx, name, "", "")...)
}

// ofSecret returns the owner of a Secret, and the channels that need a Secret of this name.
func (r *Reconciler) ofSecret(ctx context.Context, secret client.Object) []reconcile.Request {
	all := r.requests(ctx, secret.GetNamespace(), index.ChannelBySecret, secret.GetName())
	owner := metav1.GetControllerOfNoCopy(secret)
	if owner != nil && owner.Kind == Kind.Name && owner.APIVersion == v1alpha1.GroupVersion.String() {
		name := types.NamespacedName{Namespace: secret.GetNamespace(), Name: owner.Name}
		all = append(all, reconcile.Request{NamespacedName: name})
	}
	return all
}

// ofCategory enqueues a category's channels, because status.openTo compares them with the category.
func (r *Reconciler) ofCategory() handler.TypedEventHandler[guildcache.Event, reconcile.Request] {
	put := func(
		ctx context.Context, e event.TypedGenericEvent[guildcache.Event],
		q workqueue.TypedRateLimitingInterface[reconcile.Request],
	) {
		if id := e.Object.ChannelID; id != "" {
			for _, request := range r.ofGroups(ctx, "", index.GroupByID, id) {
				q.AddAfter(request, categoryChangeDelay)
			}
		}
	}
	return handler.TypedFuncs[guildcache.Event, reconcile.Request]{GenericFunc: put}
}

const categoryChangeDelay = time.Second

var groupChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, after := e.ObjectOld.(*v1alpha1.DiscordGroup), e.ObjectNew.(*v1alpha1.DiscordGroup)
	return before.Status.GroupID != after.Status.GroupID ||
		before.Status.GroupID != "" && before.Status.ObservedGeneration != after.Status.ObservedGeneration ||
		before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
		!equality.Semantic.DeepEqual(before.Spec.AllowedNamespaces, after.Spec.AllowedNamespaces)
}}
