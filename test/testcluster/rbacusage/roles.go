// SPDX-License-Identifier: Apache-2.0

package rbacusage

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Save writes a set to a file, for Load in another process.
func (s Set) Save(path string) error {
	text, err := json.Marshal(slices.Collect(maps.Keys(s)))
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

// Load reads a set that Save wrote.
func Load(path string) (Set, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all []Permission
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	s := Set{}
	for _, p := range all {
		s[p] = true
	}
	return s, nil
}

// Withdraw removes a permission from a ClusterRole, and returns a function to restore it. Other
// resources in the same rule lose the verb too. The API server enforces a change a moment later;
// Allowed reports whether it does.
func Withdraw(ctx context.Context, c client.Client, clusterRole string,
	p Permission) (restore func(context.Context) error, err error) {
	role := &rbacv1.ClusterRole{}
	if err := c.Get(ctx, client.ObjectKey{Name: clusterRole}, role); err != nil {
		return nil, err
	}
	complete, found := role.DeepCopy(), false
	for i := range role.Rules {
		if r := &role.Rules[i]; slices.Contains(r.APIGroups, p.Group) && slices.Contains(r.Resources, p.Resource) {
			found = found || slices.Contains(r.Verbs, p.Verb)
			r.Verbs = slices.DeleteFunc(r.Verbs, func(verb string) bool { return verb == p.Verb })
		}
	}
	if !found {
		return nil, fmt.Errorf("the ClusterRole %s does not have %s", clusterRole, p)
	}
	role.Rules = slices.DeleteFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return len(r.Verbs) == 0 })
	if err := c.Update(ctx, role); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		complete.ResourceVersion = "" // overwrites the role, whatever its current version
		return c.Update(ctx, complete)
	}, nil
}

// Allowed asks the API server whether a ServiceAccount has a permission in the namespace default.
func Allowed(ctx context.Context, c client.Client, namespace, name string, p Permission) (bool, error) {
	resource, sub, _ := strings.Cut(p.Resource, "/")
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: "system:serviceaccount:" + namespace + ":" + name,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: "default", Verb: p.Verb, Group: p.Group, Resource: resource, Subresource: sub,
		},
	}}
	err := c.Create(ctx, review)
	return review.Status.Allowed, err
}
