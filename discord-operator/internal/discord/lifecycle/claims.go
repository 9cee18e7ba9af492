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

// nameFor returns the object's name for a message in a namespace. It hides the name of an object of
// another namespace.
func (c claim) nameFor(namespace string) string {
	if c.name.Namespace != namespace {
		return "an object of another namespace"
	}
	return c.name.String()
}

// winner returns the claim of the object that manages the resource. It prefers an object with the
// resource in its status, then an object that has not released it, then an object with a finalizer,
// then the oldest object.
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

// claims returns the objects with the resource in their status, and the objects of the namespace
// with the resource in their spec. It ignores the specs of other namespaces; otherwise a tenant
// could block other tenants by a spec. It ignores objects that only observe the resource.
func (r *Resources) claims(ctx context.Context, namespace, id string) ([]claim, error) {
	all, err := r.Listed(ctx, "", r.Kind.ByID, id)
	var claims []claim
	for _, o := range all {
		identity := r.Kind.Identity(o)
		inStatus := identity.StatusID == id
		if identity.Observed && (identity.Released || !inStatus) {
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

// Released reports whether an object has released its resource: its spec only observes the
// resource, or its status already says so and this reconcile has not bound the resource again.
func (k *Kind) Released(o status.Object, results Results) bool {
	i := k.Identity(o)
	return i.Observed || i.Released && results.Live == nil
}
