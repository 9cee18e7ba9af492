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
	inStatus bool // the status names it, not only the spec
	managed  bool // it has a finalizer: it may have written to the resource
	deleted  bool
}

// nameFor hides names of other namespaces.
func (c claim) nameFor(namespace string) string {
	if c.name.Namespace != namespace {
		return "an object of another namespace"
	}
	return c.name.String()
}

// winner prefers the object with the resource in its status, then a managing one, then the older.
func winner(claims []claim) claim {
	return slices.MinFunc(claims, func(a, b claim) int {
		age := a.created.Compare(b.created)
		return cmp.Or(trueFirst(a.inStatus, b.inStatus), trueFirst(a.managed, b.managed), age, cmp.Compare(a.uid, b.uid))
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

// claims returns the objects that claim a resource. The spec of another namespace does not count,
// because a tenant could block others.
func (r *Resources) claims(ctx context.Context, namespace, id string) ([]claim, error) {
	all, err := r.Listed(ctx, "", r.Kind.ByID, id)
	var claims []claim
	for _, o := range all {
		identity := r.Kind.Identity(o)
		if identity.Observed {
			continue
		}
		if inStatus := identity.StatusID == id; inStatus || o.GetNamespace() == namespace {
			claims = append(claims, claim{
				name: client.ObjectKeyFromObject(o), uid: o.GetUID(), created: o.GetCreationTimestamp().Time,
				inStatus: inStatus, managed: status.Finalized(o), deleted: !o.GetDeletionTimestamp().IsZero(),
			})
		}
	}
	return claims, err
}
