// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/conditions"
)

// resume is how a message about a paused object ends.
const resume = "Remove the annotation " + v1alpha1.PausedAnnotation + " to resume."

// Paused reports whether a user has paused an object.
func Paused(o client.Object) bool { return o.GetAnnotations()[v1alpha1.PausedAnnotation] == "true" }

// PausedIssue is what keeps a paused object from matching its spec, if something is to be changed for
// it; nil where nothing is.
func PausedIssue(o client.Object, pending bool) []conditions.Issue {
	if Finalized(o) && !pending {
		return nil
	}
	return []conditions.Issue{*conditions.Progressing(v1alpha1.ReasonPaused,
		"The object is paused and does not match its spec. %s", resume)}
}

// PausedDeletion is what keeps a deleted object that is paused.
func PausedDeletion() conditions.Issue {
	return *conditions.Degraded(v1alpha1.ReasonPaused,
		"The object is being deleted and is paused, so nothing is deleted on Discord. %s", resume)
}

// setPaused says of a paused object that it is, also where it matches its spec.
func setPaused(o Object) {
	now := slices.Clone(o.GetConditions())
	conditions.SetPaused(&now, o.GetGeneration(), Paused(o), "The object is paused: nothing is changed for it. "+resume)
	o.SetConditions(now)
}
