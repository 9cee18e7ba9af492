// SPDX-License-Identifier: Apache-2.0

package exposure

import (
	"context"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/optionalkinds"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/apply"
)

// Group is the API group of the Gateway API.
const Group = "gateway.networking.k8s.io"

var routeKind = optionalkinds.Kind{
	GroupVersionKind: schema.GroupVersionKind{Group: Group, Version: "v1", Kind: "HTTPRoute"}, Plural: "httproutes",
}

// Kinds lists the kinds that this package uses and the cluster may lack.
func Kinds() []optionalkinds.Kind { return []optionalkinds.Kind{routeKind} }

// Config has the operator's flags that this package uses.
type Config struct {
	// ProgressDeadline limits the wait for a Gateway's report, and for an address of an Ingress.
	ProgressDeadline time.Duration
}

// State has the observed objects. A missing object is nil.
type State struct {
	Now     time.Time
	Ingress *networkingv1.Ingress
	Route   *unstructured.Unstructured
	// NoRoutes is true if the cluster lacks the kind HTTPRoute, or forbids the operator to read it.
	NoRoutes  bool
	Unchanged apply.Unchanged
}

// Observe reads the Ingress, and the HTTPRoute if the cluster has this kind.
func Observe(
	ctx context.Context, r apply.Reader, dojo *corev1api.Dojo, has func(optionalkinds.Kind) bool, now time.Time,
) (s State, err error) {
	s = State{Now: now, NoRoutes: !has(routeKind), Unchanged: r.Unchanged}
	name := client.ObjectKeyFromObject(dojo)
	if s.Ingress, err = apply.Get(ctx, r, "Ingress", name, &networkingv1.Ingress{}); err != nil {
		return s, err
	}
	if !s.NoRoutes {
		s.Route, err = apply.Get(ctx, r, routeKind.Kind, name, routeKind.Object())
	}
	return s, err
}

// Status returns the hosts once the Ingress exists or a Gateway has accepted the HTTPRoute.
func Status(dojo *corev1api.Dojo, s State) []corev1api.Hostname {
	switch want := dojo.Spec.Exposure; {
	case want == nil:
	case want.Gateway != nil && accepted(dojo, s),
		want.Gateway == nil && s.Ingress != nil && !ownership.Conflicts(dojo, s.Ingress):
		return want.Hosts
	}
	return nil
}
