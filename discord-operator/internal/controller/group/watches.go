// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/lifecycle"
	"jutsu.com/operators/discord-operator/internal/kube/index"
)

func (r *Reconciler) ofServer(ctx context.Context, server client.Object) []reconcile.Request {
	groups, name := &v1alpha1.DiscordGroupList{}, client.ObjectKeyFromObject(server).String()
	return index.Requests(ctx, r.Client, groups, "", index.GroupByServer, name)
}

// New labels may end the wait of a deleted group that selects namespaces by label.
func (r *Reconciler) ofNamespace(ctx context.Context, namespace client.Object) []reconcile.Request {
	requests := func(namespace, by, value string) []reconcile.Request {
		return index.Requests(ctx, r.Client, &v1alpha1.DiscordGroupList{}, namespace, by, value)
	}
	return append(requests(namespace.GetName(), "", ""),
		requests("", index.BySelector, string(v1alpha1.FromSelector))...)
}

func ofChannel(_ context.Context, o client.Object) []reconcile.Request {
	ref := o.(*v1alpha1.DiscordChannel).Spec.GroupRef
	if ref == nil {
		return nil
	}
	return []reconcile.Request{{NamespacedName: ref.In(o.GetNamespace())}}
}

// leavesGroup selects channels for which a deleted group no longer waits.
var leavesGroup = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		before := e.ObjectOld.(*v1alpha1.DiscordChannel).Spec.GroupRef
		after := e.ObjectNew.(*v1alpha1.DiscordChannel).Spec.GroupRef
		ended := !lifecycle.Ended(e.ObjectOld) && lifecycle.Ended(e.ObjectNew)
		return before != nil && (ended || after == nil || *before != *after)
	},
}
