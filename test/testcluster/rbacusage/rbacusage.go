// SPDX-License-Identifier: Apache-2.0

// Package rbacusage finds a ServiceAccount's unused permissions: granted by roles in manifests, but
// not used in the API server's audit log.
package rbacusage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"jutsu.com/operators/test/testcluster/auditlog"
)

// Permission is one verb on one resource.
type Permission struct {
	Group string `json:"group,omitempty"`
	// Resource is the plural name, with a subresource if there is one: "pods", "dojos/status".
	Resource string `json:"resource"`

	Verb string `json:"verb"`
}

// String returns the permission in the form of kubectl: "patch dojos.core.jutsu.com/status".
func (p Permission) String() string {
	resource, sub, _ := strings.Cut(p.Resource, "/")
	if p.Group != "" {
		resource += "." + p.Group
	}
	if sub != "" {
		resource += "/" + sub
	}
	return p.Verb + " " + resource
}

// Set is a set of permissions.
type Set map[Permission]bool

// Sorted returns the permissions, sorted by their String.
func (s Set) Sorted() []string {
	all := make([]string, 0, len(s))
	for p := range s {
		all = append(all, p.String())
	}
	slices.Sort(all)
	return all
}

// Without returns the permissions that are in none of the others.
func (s Set) Without(others ...Set) Set {
	rest := Set{}
	for p := range s {
		if !slices.ContainsFunc(others, func(o Set) bool { return o[p] }) {
			rest[p] = true
		}
	}
	return rest
}

// Granted returns the permissions that the objects grant a ServiceAccount. A wildcard or
// nonResourceURLs are an error, because their use cannot be measured.
func Granted(objects []*unstructured.Unstructured, namespace, name string) (Set, error) {
	granted := Set{}
	for _, o := range objects {
		if o.GetKind() != "RoleBinding" && o.GetKind() != "ClusterRoleBinding" {
			continue
		}
		var binding rbacv1.RoleBinding // a ClusterRoleBinding has the same fields
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &binding); err != nil {
			return nil, fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
		}
		if !slices.Contains(binding.Subjects, rbacv1.Subject{Kind: "ServiceAccount", Namespace: namespace, Name: name}) {
			continue
		}
		rules, err := rulesOf(objects, o.GetNamespace(), binding.RoleRef)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
		}
		if err := granted.add(rules); err != nil {
			return nil, fmt.Errorf("%s %s: %w", binding.RoleRef.Kind, binding.RoleRef.Name, err)
		}
	}
	return granted, nil
}

func rulesOf(objects []*unstructured.Unstructured, namespace string, ref rbacv1.RoleRef) ([]rbacv1.PolicyRule, error) {
	for _, o := range objects {
		if o.GetKind() != ref.Kind || o.GetName() != ref.Name || ref.Kind == "Role" && o.GetNamespace() != namespace {
			continue
		}
		var role rbacv1.Role // a ClusterRole has the same rules
		err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &role)
		return role.Rules, err
	}
	return nil, fmt.Errorf("there is no %s %s", ref.Kind, ref.Name)
}

func (s Set) add(rules []rbacv1.PolicyRule) error {
	for _, rule := range rules {
		if len(rule.NonResourceURLs) > 0 || slices.Contains(slices.Concat(rule.APIGroups, rule.Resources, rule.Verbs), "*") {
			return fmt.Errorf("the rule %v grants more than resources and verbs by their names", rule)
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					s[Permission{group, resource, verb}] = true
				}
			}
		}
	}
	return nil
}

// Used returns the permissions of a ServiceAccount's allowed requests in an audit log. An apply
// that created an object has also used create.
func Used(auditLog, namespace, name string) (Set, error) {
	used := Set{}
	requests, err := Requests(auditLog, namespace, name)
	for i := range requests {
		used.request(&requests[i])
	}
	return used, err
}

// Requests returns a ServiceAccount's requests to the API server, oldest first.
func Requests(auditLog, namespace, name string) ([]auditv1.Event, error) {
	log, err := auditlog.Open(auditLog)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	user := "system:serviceaccount:" + namespace + ":" + name
	var requests []auditv1.Event
	err = log.Each(func(line []byte) error {
		if !bytes.Contains(line, []byte(user)) {
			return nil
		}
		var e auditv1.Event
		if err := json.Unmarshal(line, &e); err != nil {
			return err
		}
		if e.User.Username == user {
			requests = append(requests, e)
		}
		return nil
	})
	return requests, err
}

// Refused reports whether the API server has refused a request for lack of permission.
func Refused(e *auditv1.Event) bool { return e.Annotations["authorization.k8s.io/decision"] != "allow" }

func (s Set) request(e *auditv1.Event) {
	ref := e.ObjectRef
	if ref == nil || Refused(e) {
		return
	}
	p := Permission{Group: ref.APIGroup, Resource: ref.Resource, Verb: e.Verb}
	if ref.Subresource != "" {
		p.Resource += "/" + ref.Subresource
	}
	s[p] = true
	if e.Verb == "patch" && e.ResponseStatus != nil && e.ResponseStatus.Code == 201 {
		p.Verb = "create"
		s[p] = true
	}
}
