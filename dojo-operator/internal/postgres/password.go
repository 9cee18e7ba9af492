// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/apply"
)

const (
	// rotationAnnotation on the Secret with the password is the value of the Dojo's
	// RotatePasswordAnnotation for which it was made.
	rotationAnnotation = "core.jutsu.com/rotation"
	// retiredAnnotation on the Secret says that no client has the password in it.
	retiredAnnotation = "core.jutsu.com/retired"
	// reloadLabel on a Secret makes CloudNativePG follow its changes.
	reloadLabel = "cnpg.io/reload"
	port        = "5432"
)

// passwordKeys are the keys of the Secret with the password: what CloudNativePG writes for the
// owner of a database, so that it reads like any other source of credentials.
var passwordKeys = []string{"host", "port", "dbname", "user", "username", "password"}

// passwordFor is the Secret with the password of a login, with these annotations beside. It stays with
// the data: the Dojo owns it only where the data goes with the Dojo.
func passwordFor(
	d *corev1api.Dojo, l cnpg.Login, password []byte, annotations map[string]string,
) *corev1ac.SecretApplyConfiguration {
	user := []byte(l.SQLName(d))
	want := corev1ac.Secret(l.ObjectName(d), d.Namespace).
		WithLabels(passwordLabels(d)).
		WithAnnotations(annotations).
		WithType(corev1.SecretTypeBasicAuth).
		WithData(map[string][]byte{
			"host": []byte(cnpg.Host(d)), "port": []byte(port), "dbname": []byte(cnpg.SQLName(d)),
			"user": user, "username": user, "password": password,
		})
	if Reclaims(d) {
		want.WithOwnerReferences(ownership.Reference(d))
	}
	return want
}

func passwordLabels(d *corev1api.Dojo) map[string]string {
	l := ownership.Labels(d, ownership.Application)
	l[reloadLabel] = "true"
	return l
}

// passwordInSync reports, from metadata alone, whether the Secret of a login that is in use is as it
// should be, whatever its password was made for.
func passwordInSync(d *corev1api.Dojo, secret *metav1.PartialObjectMetadata) bool {
	return secret != nil && !isRetired(secret) && keptInSync(d, secret)
}

func keptInSync(d *corev1api.Dojo, secret *metav1.PartialObjectMetadata) bool {
	return metav1.IsControlledBy(secret, d) == Reclaims(d) &&
		apply.SecretInSync(ownership.FieldOwner, secret, passwordLabels(d), passwordKeys)
}

// isRetired reports whether the password is one that was never handed out, instead of that of the
// former login.
func isRetired(secret *metav1.PartialObjectMetadata) bool {
	return secret.GetAnnotations()[retiredAnnotation] != ""
}

// rotationRequested reports whether the Dojo asks for a password that is newer than this one. One that
// is being deleted needs none.
func rotationRequested(d *corev1api.Dojo, secret *metav1.PartialObjectMetadata) bool {
	requested := d.Annotations[corev1api.RotatePasswordAnnotation]
	return secret != nil && d.DeletionTimestamp == nil && requested != "" &&
		requested != secret.GetAnnotations()[rotationAnnotation]
}

// planPassword returns the Secret of a login that is in use, where it has to be written: with a new
// password where there is none, where it is this login's turn, or where another client has put its own
// into our Secret.
func planPassword(d *corev1api.Dojo, s State, l cnpg.Login) *apply.Object {
	login := s.Logins[l]
	turns := rotationRequested(d, login.Secret) && (l != s.Application.Login || !s.Application.Connected)
	if !turns && passwordInSync(d, login.Secret) {
		return nil
	}
	password, rotation := []byte(login.NewPassword), d.Annotations[corev1api.RotatePasswordAnnotation]
	if login.Secret != nil {
		before := login.Secret.GetAnnotations()[rotationAnnotation]
		kept := !turns && !isRetired(login.Secret) && len(login.Password) > 0 &&
			apply.SecretInSync(ownership.FieldOwner, login.Secret, nil, []string{"password"})
		if kept {
			password = login.Password
		}
		if kept || rotation == "" {
			// A request that was met and removed is not new when it returns.
			rotation = before
		}
	}
	desired := passwordFor(d, l, password, map[string]string{rotationAnnotation: rotation})
	return apply.Sync(ownership.FieldOwner, login.Secret, apply.Typed(desired), s.Unchanged)
}

// planRetired returns the Secret of a login that is not in use, where it has to be written: with a
// password that is not handed out.
func planRetired(d *corev1api.Dojo, s State, l cnpg.Login) *apply.Object {
	login := s.Logins[l]
	if login.Secret != nil && isRetired(login.Secret) && keptInSync(d, login.Secret) {
		return nil
	}
	desired := passwordFor(d, l, []byte(login.NewPassword), map[string]string{retiredAnnotation: "true"})
	return apply.Sync(ownership.FieldOwner, login.Secret, apply.Typed(desired), s.Unchanged)
}

// planKept returns the Secret of a login where it has to be written so that it stays.
func planKept(d *corev1api.Dojo, s State, l cnpg.Login) *apply.Object {
	if isRetired(s.Logins[l].Secret) {
		return planRetired(d, s, l)
	}
	return planPassword(d, s, l)
}
