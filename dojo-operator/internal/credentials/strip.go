// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
)

// maxGrant is the maximum size of a kept annotation, enough for a thousand namespaces.
const maxGrant = 64 << 10

// Strip is like [ownership.Strip], but keeps [corev1api.AllowedNamespacesAnnotation].
func Strip(secret *metav1.PartialObjectMetadata) {
	grant, granted := secret.Annotations[corev1api.AllowedNamespacesAnnotation]
	ownership.Strip(secret)
	if granted && len(grant) <= maxGrant {
		secret.Annotations = map[string]string{corev1api.AllowedNamespacesAnnotation: grant}
	}
}
