// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"

	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
)

// right is a right in a namespace.
type right struct {
	verb string
	kind kinds.Kind
}

func (r right) String() string { return r.verb + " " + r.kind.Resource() }

// may reports whether the user has a right; every user may ask that about themselves.
func (s *session) may(ctx context.Context, namespace string, r right, subresource string) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: r.verb, Group: r.kind.Group, Version: r.kind.Version, Resource: r.kind.Plural,
			Subresource: subresource,
		},
	}}
	if err := s.Create(ctx, review); err != nil {
		return false, fmt.Errorf("ask for your rights: %w", err)
	}
	return review.Status.Allowed, nil
}

// need returns an error that names the rights that the user lacks.
func (s *session) need(ctx context.Context, namespace string, rights ...right) error {
	var missing []string
	for _, r := range rights {
		ok, err := s.may(ctx, namespace, r, "")
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
