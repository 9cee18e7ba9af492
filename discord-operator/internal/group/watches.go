// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/index"
)

func (r *Reconciler) ofServer(ctx context.Context, server client.Object) []reconcile.Request {
	groups := &v1alpha1.DiscordGroupList{}
	return index.Requests(ctx, r.Client, groups, server.GetNamespace(), index.GroupByServer, server.GetName())
}

func ofChannel(_ context.Context, o client.Object) []reconcile.Request {
	ref := o.(*v1alpha1.DiscordChannel).Spec.GroupRef
	if ref == nil {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: ref.Name}}}
}

// left lets through a channel that leaves its group: a deleted group waits for that.
var left = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		before := e.ObjectOld.(*v1alpha1.DiscordChannel).Spec.GroupRef
		after := e.ObjectNew.(*v1alpha1.DiscordChannel).Spec.GroupRef
		return before != nil && (after == nil || *before != *after)
	},
}
