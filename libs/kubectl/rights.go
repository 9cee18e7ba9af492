// SPDX-License-Identifier: Apache-2.0

package kubectl

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Right is a right in a namespace.
type Right struct {
	Verb string
	Kind Kind
}

// To returns the right to do something with objects of a kind.
func To(verb string, kind Kind) Right { return Right{verb, kind} }

func (r Right) String() string { return r.Verb + " " + r.Kind.Resource() }

// May reports whether the user has a right; every user may ask that about themselves.
func May(ctx context.Context, k8s client.Client, namespace string, r Right, subresource string) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: r.Verb, Group: r.Kind.Group, Version: r.Kind.Version, Resource: r.Kind.Plural,
			Subresource: subresource,
		},
	}}
	if err := k8s.Create(ctx, review); err != nil {
		return false, fmt.Errorf("ask for your rights: %w", err)
	}
	return review.Status.Allowed, nil
}

// Need returns an error that names the rights that the user lacks.
func Need(ctx context.Context, k8s client.Client, namespace string, rights ...Right) error {
	var missing []string
	for _, r := range rights {
		ok, err := May(ctx, k8s, namespace, r, "")
		if err != nil {
			return err
		}
		if !ok {
			missing = append(missing, r.String())
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("you may not do this in the namespace %s: you lack %s", namespace, strings.Join(missing, ", "))
	}
	return nil
}
