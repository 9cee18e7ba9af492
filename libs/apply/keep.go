// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// MaxKept bounds the memory, in bytes, of an object that a cache keeps whole.
	MaxKept = 128 << 10
	// maxName is the length of the longest name that a cache keeps, in bytes. The API server does
	// not limit the names in owner references.
	maxName            = 317
	tooLargeAnnotation = "jutsu.com/too-large"
)

// Keep strips an object for the cache, unless managedFields show that the field manager owner wrote
// the object. Labels and owner references are no proof, because any client can set them. A client
// can also write under the manager's name, so Keep strips every object above MaxKept. If Keep does
// not strip an object, it removes the fields of other managers, except for the scale subresource.
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

// TooLarge reports whether Keep stripped an object above MaxKept that may be ours. Do not change
// the object.
func TooLarge(o metav1.Object) bool { return o.GetAnnotations()[tooLargeAnnotation] != "" }

// unmark removes the too-large annotation if a client has set it.
func unmark(o client.Object) {
	if annotations := o.GetAnnotations(); annotations[tooLargeAnnotation] != "" {
		delete(annotations, tooLargeAnnotation)
		o.SetAnnotations(annotations)
	}
}

// Written reports whether the field manager with the name owner has written the object itself, and
// not only its subresources, such as the status.
func Written(owner string, o metav1.Object) bool {
	return slices.ContainsFunc(o.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == owner && entry.Subresource == ""
	})
}

// Controller returns a copy of the reference to an object's controller, or nil if the object has no
// valid reference to a controller.
func Controller(o metav1.Object) []metav1.OwnerReference {
	owner := metav1.GetControllerOf(o)
	if owner == nil || Long(owner.APIVersion, owner.Kind, owner.Name, string(owner.UID)) {
		return nil
	}
	return []metav1.OwnerReference{*owner}
}

// Long reports whether one of the names is longer than every valid name in Kubernetes.
func Long(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return len(name) > maxName })
}
