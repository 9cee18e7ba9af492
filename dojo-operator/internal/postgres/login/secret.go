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
	// RotationAnnotation has the value of the Dojo's annotation that requested this password.
	RotationAnnotation = "core.jutsu.com/rotation"
	// retiredAnnotation marks a password that no client has.
	retiredAnnotation = "core.jutsu.com/retired"
	// addressAnnotation has host, database and user, so that metadata alone shows a stale Secret.
	addressAnnotation = "core.jutsu.com/login-at"
	// ReloadLabel on a Secret makes CloudNativePG watch the Secret for changes.
	ReloadLabel = "cnpg.io/reload"
	port        = "5432"
)

var keys = []string{"host", "port", "dbname", "user", "username", "password"}

func secretFor(
	dojo *corev1api.Dojo, l cnpg.Login, password []byte, annotations map[string]string,
) *corev1ac.SecretApplyConfiguration {
	user := []byte(l.SQLName(dojo))
	want := corev1ac.Secret(l.ObjectName(dojo), dojo.Namespace).
		WithLabels(labels(dojo)).
		WithAnnotations(annotations).
		WithType(corev1.SecretTypeBasicAuth).
		WithData(map[string][]byte{
			"host": []byte(cnpg.Host(dojo)), "port": []byte(port), "dbname": []byte(cnpg.SQLName(dojo)),
			"user": user, "username": user, "password": password,
		})
	want.WithAnnotations(map[string]string{addressAnnotation: address(dojo, l)})
	if cnpg.Reclaims(dojo) {
		want.WithOwnerReferences(ownership.Reference(dojo))
	}
	return want
}

func address(dojo *corev1api.Dojo, l cnpg.Login) string {
	return cnpg.Host(dojo) + "/" + cnpg.SQLName(dojo) + "/" + l.SQLName(dojo)
}

func labels(dojo *corev1api.Dojo) map[string]string {
	all := ownership.Labels(dojo, ownership.Application)
	all[ReloadLabel] = "true"
	return all
}

// InSync reports whether the Secret of a login in use is in sync, apart from RotationAnnotation.
func InSync(dojo *corev1api.Dojo, l cnpg.Login, secret *metav1.PartialObjectMetadata) bool {
	return secret != nil && !isRetired(secret) && keptInSync(dojo, l, secret)
}

func keptInSync(dojo *corev1api.Dojo, l cnpg.Login, secret *metav1.PartialObjectMetadata) bool {
	return secret.GetAnnotations()[addressAnnotation] == address(dojo, l) &&
		metav1.IsControlledBy(secret, dojo) == cnpg.Reclaims(dojo) &&
		apply.SecretInSync(ownership.FieldOwner, secret, labels(dojo), keys)
}

func isRetired(secret *metav1.PartialObjectMetadata) bool {
	return secret.GetAnnotations()[retiredAnnotation] != ""
}

func rotationRequested(dojo *corev1api.Dojo, secret *metav1.PartialObjectMetadata) bool {
	requested := dojo.Annotations[corev1api.RotatePasswordAnnotation]
	return secret != nil && dojo.DeletionTimestamp == nil && requested != "" &&
		requested != secret.GetAnnotations()[RotationAnnotation]
}

// PlanPassword plans the Secret of a login in use or in preparation, and replaces a password that
// another client has written.
func PlanPassword(dojo *corev1api.Dojo, s State, in Input) *apply.Object {
	l, login := in.Login, s.Logins[in.Login]
	rotates := rotationRequested(dojo, login.Secret) && (l != s.Current || !s.Connected)
	if !rotates && InSync(dojo, l, login.Secret) {
		return nil
	}
	value, rotation := []byte(login.NewPassword), dojo.Annotations[corev1api.RotatePasswordAnnotation]
	if login.Secret != nil {
		before := login.Secret.GetAnnotations()[RotationAnnotation]
		kept := !rotates && !isRetired(login.Secret) && len(login.Password) > 0 &&
			apply.SecretInSync(ownership.FieldOwner, login.Secret, nil, []string{"password"})
		if kept {
			value = login.Password
		}
		if kept || rotation == "" {
			// Keep the recorded value. Without it, a rotation would begin if a user set the same
			// value again.
			rotation = before
		}
	}
	desired := secretFor(dojo, l, value, map[string]string{RotationAnnotation: rotation})
	return cnpg.Sync(in.Input, login.Secret, apply.Typed(desired))
}

// planRetired gives the Secret of a retired login a password that no client knows. It keeps this
// password in further writes: with a new one, it would repeat a write that a policy changes.
func planRetired(dojo *corev1api.Dojo, s State, in Input) *apply.Object {
	l, login := in.Login, s.Logins[in.Login]
	if login.Secret != nil && isRetired(login.Secret) && keptInSync(dojo, l, login.Secret) {
		return nil
	}
	value := []byte(login.NewPassword)
	if login.Secret != nil && isRetired(login.Secret) && len(login.Password) > 0 &&
		apply.SecretInSync(ownership.FieldOwner, login.Secret, nil, []string{"password"}) {
		value = login.Password
	}
	desired := secretFor(dojo, l, value, map[string]string{retiredAnnotation: "true"})
	return cnpg.Sync(in.Input, login.Secret, apply.Typed(desired))
}

func planKept(dojo *corev1api.Dojo, s State, in Input) *apply.Object {
	if isRetired(s.Logins[in.Login].Secret) {
		return planRetired(dojo, s, in)
	}
	return PlanPassword(dojo, s, in)
}
