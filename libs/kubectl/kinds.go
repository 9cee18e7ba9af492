// SPDX-License-Identifier: Apache-2.0

package kubectl

import (
	"errors"
	"slices"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is a kind with its URL path, so commands need no discovery, which costs dozens of requests.
type Kind struct {
	schema.GroupVersionKind
	Plural        string
	ClusterScoped bool
}

// KindOf returns a namespaced kind.
func KindOf(group schema.GroupVersion, kind, plural string) Kind {
	return Kind{GroupVersionKind: group.WithKind(kind), Plural: plural}
}

// Global returns a cluster-scoped copy of the kind.
func (k Kind) Global() Kind {
	k.ClusterScoped = true
	return k
}

// Object returns an empty object of the kind.
func (k Kind) Object() *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(k.GroupVersionKind)
	return o
}

// Named returns an object of the kind with only a namespace and a name.
func (k Kind) Named(namespace, name string) *unstructured.Unstructured {
	o := k.Object()
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

// List returns an empty list of the kind.
func (k Kind) List() *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(k.GroupVersion().WithKind(k.Kind + "List"))
	return list
}

// Resource returns the name in RBAC and in errors, such as "clusters.postgresql.cnpg.io".
func (k Kind) Resource() string {
	return schema.GroupResource{Group: k.Group, Resource: k.Plural}.String()
}

// AccessReview is the kind by which users ask the API server for their own rights.
var AccessReview = KindOf(
	authorizationv1.SchemeGroupVersion, "SelfSubjectAccessReview", "selfsubjectaccessreviews").Global()

// Mapper returns a mapper from kinds to their URL paths.
func Mapper(all []Kind) meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	for _, k := range all {
		scope := meta.RESTScopeNamespace
		if k.ClusterScoped {
			scope = meta.RESTScopeRoot
		}
		version := k.GroupVersion()
		m.AddSpecific(k.GroupVersionKind, version.WithResource(k.Plural), version.WithResource(k.Plural), scope)
	}
	return m
}

// SchemeOf returns a function that creates a scheme only on its first call, because that takes
// milliseconds.
func SchemeOf(kinds ...func(*runtime.Scheme) error) func() *runtime.Scheme {
	return sync.OnceValue(func() *runtime.Scheme {
		s := runtime.NewScheme()
		for _, add := range kinds {
			if err := add(s); err != nil {
				panic(err) // possible only if two Go types have the same kind
			}
		}
		return s
	})
}

// NotServed reports whether the API server does not serve a kind. The 404 is then plain text, so
// client-go adds the cause UnexpectedServerResponse.
func NotServed(err error) bool {
	status := apierrors.APIStatus(nil)
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && slices.ContainsFunc(details.Causes, func(c metav1.StatusCause) bool {
		return c.Type == metav1.CauseTypeUnexpectedServerResponse
	})
}
