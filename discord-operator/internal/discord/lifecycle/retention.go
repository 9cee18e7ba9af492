// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/conditions"
)

// NoRetention is why a deleted object may not leave its resource on Discord, where refused is why its
// namespace may leave nothing; nil where it may. It always may leave what the operator has not created
// for it, or may not have.
func (r *Resources) NoRetention(o status.Object, refused *conditions.Issue) *conditions.Issue {
	if i := r.Kind.Identity(o); i.Adopted || i.guessed(i.StatusID) || !r.Owns(o) {
		return nil
	}
	return refused
}

// IsAdopted reports whether the resource was there before, and not created for the object.
func (b *Binding) IsAdopted(results Results) bool {
	live := results.Live
	return live != nil && !results.Created && (b.Adopted || b.Identity.Adopted && b.StatusID == live.GetID())
}

// unretained is why a deletion waits that would leave on Discord what may not stay there; nil for
// nothing. Who claims it too must not become a way to leave it: the claim may be given up.
func unretained(retained bool, b Binding) *conditions.Issue {
	switch {
	case b.NoRetention == nil || b.Guessed || b.Mismatch != nil || b.Live == nil:
		return nil //nolint:nilerr // a mismatch is no error of this call
	case retained:
		return b.NoRetention
	case b.ClaimedHere:
		return conditions.Degraded(v1alpha1.ReasonNotAllowed,
			"The object is being deleted, and %s claims what it has on Discord too. Delete that object first: %s",
			b.ClaimedBy, b.NoRetention.Message)
	}
	return nil
}
