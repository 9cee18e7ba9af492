// SPDX-License-Identifier: Apache-2.0

package cnpg

import (
	"time"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/conditions"
)

// DeletionStalled is the issue with a Dojo that is being deleted with its data, and has waited for too
// long.
func DeletionStalled(what, remedy string) *conditions.Issue {
	return conditions.Degraded(corev1api.ReasonDeletionStalled,
		"The Dojo is being deleted with its data, and has waited for too long for %s. %s", what, remedy)
}

// Deleting is the issue with a Dojo that is being deleted with its data, and what it has waited for
// since a time. Past the deadline it says what to do.
func Deleting(now, since time.Time, deadline time.Duration, what, remedy string) *conditions.Issue {
	return conditions.WaitUntil(now, since, deadline, conditions.Progressing(corev1api.ReasonDeletingDatabase,
		"The Dojo is being deleted with its data. Waiting for %s.", what), DeletionStalled(what, remedy))
}
