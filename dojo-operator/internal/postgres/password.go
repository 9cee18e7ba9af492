// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/dojo-operator/internal/postgres/password"
	"jutsu.com/operators/libs/apply"
)

// planPassword returns the Secret of a login that is in use, where it has to be written: with a new
// password where there is none, where it is this login's turn, or where another client has put its own
// into our Secret.
func planPassword(d *corev1api.Dojo, s State, l cnpg.Login) *apply.Object {
	login := s.Logins[l]
	turns := password.RotationRequested(d, login.Secret) && (l != s.Application.Login || !s.Application.Connected)
	if !turns && password.InSync(d, l, login.Secret) {
		return nil
	}
	value, rotation := []byte(login.NewPassword), d.Annotations[corev1api.RotatePasswordAnnotation]
	if login.Secret != nil {
		before := login.Secret.GetAnnotations()[password.RotationAnnotation]
		kept := !turns && !password.IsRetired(login.Secret) && len(login.Password) > 0 &&
			apply.SecretInSync(ownership.FieldOwner, login.Secret, nil, []string{"password"})
		if kept {
			value = login.Password
		}
		if kept || rotation == "" {
			// A request that was met and removed is not new when it returns.
			rotation = before
		}
	}
	desired := password.For(d, l, value, map[string]string{password.RotationAnnotation: rotation})
	return apply.Sync(ownership.FieldOwner, login.Secret, apply.Typed(desired), s.Unchanged)
}

// planRetired returns the Secret of a login that is not in use, where it has to be written: with a
// password that is not handed out.
func planRetired(d *corev1api.Dojo, s State, l cnpg.Login) *apply.Object {
	login := s.Logins[l]
	if login.Secret != nil && password.IsRetired(login.Secret) && password.KeptInSync(d, l, login.Secret) {
		return nil
	}
	desired := password.For(d, l, []byte(login.NewPassword), map[string]string{password.RetiredAnnotation: "true"})
	return apply.Sync(ownership.FieldOwner, login.Secret, apply.Typed(desired), s.Unchanged)
}

// planKept returns the Secret of a login where it has to be written so that it stays.
func planKept(d *corev1api.Dojo, s State, l cnpg.Login) *apply.Object {
	if password.IsRetired(s.Logins[l].Secret) {
		return planRetired(d, s, l)
	}
	return planPassword(d, s, l)
}
