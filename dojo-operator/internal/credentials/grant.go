// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
)

// maxGrant is the length in bytes of a list with a thousand of the longest namespaces.
const maxGrant = 64 << 10

// Strip keeps a foreign Secret's identity, and the namespaces that share it up to maxGrant.
func Strip(secret *metav1.PartialObjectMetadata) {
	grant, granted := secret.Annotations[corev1api.AllowedNamespacesAnnotation]
	ownership.Strip(secret)
	if granted && len(grant) <= maxGrant {
		secret.Annotations = map[string]string{corev1api.AllowedNamespacesAnnotation: grant}
	}
}

// shared reports whether the Dojo's namespace may use a Secret.
func shared(dojo *corev1api.Dojo, secret metav1.Object) bool {
	if secret.GetNamespace() == dojo.Namespace {
		return true
	}
	for allowed := range strings.SplitSeq(secret.GetAnnotations()[corev1api.AllowedNamespacesAnnotation], ",") {
		if allowed = strings.TrimSpace(allowed); allowed == "*" || allowed == dojo.Namespace {
			return true
		}
	}
	return false
}
