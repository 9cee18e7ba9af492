// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/discord-operator/internal/kube/status"
)

type claim struct {
	name     types.NamespacedName
	uid      types.UID
	created  time.Time
	inStatus bool // whether the status names the resource, not only the spec
	released bool // whether the object has only observed the resource since it last managed it
	managed  bool // whether the object has a finalizer, so that it may have written to the resource
	deleted  bool
}

func (c claim) nameFor(namespace string) string {
	if c.name.Namespace != namespace {
		return "an object of another namespace"
	}
	return c.name.String()
}

func winner(claims []claim) claim {
	return slices.MinFunc(claims, func(a, b claim) int {
		age := a.created.Compare(b.created)
		return cmp.Or(trueFirst(a.inStatus, b.inStatus), trueFirst(b.released, a.released),
			trueFirst(a.managed, b.managed), age, cmp.Compare(a.uid, b.uid))
	})
}

func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// claims ignores specs of other namespaces, so that a tenant cannot block others. It also ignores
// objects whose deletion has ended.
func (r *Resources) claims(ctx context.Context, namespace, id string) ([]claim, error) {
	all, err := r.Listed(ctx, "", r.Kind.ByID, id)
	var claims []claim
	for _, o := range all {
		identity := r.Kind.Identity(o)
		inStatus := identity.StatusID == id
		if Ended(o) || identity.Observed && (identity.Released || !inStatus) {
			continue
		}
		if inStatus || o.GetNamespace() == namespace {
			claims = append(claims, claim{
				name: client.ObjectKeyFromObject(o), uid: o.GetUID(), created: o.GetCreationTimestamp().Time,
				inStatus: inStatus, released: identity.Released, managed: status.Finalized(o),
				deleted: !o.GetDeletionTimestamp().IsZero(),
			})
		}
	}
	return claims, err
}

// Ended reports whether the deletion of an object has ended, so that the operator never changes
// anything for the object again. A finalizer of another program may still hold the object.
func Ended(o client.Object) bool { return !o.GetDeletionTimestamp().IsZero() && !status.Finalized(o) }

// Released reports whether the object has given up its resource because the spec asks only to
// observe it. The result stays true until a reconcile that may change the resource binds it again.
func (k *Kind) Released(o status.Object, results Results) bool {
	i := k.Identity(o)
	return i.Observed || i.Released && results.Live == nil
}
