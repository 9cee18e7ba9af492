// SPDX-License-Identifier: Apache-2.0

package kubectl

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
)

// Right is an RBAC permission: a verb on a kind or on its subresource.
type Right struct {
	Verb        string
	Kind        Kind
	Subresource string
}

// To returns one right for each kind: the verb on its objects.
func To(verb string, kinds ...Kind) (all []Right) {
	for _, kind := range kinds {
		all = append(all, Right{Verb: verb, Kind: kind})
	}
	return all
}

func (r Right) String() string {
	return strings.TrimSuffix(r.Verb+" "+r.Kind.Resource()+"/"+r.Subresource, "/")
}

// May asks the API server whether the user has a right. By default, every user may ask.
func (p *Plugin) May(ctx context.Context, namespace string, r Right) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: r.Verb, Group: r.Kind.Group, Version: r.Kind.Version, Resource: r.Kind.Plural,
			Subresource: r.Subresource,
		},
	}}
	if err := p.Create(ctx, review); err != nil {
		return false, fmt.Errorf("ask for your rights: %w", err)
	}
	return review.Status.Allowed, nil
}

// Lacks returns the rights that the user lacks in the namespace of the command line.
func (p *Plugin) Lacks(ctx context.Context, rights ...Right) (missing []string, _ error) {
	for _, r := range rights {
		ok, err := p.May(ctx, p.Namespace, r)
		if err != nil {
			return nil, err
		}
		if !ok {
			missing = append(missing, r.String())
		}
	}
	return missing, nil
}

// Need returns an error that names the rights that the user lacks.
func (p *Plugin) Need(ctx context.Context, rights ...Right) error {
	missing, err := p.Lacks(ctx, rights...)
	if len(missing) > 0 {
		return fmt.Errorf("this command needs rights in the namespace %s that you lack: %s; ask an administrator for them",
			p.Namespace, strings.Join(missing, ", "))
	}
	return err
}
