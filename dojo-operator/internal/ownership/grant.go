// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
)

// Shared reports whether the Dojo's namespace may use the Secret. A Secret in another namespace
// must allow this in an annotation.
func Shared(dojo *corev1api.Dojo, secret metav1.Object) bool {
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
