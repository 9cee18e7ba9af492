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

// Group is that of the Gateway API.
const Group = "gateway.networking.k8s.io"

var routeKind = optionalkinds.Kind{
	GroupVersionKind: schema.GroupVersionKind{Group: Group, Version: "v1", Kind: "HTTPRoute"}, Plural: "httproutes",
}

// Kinds are those that are watched while the cluster has them.
func Kinds() []optionalkinds.Kind { return []optionalkinds.Kind{routeKind} }

// Config is what the operator's flags say.
type Config struct {
	// ProgressDeadline is how long the controller of a Gateway may say nothing of a route before the
	// Dojo is Degraded.
	ProgressDeadline time.Duration
}

// State is what there is of the exposure. What does not exist is nil.
type State struct {
	Now     time.Time
	Ingress *networkingv1.Ingress
	Route   *unstructured.Unstructured
	// NoRoutes is whether the cluster does not have the kind HTTPRoute.
	NoRoutes bool
	// Unchanged are the objects whose last apply changed nothing.
	Unchanged apply.Unchanged
}

// Observe reads the exposure. has reports which kinds the cluster has.
func Observe(
	ctx context.Context, r apply.Reader, d *corev1api.Dojo, has func(optionalkinds.Kind) bool, now time.Time,
) (s State, err error) {
	s = State{Now: now, NoRoutes: !has(routeKind), Unchanged: r.Unchanged}
	name := client.ObjectKeyFromObject(d)
	if s.Ingress, err = apply.Get(ctx, r, "Ingress", name, &networkingv1.Ingress{}); err != nil {
		return s, err
	}
	if !s.NoRoutes {
		s.Route, err = apply.Get(ctx, r, routeKind.Kind, name, routeKind.Object())
	}
	return s, err
}

// Status are the host names at which the application can be reached from outside.
func Status(d *corev1api.Dojo, s State) []corev1api.Hostname {
	switch want := d.Spec.Exposure; {
	case want == nil:
	case want.Gateway != nil && accepted(d, s),
		want.Gateway == nil && s.Ingress != nil && !ownership.Conflicts(d, s.Ingress):
		return want.Hosts
	}
	return nil
}
