// SPDX-License-Identifier: Apache-2.0

package cnpg

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/optionalkinds"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// Removal deletes an object of a Dojo that is being deleted with its data.
type Removal struct {
	Kind    string
	Live    client.Object
	Message string
	// Desired is the object with the new reclaim policy, to write before the deletion, or nil.
	Desired *unstructured.Unstructured
}

// Drop returns a step that deletes the object, and blocks until the object is gone.
func (r Removal) Drop(in Input) (step Step) {
	since, deleted := in.Now, r.Live.GetDeletionTimestamp()
	if deleted != nil {
		since = deleted.Time
	} else if r.Desired != nil {
		step = Write(Sync(in, r.Live, r.Desired))
	}
	if deleted == nil && len(step.Apply) == 0 {
		step.Delete = []apply.Deletion{apply.Delete(r.Kind, r.Live)}
	}
	what := fmt.Sprintf("the %s %s to be deleted", r.Kind, r.Live.GetName())
	if r.Message != "" {
		what += "; CloudNativePG reports: " + r.Message
	}
	step.Blocks = Deleting(in.Now, since, in.Deadline, what, fmt.Sprintf("See `kubectl describe %s %s -n %s`, and "+
		"check that CloudNativePG runs and Postgres can be reached. To keep the data whose object is not being deleted yet, "+
		"set spec.postgres.reclaimPolicy to Retain.",
		ownership.Resource(r.Kind), r.Live.GetName(), r.Live.GetNamespace()))
	return step
}

// Deleting returns the issue of a deletion that waits, or [DeletionStalled] after the deadline.
// The argument what describes the awaited event.
func Deleting(now, since time.Time, deadline time.Duration, what, remedy string) *conditions.Issue {
	return conditions.WaitUntil(now, since, deadline, conditions.Progressing(corev1api.ReasonDeletingDatabase,
		"The Dojo is being deleted with its data. Waiting for %s.", what), DeletionStalled(what, remedy))
}

// DeletionStalled returns the issue of a deletion that has waited past its deadline.
func DeletionStalled(what, remedy string) *conditions.Issue {
	return conditions.Degraded(corev1api.ReasonDeletionStalled,
		"The Dojo is being deleted with its data, and has waited too long for %s. %s", what, remedy)
}

// MissingKind returns the issue of a deletion that needs a kind that is not installed.
func MissingKind(kind optionalkinds.Kind, what, otherwise string) *conditions.Issue {
	return conditions.Degraded(corev1api.ReasonCloudNativePGNotInstalled,
		"This cluster does not have the kind %s of CloudNativePG, so %s. Install "+
			"CloudNativePG again (https://cloudnative-pg.io), %s.", kind.Kind, what, otherwise)
}
