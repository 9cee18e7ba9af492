// SPDX-License-Identifier: Apache-2.0

package login

import (
	"fmt"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/conditions"
)

// Rotation is the login that the application has, and the next one while that is prepared.
type Rotation struct {
	Current, Next cnpg.Login
	// Postponed reports whether a rotation waits for pods that may still have the other login.
	Postponed bool
}

// Involves reports whether a login is in use or prepared.
func (r Rotation) Involves(l cnpg.Login) bool { return l == r.Current || l == r.Next }

// The application's Secret names its source, and each password the request that it was made for.
func RotationOf(d *corev1api.Dojo, s State) Rotation {
	r := Rotation{Current: s.Current, Next: s.Current}
	if !s.Connected || !rotationRequested(d, s.Logins[r.Current].Secret) {
		return r
	}
	other := r.Current.Other()
	made := s.Logins[other].Secret
	prepared := ownership.Holds(d, made) && !isRetired(made) && !rotationRequested(d, made)
	if prepared || retired(d, s.Logins[other]) {
		r.Next = other
	} else {
		r.Postponed = true
	}
	return r
}

func mayLogIn(d *corev1api.Dojo, login Login) bool {
	return ownership.Holds(d, login.Role) && login.Role.Spec.Login
}

func retired(d *corev1api.Dojo, login Login) bool {
	if ownership.Holds(d, login.Secret) && !isRetired(login.Secret) {
		return false
	}
	return !ownership.Holds(d, login.Role) || !login.Role.Spec.Login && report(login.Role).Done()
}

// Source returns the login to use. It changes only once Postgres accepts the next login.
func Source(d *corev1api.Dojo, s State, databaseID string) cnpg.Login {
	r := RotationOf(d, s)
	if next := s.Logins[r.Next]; mayLogIn(d, next) && ownership.Holds(d, next.Secret) && report(next.Role).Done() &&
		hasPassword(next) && (r.Next == cnpg.Owner || actsAsOwner(next.Role, databaseID)) {
		return r.Next
	}
	return r.Current
}

// Retires reports whether the former login is to be retired.
func Retires(d *corev1api.Dojo, s State) bool {
	r := RotationOf(d, s)
	other := r.Current.Other()
	return !r.Involves(other) && !retired(d, s.Logins[other])
}

func retire(d *corev1api.Dojo, s State, in Input) cnpg.Step {
	l, login := in.Login, s.Logins[in.Login]
	if in.Outdated != "" || l == cnpg.Second && login.Secret == nil && login.Role == nil {
		return cnpg.Step{}
	}
	var step cnpg.Step
	if login.Secret == nil || ownership.Holds(d, login.Secret) {
		step = cnpg.Write(rotated(cnpg.After(d, l, planRetired(d, s, in))))
	}
	if login.Role == nil || ownership.Holds(d, login.Role) {
		step = step.Then(cnpg.Write(cnpg.After(d, l, cnpg.Sync(in.Input, login.Role, For(d, l, false, login.Role)))))
	}
	return step
}

// PlanRetirement waits until the former login is retired. No other rotation begins before.
func PlanRetirement(d *corev1api.Dojo, s State, in Input) (step cnpg.Step) {
	if !Retires(d, s) {
		return step
	}
	r := RotationOf(d, s)
	former, current := r.Current.Other(), r.Current.SQLName(d)
	what, later := "Waiting until Postgres refuses it", ""
	if in.Outdated != "" {
		what = "It stays valid while pods may have it: " + in.Outdated
	}
	if r.Postponed {
		later = " The password is rotated again after that."
	}
	message := fmt.Sprintf("The application has turned from the login %s to %s. %s.%s",
		former.SQLName(d), current, what, later)
	object := "end of the login " + former.SQLName(d)
	step.Incomplete = conditions.WaitUntil(in.Now, d.WaitingSince(object, in.Now), in.Deadline,
		conditions.Progressing(corev1api.ReasonRotatingPassword, "%s", message).For(object),
		conditions.Degraded(corev1api.ReasonRotatingPassword,
			"%s It has been like this for more than %s. See the pods, and `kubectl describe databaserole %s`.",
			message, in.Deadline, former.ObjectName(d)).For(object))
	return step
}
