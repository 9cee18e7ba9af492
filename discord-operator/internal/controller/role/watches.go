// SPDX-License-Identifier: Apache-2.0

package role

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/kube/index"
)

func (r *Reconciler) requests(ctx context.Context, namespace, by, value string) []reconcile.Request {
	return index.Requests(ctx, r.Client, &v1alpha1.DiscordRoleList{}, namespace, by, value)
}

func (r *Reconciler) ofServer(ctx context.Context, server client.Object) []reconcile.Request {
	return r.requests(ctx, "", index.RoleByServer, client.ObjectKeyFromObject(server).String())
}

func (r *Reconciler) ofNamespace(ctx context.Context, namespace client.Object) []reconcile.Request {
	return r.requests(ctx, namespace.GetName(), "", "")
}

// ofSibling returns nothing while a sibling is not created yet: its create causes another event.
func (r *Reconciler) ofSibling(ctx context.Context, o client.Object) []reconcile.Request {
	role := o.(*v1alpha1.DiscordRole)
	server := role.Spec.ServerRef.In(role.Namespace).String()
	position, err := r.Resources.Position(ctx, role, index.RoleByServer, server)
	if err == nil && (position == nil || position.AwaitsSiblings) {
		return nil
	}
	return r.requests(ctx, role.Namespace, index.RoleByServer, server)
}
