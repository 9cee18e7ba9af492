// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// List reads objects without copying them, so do not modify them. An empty namespace means all
// namespaces. If by, the name of an index, is empty, List uses no index.
func List(ctx context.Context, c client.Reader, list client.ObjectList, namespace, by, value string) error {
	options := []client.ListOption{client.InNamespace(namespace), client.UnsafeDisableDeepCopy}
	if by != "" {
		options = append(options, client.MatchingFields{by: value})
	}
	if err := c.List(ctx, list, options...); err != nil {
		return fmt.Errorf("list %T by %s: %w", list, by, err)
	}
	return nil
}

// Requests returns a request for each object that List returns.
func Requests(
	ctx context.Context, c client.Reader, list client.ObjectList, namespace, by, value string,
) (all []reconcile.Request) {
	err := List(ctx, c, list, namespace, by, value)
	if err == nil {
		err = meta.EachListItem(list, func(item runtime.Object) error {
			all = append(all, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(item.(client.Object))})
			return nil
		})
	}
	if err != nil {
		logf.FromContext(ctx).Error(err, "find objects to reconcile")
	}
	return all
}
