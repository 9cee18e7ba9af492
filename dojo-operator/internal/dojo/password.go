package dojo

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	corev1api "jutsu.com/operators/apis/core/v1"
)

// rotationAnnotation on the Secret with the database password is the value of the Dojo's RotatePasswordAnnotation for which it was made.
const rotationAnnotation = "core.jutsu.com/rotation"

// passwordKeys are the keys of the Secret with the database password: what CloudNativePG writes for the owner of a database, so
// that it reads like any other source of credentials.
var passwordKeys = []string{"host", "port", "dbname", "user", "username", "password"}

// entrusted reports whether the Secret with the password is to go with the Dojo. It gets an owner only when the data has just been deleted with a
// Dojo that is on its way out: the garbage collector then takes it, so the operator needs no permission to delete Secrets, not even to take
// an owner off one, for which some clusters (OwnerReferencesPermissionEnforcement) ask for that permission, too.
func entrusted(d *corev1api.Dojo) bool {
	return d.DeletionTimestamp != nil && reclaim(d) == reclaimDelete
}

// passwordFor returns the Secret with the password of the database's owner. It stays with the data.
func passwordFor(d *corev1api.Dojo, password []byte, rotation string) *corev1ac.SecretApplyConfiguration {
	name := []byte(postgresName(d))
	want := corev1ac.Secret(databaseObject(d), d.Namespace).
		WithLabels(passwordLabels(d)).
		WithAnnotations(map[string]string{rotationAnnotation: rotation}).
		WithType(corev1.SecretTypeBasicAuth).
		WithData(map[string][]byte{
			"host": []byte(postgresHost(d)), "port": []byte(postgresPort), "dbname": name, "user": name, "username": name, "password": password,
		})
	if entrusted(d) {
		want.WithOwnerReferences(ownedBy(d))
	}
	return want
}

func passwordLabels(d *corev1api.Dojo) map[string]string {
	l := labels(d)
	l[reloadLabel] = "true"
	return l
}

// passwordSettled reports, from metadata alone, whether the Secret with the password is as it should be.
func passwordSettled(d *corev1api.Dojo, secret *metav1.PartialObjectMetadata) bool {
	if secret == nil || rotates(d, secret) || metav1.IsControlledBy(secret, d) != entrusted(d) {
		return false
	}
	have := secret.GetLabels()
	for key, value := range passwordLabels(d) {
		if have[key] != value {
			return false
		}
	}
	fields := appliedFields(secret)
	for _, key := range passwordKeys {
		if !fields.Has(fieldpath.MakePathOrDie("data", key)) {
			return false
		}
	}
	return true
}

// rotates reports whether the Dojo asks for a password that is newer than this one.
func rotates(d *corev1api.Dojo, secret *metav1.PartialObjectMetadata) bool {
	wish := d.Annotations[corev1api.RotatePasswordAnnotation]
	return wish != "" && wish != secret.GetAnnotations()[rotationAnnotation]
}

// planPassword returns the Secret with the password where it has to be written: with a new password where there is none, where the Dojo asks
// for one, or where somebody has put another into our Secret, which only they can know.
func planPassword(d *corev1api.Dojo, seen *observed) *child {
	if passwordSettled(d, seen.source) {
		return nil
	}
	password := []byte(seen.password)
	if seen.source != nil && seen.sourceSecret != nil && !rotates(d, seen.source) {
		ours := appliedFields(seen.source).Has(fieldpath.MakePathOrDie("data", "password"))
		if old := seen.sourceSecret.Data["password"]; ours && len(old) > 0 {
			password = old
		}
	}
	rotation := d.Annotations[corev1api.RotatePasswordAnnotation]
	if rotation == "" && seen.source != nil {
		rotation = seen.source.GetAnnotations()[rotationAnnotation] // a wish that was fulfilled and taken back is not new when it returns
	}
	want := passwordFor(d, password, rotation)
	return newChild(kindSecret, seen.source, want, want.ObjectMetaApplyConfiguration)
}
