// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/conditions"
)

// NoRetention returns refused; nil if the resource is adopted, bound without proof, or missing.
func (r *Resources) NoRetention(o status.Object, refused *conditions.Issue) *conditions.Issue {
	if i := r.Kind.Identity(o); i.Adopted || i.guessed(i.StatusID) || !r.Owns(o) {
		return nil
	}
	return refused
}

// IsAdopted reports whether the resource existed before the object.
func (b *Binding) IsAdopted(results Results) bool {
	live := results.Live
	return live != nil && !results.Created && (b.Adopted || b.Identity.Adopted && b.StatusID == live.GetID())
}

// unretained returns an issue if the server forbids that the resource stays on Discord, but the
// object retains the resource, or only other objects of the same namespace claim it too.
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
