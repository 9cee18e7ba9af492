// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/issues"
	"jutsu.com/operators/libs/conditions"
)

func resume(o client.Object) string {
	return "To resume: `" + issues.Annotate(o, v1alpha1.PausedAnnotation+"-") + "`."
}

// Paused reports whether a user has paused an object.
func Paused(o client.Object) bool { return o.GetAnnotations()[v1alpha1.PausedAnnotation] == "true" }

// PausedIssue returns an issue if a paused object has pending changes or no finalizer. Otherwise,
// it returns nil.
func PausedIssue(o client.Object, pending bool) []conditions.Issue {
	if Finalized(o) && !pending {
		return nil
	}
	return []conditions.Issue{*conditions.Progressing(v1alpha1.ReasonPaused,
		"The object is paused and does not match its spec. %s", resume(o))}
}

func pausedDeletion(o client.Object) string {
	return "The object is being deleted and is paused, so nothing is deleted on Discord. To undo the deletion: `" +
		issues.Undelete(o) + "`. To continue the deletion: `" +
		issues.Annotate(o, v1alpha1.PausedAnnotation+"-") + "`. The operator then also deletes the object's " +
		"resources on Discord with all their content, except resources that spec.deletionPolicy retains."
}

// PausedDeletion returns the issue of a paused object that is being deleted.
func PausedDeletion(o client.Object) conditions.Issue {
	return *conditions.Degraded(v1alpha1.ReasonPaused, "%s", pausedDeletion(o))
}

func setPaused(o Object) {
	conds, message := slices.Clone(o.GetConditions()), "The object is paused: nothing is changed for it. "+resume(o)
	if !o.GetDeletionTimestamp().IsZero() {
		message = pausedDeletion(o)
	}
	conditions.SetPaused(&conds, o.GetGeneration(), Paused(o), message)
	o.SetConditions(conds)
}
