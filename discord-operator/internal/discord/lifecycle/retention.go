// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"slices"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/conditions"
)

// NoRetention returns refused; nil if the resource is adopted, bound without proof, or missing.
func (r *Resources) NoRetention(o status.Object, refused *conditions.Issue) *conditions.Issue {
	i, record := r.Kind.Identity(o), r.Records.Of(o.GetUID())
	if i.Adopted || record.Adopted || i.guessed(i.StatusID) || !r.Owns(o) {
		return nil
	}
	return refused
}

// createdForAnother reports whether the object of a tenant adopts a resource that the operator
// created for another object of a tenant. The resource then does not count as adopted. Otherwise a
// tenant could set the first object to Observe, and leave the resource on Discord by the second one.
func (r *Resources) createdForAnother(ctx context.Context, b Binding, id string) (bool, error) {
	if !b.Adopted || !b.foreign() {
		return false, nil
	}
	all, err := r.Listed(ctx, "", r.Kind.ByID, id)
	return slices.ContainsFunc(all, func(o status.Object) bool {
		i := r.Kind.Identity(o)
		created := i.StatusID == id && !i.Adopted && !i.guessed(id)
		return created && o.GetUID() != b.Object.GetUID() && o.GetNamespace() != b.ServerNamespace && !Ended(o)
	}), err
}

// IsAdopted reports whether the object got its resource by spec.adopt. It is false for a resource
// that the operator created for another object (see createdForAnother).
func (b *Binding) IsAdopted(results Results) bool {
	live, now := results.Live, b.Adopted && !b.ForAnother
	return live != nil && !results.Created && (now || b.Identity.Adopted && b.StatusID == live.GetID())
}

// unretained returns an issue if the server forbids that the resource stays on Discord, but it
// would stay: the object retains it, or other objects, all of the same namespace, claim it.
func (k *Kind) unretained(retained bool, b Binding) *conditions.Issue {
	switch {
	case b.NoRetention == nil || b.Guessed || b.Mismatch != nil || b.Live == nil:
		return nil //nolint:nilerr // a mismatch is no error of this call
	case retained:
		return b.NoRetention
	case b.ClaimedHere:
		return conditions.Degraded(v1alpha1.ReasonNotAllowed,
			"This object is being deleted, but %[1]s also claims its %[2]s on Discord. If nobody needs the %[2]s, delete "+
				"%[1]s first. %[3]s",
			b.ClaimedBy, k.Noun, b.NoRetention.Message)
	}
	return nil
}
