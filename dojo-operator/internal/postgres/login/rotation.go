// SPDX-License-Identifier: Apache-2.0

package login

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/conditions"
)

// Rotation is the state of a password rotation. Next differs from Current only during a rotation.
type Rotation struct {
	Current, Next cnpg.Login
	// Postponed reports whether a requested rotation waits until the former login is retired.
	Postponed bool
}

// Involves reports whether a login is in use, or is prepared for use.
func (r Rotation) Involves(l cnpg.Login) bool { return l == r.Current || l == r.Next }

// RotationOf derives the rotation from the Dojo's annotation that requests it and from both logins.
func RotationOf(dojo *corev1api.Dojo, s State) Rotation {
	r := Rotation{Current: s.Current, Next: s.Current}
	if !s.Connected || !rotationRequested(dojo, s.Logins[r.Current].Secret) {
		return r
	}
	other := r.Current.Other()
	made := s.Logins[other].Secret
	prepared := ownership.Holds(dojo, made) && !isRetired(made) && !rotationRequested(dojo, made)
	if prepared || retired(dojo, s.Logins[other]) {
		r.Next = other
	} else {
		r.Postponed = true
	}
	return r
}

func mayLogIn(dojo *corev1api.Dojo, login Login) bool {
	return ownership.Holds(dojo, login.Role) && login.Role.Spec.Login
}

func retired(dojo *corev1api.Dojo, login Login) bool {
	if ownership.Holds(dojo, login.Secret) && !isRetired(login.Secret) {
		return false
	}
	return !ownership.Holds(dojo, login.Role) || !login.Role.Spec.Login && report(login.Role).Done()
}

// Source returns the login for the application: the next login if Postgres accepts it, else the
// current login.
func Source(dojo *corev1api.Dojo, s State, databaseID string) cnpg.Login {
	r := RotationOf(dojo, s)
	if next := s.Logins[r.Next]; mayLogIn(dojo, next) && ownership.Holds(dojo, next.Secret) && report(next.Role).Done() &&
		hasPassword(next) && (r.Next == cnpg.Owner || actsAsOwner(next.Role, databaseID)) {
		return r.Next
	}
	return r.Current
}

// Retires reports whether the former login must still be retired.
func Retires(dojo *corev1api.Dojo, s State) bool {
	r := RotationOf(dojo, s)
	other := r.Current.Other()
	return !r.Involves(other) && !retired(dojo, s.Logins[other])
}

func inUse(dojo *corev1api.Dojo, s State, in Input) string {
	current := RotationOf(dojo, s).Current
	switch {
	case in.Outdated != "":
		return "pods may use it: " + in.Outdated
	case len(s.Users) > 0:
		return fmt.Sprintf("other Dojos use its Secret %s: %s. %s", current.Other().ObjectName(dojo),
			strings.Join(s.Users, ", "), changeUsers(s.Users, current.ObjectName(dojo)))
	case len(s.Leaving) > 0:
		return "pods of other Dojos may use it: " + strings.Join(s.Leaving, ", ")
	}
	return ""
}

// changeUsers says how other Dojos get the new Secret. A name with a slash belongs to a Dojo in
// another namespace. That Dojo may use the new Secret only if the Secret's annotation allows it.
func changeUsers(users []string, secret string) string {
	if slices.ContainsFunc(users, func(name string) bool { return strings.Contains(name, "/") }) {
		return fmt.Sprintf("Share the Secret %[1]s with the namespaces of these Dojos by its annotation "+
			"%[2]s. Then set their spec.credentialsRef.name to %[1]s", secret, corev1api.AllowedNamespacesAnnotation)
	}
	return "Set their spec.credentialsRef.name to " + secret
}

func retire(dojo *corev1api.Dojo, s State, in Input) cnpg.Step {
	l, login := in.Login, s.Logins[in.Login]
	if inUse(dojo, s, in) != "" || l == cnpg.Second && login.Secret == nil && login.Role == nil {
		return cnpg.Step{}
	}
	var step cnpg.Step
	if login.Secret == nil || ownership.Holds(dojo, login.Secret) {
		step = cnpg.Write(rotated(cnpg.After(dojo, l, planRetired(dojo, s, in))))
	}
	if login.Role == nil || ownership.Holds(dojo, login.Role) {
		step = step.Then(cnpg.Write(cnpg.After(dojo, l, cnpg.Sync(in.Input, login.Role, For(dojo, l, false, login.Role)))))
	}
	return step
}

const leavingRetry = 5 * time.Second

// PlanRetirement reports an issue until the former login is retired.
func PlanRetirement(dojo *corev1api.Dojo, s State, in Input) (step cnpg.Step) {
	if !Retires(dojo, s) {
		return step
	}
	r := RotationOf(dojo, s)
	former, current := r.Current.Other().SQLName(dojo), r.Current.SQLName(dojo)
	what, later := "Waiting until Postgres refuses the login "+former, ""
	if use := inUse(dojo, s, in); use != "" {
		what = "The login " + former + " stays valid while " + use
	}
	if r.Postponed {
		later = " After that, the password is rotated again, as requested."
	}
	message := fmt.Sprintf("The application has changed from the login %s to %s. %s.%s",
		former, current, what, later)
	object := "end of the login " + former
	step.Incomplete = conditions.WaitUntil(in.Now, dojo.WaitingSince(object, in.Now), in.Deadline,
		conditions.Progressing(corev1api.ReasonRotatingPassword, "%s", message).For(object),
		conditions.Degraded(corev1api.ReasonRotatingPassword,
			"%s It has been like this for more than %s. See `kubectl dojo tree %s -n %s`, and "+
				"`kubectl describe databaseroles.postgresql.cnpg.io %s -n %[4]s`.",
			message, in.Deadline, dojo.Name, dojo.Namespace, r.Current.Other().ObjectName(dojo)).For(object))
	if len(s.Leaving) > 0 { // pods of other Dojos cause no reconcile of this Dojo
		step.Incomplete = step.Incomplete.After(leavingRetry)
	}
	return step
}
