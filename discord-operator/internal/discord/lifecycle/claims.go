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

// claim is an object whose status or spec names an external resource as its own.
type claim struct {
	name    types.NamespacedName
	uid     types.UID
	created time.Time
	holds   bool // the status names it, and not only the spec
	managed bool // it may have written to it, and not only observed it
	deleted bool // the object is being deleted
}

// from is what the object is called for users of a namespace, who learn no names of another one.
func (c claim) from(namespace string) string {
	if c.name.Namespace != namespace {
		return "an object of another namespace"
	}
	return c.name.String()
}

// winner returns whose the resource is, of all that claim it: an object that has it comes before
// one that wants it, then one that has managed it before one that has only observed it, then the older one.
func winner(claims []claim) claim {
	return slices.MinFunc(claims, func(a, b claim) int {
		age := a.created.Compare(b.created)
		return cmp.Or(trueFirst(a.holds, b.holds), trueFirst(a.managed, b.managed), age, cmp.Compare(a.uid, b.uid))
	})
}

// trueFirst compares bools; true sorts first.
func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// claims returns the objects that claim a resource. Of other namespaces only those count that have
// it: one DiscordServer manages a guild, so a mere wish from elsewhere must not block others.
func (r *Resources) claims(ctx context.Context, namespace, id string) ([]claim, error) {
	all, err := r.Listed(ctx, "", r.Kind.ByID, id)
	var claims []claim
	for _, o := range all {
		identity := r.Kind.Identity(o)
		if identity.Observed {
			continue // it claims nothing
		}
		if holds := identity.StatusID == id; holds || o.GetNamespace() == namespace {
			claims = append(claims, claim{
				name: client.ObjectKeyFromObject(o), uid: o.GetUID(), created: o.GetCreationTimestamp().Time,
				holds: holds, managed: status.Finalized(o), deleted: !o.GetDeletionTimestamp().IsZero(),
			})
		}
	}
	return claims, err
}
