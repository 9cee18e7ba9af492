// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
)

// Shared reports whether the Dojo may use the Secret: the Dojo is in the Secret's namespace, or the
// Secret's annotation has the Dojo's namespace or "*".
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

// Naming lists the Dojos with this Secret in spec.credentialsRef, also Dojos that may not use it.
func Naming(ctx context.Context, cache client.Reader, secret types.NamespacedName) ([]corev1api.Dojo, error) {
	var dojos corev1api.DojoList
	if err := cache.List(ctx, &dojos, client.MatchingFields{References: secret.String()}); err != nil {
		return nil, fmt.Errorf("list Dojos that use the Secret %s: %w", secret, err)
	}
	return slices.DeleteFunc(dojos.Items, func(dojo corev1api.Dojo) bool {
		return dojo.CredentialsSource() != secret
	}), nil
}

// Users returns the names of the Dojos that may use a Secret. A Dojo that may not use the Secret
// must not prevent the deletion of the database.
func Users(dojos []corev1api.Dojo, secret metav1.Object) (all []string) {
	for i := range dojos {
		dojo := &dojos[i]
		switch {
		case dojo.Namespace == secret.GetNamespace():
			all = append(all, "Dojo "+dojo.Name)
		case Shared(dojo, secret):
			all = append(all, "Dojo "+client.ObjectKeyFromObject(dojo).String())
		}
	}
	slices.Sort(all)
	return all
}
