// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// MaxKept is the size limit, in bytes of memory, of an object that a cache keeps whole.
	MaxKept = 128 << 10
	// maxName limits names in cached objects; the API server does not limit owner references.
	maxName            = 317
	tooLargeAnnotation = "jutsu.com/too-large"
)

// Keep shrinks an object before a cache stores it. It calls strip for an object that owner has not
// written, and for an object above MaxKept, because any client can write under owner's name. In
// every object that owner has written, it clears fieldsV1 of other managers, except of the scale
// subresource.
func Keep(owner string, o client.Object, strip func()) {
	unmark(o)
	if !Written(owner, o) {
		strip()
		return
	}
	if compact(owner, o); footprint(o) <= MaxKept {
		return
	}
	strip()
	annotations := map[string]string{tooLargeAnnotation: "true"}
	for key, value := range o.GetAnnotations() {
		annotations[key] = value
	}
	o.SetAnnotations(annotations)
}

// TooLarge reports whether Keep stripped the object because of its size. Do not change such an
// object.
func TooLarge(o metav1.Object) bool { return o.GetAnnotations()[tooLargeAnnotation] != "" }

func unmark(o client.Object) {
	if annotations := o.GetAnnotations(); annotations[tooLargeAnnotation] != "" {
		delete(annotations, tooLargeAnnotation)
		o.SetAnnotations(annotations)
	}
}

// Written reports whether owner wrote the object itself, not only a subresource such as the status.
// Labels and owner references prove nothing, because any client can set them.
func Written(owner string, o metav1.Object) bool {
	return slices.ContainsFunc(o.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == owner && entry.Subresource == ""
	})
}

// Controller returns the controller's owner reference, or nil if it is missing or invalidly long.
func Controller(o metav1.Object) []metav1.OwnerReference {
	owner := metav1.GetControllerOf(o)
	if owner == nil || Long(owner.APIVersion, owner.Kind, owner.Name, string(owner.UID)) {
		return nil
	}
	return []metav1.OwnerReference{*owner}
}

// Long reports whether a name is longer than every valid name in Kubernetes.
func Long(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return len(name) > maxName })
}
