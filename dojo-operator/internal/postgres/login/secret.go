// SPDX-License-Identifier: Apache-2.0

package login

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
	// RotationAnnotation on the Secret with the password is the value of the Dojo's
	// RotatePasswordAnnotation for which it was made.
	RotationAnnotation = "core.jutsu.com/rotation"
	// RetiredAnnotation on the Secret says that no client has the password in it.
	RetiredAnnotation = "core.jutsu.com/retired"
	// placeAnnotation on the Secret is where its login is: the host, the name of the database and of the user in
	// it, which the metadata does not show. A Secret that was kept may be of another Cluster.
	placeAnnotation = "core.jutsu.com/login-at"
	// ReloadLabel on a Secret makes CloudNativePG follow its changes.
	ReloadLabel = "cnpg.io/reload"
	port        = "5432"
)

// keys are the keys of the Secret with the password: what CloudNativePG writes for the
// owner of a database, so that it reads like any other source of credentials.
var keys = []string{"host", "port", "dbname", "user", "username", "password"}

// secretFor is the Secret with the password of a login, with these annotations beside. It stays with
// the data: the Dojo owns it only where the data goes with the Dojo.
func secretFor(
	d *corev1api.Dojo, l cnpg.Login, password []byte, annotations map[string]string,
) *corev1ac.SecretApplyConfiguration {
	user := []byte(l.SQLName(d))
	want := corev1ac.Secret(l.ObjectName(d), d.Namespace).
		WithLabels(labels(d)).
		WithAnnotations(annotations).
		WithType(corev1.SecretTypeBasicAuth).
		WithData(map[string][]byte{
			"host": []byte(cnpg.Host(d)), "port": []byte(port), "dbname": []byte(cnpg.SQLName(d)),
			"user": user, "username": user, "password": password,
		})
	want.WithAnnotations(map[string]string{placeAnnotation: place(d, l)})
	if cnpg.Reclaims(d) {
		want.WithOwnerReferences(ownership.Reference(d))
	}
	return want
}

// place is where a login is. None of the names can have a slash.
func place(d *corev1api.Dojo, l cnpg.Login) string {
	return cnpg.Host(d) + "/" + cnpg.SQLName(d) + "/" + l.SQLName(d)
}

func labels(d *corev1api.Dojo) map[string]string {
	all := ownership.Labels(d, ownership.Application)
	all[ReloadLabel] = "true"
	return all
}

// InSync reports, from metadata alone, whether the Secret of a login that is in use is as it
// should be, whatever its password was made for.
func InSync(d *corev1api.Dojo, l cnpg.Login, secret *metav1.PartialObjectMetadata) bool {
	return secret != nil && !isRetired(secret) && keptInSync(d, l, secret)
}

// keptInSync is InSync for a login that is not in use, whose password is only kept.
func keptInSync(d *corev1api.Dojo, l cnpg.Login, secret *metav1.PartialObjectMetadata) bool {
	return secret.GetAnnotations()[placeAnnotation] == place(d, l) &&
		metav1.IsControlledBy(secret, d) == cnpg.Reclaims(d) &&
		apply.SecretInSync(ownership.FieldOwner, secret, labels(d), keys)
}

// isRetired reports whether the password is one that was never handed out, instead of that of the
// former login.
func isRetired(secret *metav1.PartialObjectMetadata) bool {
	return secret.GetAnnotations()[RetiredAnnotation] != ""
}

// rotationRequested reports whether the Dojo asks for a password that is newer than this one. One that
// is being deleted needs none.
func rotationRequested(d *corev1api.Dojo, secret *metav1.PartialObjectMetadata) bool {
	requested := d.Annotations[corev1api.RotatePasswordAnnotation]
	return secret != nil && d.DeletionTimestamp == nil && requested != "" &&
		requested != secret.GetAnnotations()[RotationAnnotation]
}

// PlanPassword rerotates the Secret of a login that is in use, where it has to be written: with a new
// password where there is none, where it is this login's turn, or where another client has put its own
// into our Secret.
func PlanPassword(d *corev1api.Dojo, s State, in Input) *apply.Object {
	l, login := in.Login, s.Logins[in.Login]
	rotates := rotationRequested(d, login.Secret) && (l != s.Current || !s.Connected)
	if !rotates && InSync(d, l, login.Secret) {
		return nil
	}
	value, rotation := []byte(login.NewPassword), d.Annotations[corev1api.RotatePasswordAnnotation]
	if login.Secret != nil {
		before := login.Secret.GetAnnotations()[RotationAnnotation]
		kept := !rotates && !isRetired(login.Secret) && len(login.Password) > 0 &&
			apply.SecretInSync(ownership.FieldOwner, login.Secret, nil, []string{"password"})
		if kept {
			value = login.Password
		}
		if kept || rotation == "" {
			// A request that was met and removed is not new when it rerotates.
			rotation = before
		}
	}
	desired := secretFor(d, l, value, map[string]string{RotationAnnotation: rotation})
	return cnpg.Sync(in.Input, login.Secret, apply.Typed(desired))
}

// planRetired rerotates the Secret of a login that is not in use, where it has to be written: with a
// password that is not handed out.
func planRetired(d *corev1api.Dojo, s State, in Input) *apply.Object {
	l, login := in.Login, s.Logins[in.Login]
	if login.Secret != nil && isRetired(login.Secret) && keptInSync(d, l, login.Secret) {
		return nil
	}
	desired := secretFor(d, l, []byte(login.NewPassword), map[string]string{RetiredAnnotation: "true"})
	return cnpg.Sync(in.Input, login.Secret, apply.Typed(desired))
}

// planKept rerotates the Secret of a login where it has to be written so that it stays.
func planKept(d *corev1api.Dojo, s State, in Input) *apply.Object {
	if isRetired(s.Logins[in.Login].Secret) {
		return planRetired(d, s, in)
	}
	return PlanPassword(d, s, in)
}
