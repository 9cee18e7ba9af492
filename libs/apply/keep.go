// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// MaxKept is how many bytes of memory an object may take that a cache keeps as a whole.
	MaxKept = 128 << 10
	// maxName is the length in bytes of the longest name of a Kubernetes object or label. Of owner
	// references and of references in specs the API server does not check it.
	maxName = 317
	// tooLargeAnnotation marks objects in the cache, never in the API server.
	tooLargeAnnotation = "jutsu.com/too-large"
)

// Keep decides what the cache keeps of an object: where owner has written it, all of it but what others
// own, otherwise what strip leaves. Who has written it is what the API server records; labels and owner
// references, which any client can forge, do not count. A client can also write as owner, so what is larger
// than MaxKept is stripped as well, and [TooLarge] reports it.
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

// TooLarge reports whether an object in the cache has been stripped although it may be ours: what it is
// like is not known, so that it can only be left alone.
func TooLarge(o metav1.Object) bool { return o.GetAnnotations()[tooLargeAnnotation] != "" }

// unmark takes away a mark that a client has made.
func unmark(o client.Object) {
	if annotations := o.GetAnnotations(); annotations[tooLargeAnnotation] != "" {
		delete(annotations, tooLargeAnnotation)
		o.SetAnnotations(annotations)
	}
}

// Written reports whether owner has written an object, its status not counted.
func Written(owner string, o metav1.Object) bool {
	return slices.ContainsFunc(o.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == owner && entry.Subresource == ""
	})
}

// Controller is a copy of the reference to an object's controller, all that a stripped object keeps of
// its owners; nil where there is none, or none that can exist.
func Controller(o metav1.Object) []metav1.OwnerReference {
	owner := metav1.GetControllerOf(o)
	if owner == nil || Long(owner.APIVersion, owner.Kind, owner.Name, string(owner.UID)) {
		return nil
	}
	return []metav1.OwnerReference{*owner}
}

// Long reports whether one of these names is longer than any of Kubernetes, so that nothing has it.
func Long(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return len(name) > maxName })
}
