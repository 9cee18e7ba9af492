// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/dojo-operator/internal/postgres/password"
	"jutsu.com/operators/libs/conditions"
)

// turn says which login the application has, and which it should have.
type turn struct {
	// current is the one that it has, next the one that it gets: the other while a rotation prepares it.
	current, next cnpg.Login
	// postponed is whether a rotation is requested that has to wait: pods may still have the other login.
	postponed bool
}

// involves reports whether a login is of use, and not to be retired.
func (t turn) involves(l cnpg.Login) bool { return l == t.current || l == t.next }

// applicationOf is what the application has of the database, whose credentials were copied from the
// Secret of this name. Where it has none, no pod can be disturbed, and the login is the one that may
// log in: that of a Dojo that was deleted and is created again.
func applicationOf(d *corev1api.Dojo, s *State, source string) (a Application) {
	for _, l := range []cnpg.Login{cnpg.Owner, cnpg.Second} {
		if source == l.ObjectName(d) {
			return Application{Connected: true, Login: l}
		}
	}
	if mayLogIn(d, s.Logins[cnpg.Second]) && !mayLogIn(d, s.Logins[cnpg.Owner]) {
		a.Login = cnpg.Second
	}
	return a
}

func mayLogIn(d *corev1api.Dojo, login Login) bool {
	return ownership.Holds(d, login.Role) && login.Role.Spec.Login
}

// turnOf finds out whose turn it is. While the application has credentials, a requested password is
// that of the other login, once that is retired. All of it is in the objects: the application's Secret
// says whose credentials it has, and a password for which request it was made.
func turnOf(d *corev1api.Dojo, s *State) turn {
	t := turn{current: s.Application.Login, next: s.Application.Login}
	if !s.Application.Connected || !password.RotationRequested(d, s.Logins[t.current].Secret) {
		return t
	}
	other := t.current.Other()
	made := s.Logins[other].Secret
	prepared := ownership.Holds(d, made) && !password.IsRetired(made) && !password.RotationRequested(d, made)
	if prepared || retired(d, s.Logins[other]) {
		t.next = other
	} else {
		t.postponed = true
	}
	return t
}

// retired reports whether Postgres refuses a login, and its former password is gone. What is not the
// Dojo's is not its login.
func retired(d *corev1api.Dojo, login Login) bool {
	if ownership.Holds(d, login.Secret) && !password.IsRetired(login.Secret) {
		return false
	}
	return !ownership.Holds(d, login.Role) || !login.Role.Spec.Login && roleSays(login.Role).done()
}

// Source is the login whose credentials the application should have: the next one from when Postgres
// has all of it, so that each pod has credentials that Postgres accepts at any time.
func Source(d *corev1api.Dojo, s State) (name string, secret *metav1.PartialObjectMetadata) {
	l := sourceOf(d, &s)
	return l.ObjectName(d), s.Logins[l].Secret
}

func sourceOf(d *corev1api.Dojo, s *State) cnpg.Login {
	t := turnOf(d, s)
	if next := s.Logins[t.next]; mayLogIn(d, next) && ownership.Holds(d, next.Secret) && roleSays(next.Role).done() &&
		hasPassword(next) && (t.next == cnpg.Owner || actsAsOwner(next.Role, s)) {
		return t.next
	}
	return t.current
}

// Retires reports whether the login that the application had before is to be retired: as soon as no
// pod has it any more.
func Retires(d *corev1api.Dojo, s State) bool {
	t := turnOf(d, &s)
	other := t.current.Other()
	return !t.involves(other) && !retired(d, s.Logins[other])
}

// retire takes the password and the right to log in from the login that the application had before.
func (w *way) retire(l cnpg.Login) {
	login := w.state.Logins[l]
	if w.state.Application.Behind != "" || l == cnpg.Second && login.Secret == nil && login.Role == nil {
		return
	}
	if login.Secret == nil || ownership.Holds(w.dojo, login.Secret) {
		w.turnLogin(l, planRetired(w.dojo, w.state, l))
	}
	if login.Role == nil || ownership.Holds(w.dojo, login.Role) {
		w.writeLogin(l, sync(w.state, login.Role, roleFor(w.dojo, l, false, login.Role)))
	}
}

// former waits until the login that the application had before is retired. Before that, a rotation
// has no login to turn to.
func (w *way) former() *conditions.Issue {
	if !Retires(w.dojo, w.state) {
		return nil
	}
	name := w.turn.current.Other().SQLName(w.dojo)
	what, later := "Waiting until Postgres refuses it", ""
	if behind := w.state.Application.Behind; behind != "" {
		what = "It stays valid while pods may have it: " + behind
	}
	if w.turn.postponed {
		later = " The password is rotated again after that."
	}
	message := fmt.Sprintf("The application has turned from the login %s to %s. %s.%s",
		name, w.turn.current.SQLName(w.dojo), what, later)
	object := "end of the login " + name
	return conditions.WaitUntil(w.state.Now, w.dojo.WaitingSince(object, w.state.Now), w.config.Deadline,
		conditions.Progressing(corev1api.ReasonRotatingPassword, "%s", message).For(object),
		conditions.Degraded(corev1api.ReasonRotatingPassword,
			"%s It has been like this for more than %s. See the pods, and `kubectl describe databaserole %s`.",
			message, w.config.Deadline, w.turn.current.Other().ObjectName(w.dojo)).For(object))
}
