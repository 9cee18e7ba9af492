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
	// reloadLabel on a Secret makes CloudNativePG follow its changes.
	reloadLabel = "cnpg.io/reload"
	port        = "5432"
)

// passwordKeys are the keys of the Secret with the password: what CloudNativePG writes for the
// owner of a database, so that it reads like any other source of credentials.
var passwordKeys = []string{"host", "port", "dbname", "user", "username", "password"}

// passwordFor is the Secret with the password of the database's owner. It stays with the data: the
// Dojo owns it only where the data goes with the Dojo.
func passwordFor(d *corev1api.Dojo, password []byte, rotation string) *corev1ac.SecretApplyConfiguration {
	name := []byte(cnpg.SQLName(d))
	want := corev1ac.Secret(cnpg.ObjectName(d), d.Namespace).
		WithLabels(passwordLabels(d)).
		WithAnnotations(map[string]string{rotationAnnotation: rotation}).
		WithType(corev1.SecretTypeBasicAuth).
		WithData(map[string][]byte{
			"host": []byte(cnpg.Host(d)), "port": []byte(port), "dbname": name,
			"user": name, "username": name, "password": password,
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

// passwordInSync reports, from metadata alone, whether the Secret with the password is as it should
// be.
func passwordInSync(d *corev1api.Dojo, secret *metav1.PartialObjectMetadata) bool {
	return secret != nil && !rotationRequested(d, secret) && metav1.IsControlledBy(secret, d) == Reclaims(d) &&
		apply.SecretInSync(ownership.FieldOwner, secret, passwordLabels(d), passwordKeys)
}

// rotationRequested reports whether the Dojo asks for a password that is newer than this one.
func rotationRequested(d *corev1api.Dojo, secret *metav1.PartialObjectMetadata) bool {
	requested := d.Annotations[corev1api.RotatePasswordAnnotation]
	return requested != "" && requested != secret.GetAnnotations()[rotationAnnotation]
}

// planPassword returns the Secret with the password where it has to be written: with a new password
// where there is none, where the Dojo asks for one, or where another client has put its own into
// our Secret.
func planPassword(d *corev1api.Dojo, s State) *apply.Object {
	if passwordInSync(d, s.Secret) {
		return nil
	}
	password := []byte(s.NewPassword)
	if s.Secret != nil && len(s.Password) > 0 && !rotationRequested(d, s.Secret) &&
		apply.SecretInSync(ownership.FieldOwner, s.Secret, nil, []string{"password"}) {
		password = s.Password
	}
	rotation := d.Annotations[corev1api.RotatePasswordAnnotation]
	if rotation == "" && s.Secret != nil {
		// A request that was met and removed is not new when it returns.
		rotation = s.Secret.GetAnnotations()[rotationAnnotation]
	}
	return apply.Sync(ownership.FieldOwner, s.Secret, apply.Typed(passwordFor(d, password, rotation)), s.Unchanged)
}
