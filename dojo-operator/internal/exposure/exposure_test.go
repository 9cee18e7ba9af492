// SPDX-License-Identifier: Apache-2.0

package exposure

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/dojotest"
	"jutsu.com/operators/dojo-operator/internal/optionalkinds"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/apply/applytest"
)

var (
	testConfig = Config{ProgressDeadline: 90 * time.Second}
	service    = Service{PortName: "web", Port: 81}
)

var foreign = metav1.ObjectMeta{Namespace: "school", Name: "tokyo"}

func hosts(names ...corev1api.Hostname) *corev1api.Exposure { return &corev1api.Exposure{Hosts: names} }

func byIngress(dojo *corev1api.Dojo) {
	dojo.Spec.Exposure = hosts("dojo.example.org")
	dojo.Spec.Exposure.Ingress = &corev1api.IngressExposure{}
}

func byGateway(dojo *corev1api.Dojo) {
	dojo.Spec.Exposure = hosts("dojo.example.org")
	dojo.Spec.Exposure.Gateway = &corev1api.GatewayExposure{ParentRefs: []corev1api.GatewayReference{
		{Name: "public", Namespace: "infra", SectionName: "https"}, {Name: "own"},
	}}
}

func planFor(t *testing.T, c *dojotest.Cluster, dojo *corev1api.Dojo) (State, apply.Plan) {
	t.Helper()
	all := func(optionalkinds.Kind) bool { return true }
	s, err := Observe(t.Context(), c.Reader(dojo), dojo, all, dojotest.Noon)
	if err != nil {
		t.Fatal(err)
	}
	return s, Plan(dojo, s, service, testConfig)
}

func do(t *testing.T, c *dojotest.Cluster, dojo *corev1api.Dojo) {
	t.Helper()
	_, plan := planFor(t, c, dojo)
	c.Do(dojo, plan)
}

func ingressOf(t *testing.T, c *dojotest.Cluster) *networkingv1.Ingress {
	t.Helper()
	return applytest.Get(t, c.Server, "school", "tokyo", &networkingv1.Ingress{})
}

func routeOf(t *testing.T, c *dojotest.Cluster) *unstructured.Unstructured {
	t.Helper()
	return applytest.Get(t, c.Server, "school", "tokyo", routeKind.Object())
}

func TestIngress(t *testing.T) {
	t.Parallel()
	path := networkingv1.HTTPIngressPath{
		Path: "/", PathType: ptr.To(networkingv1.PathTypePrefix),
		Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
			Name: "tokyo", Port: networkingv1.ServiceBackendPort{Name: "web"},
		}},
	}
	ruleOf := func(host string) networkingv1.IngressRule {
		return networkingv1.IngressRule{Host: host, IngressRuleValue: networkingv1.IngressRuleValue{
			HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{path}},
		}}
	}
	one := []networkingv1.IngressRule{ruleOf("dojo.example.org")}
	withAll := func(dojo *corev1api.Dojo) {
		dojo.Spec.Exposure = hosts("dojo.example.org", "tokyo.example.org")
		dojo.Spec.Exposure.Ingress = &corev1api.IngressExposure{
			ClassName: "nginx", Annotations: map[string]string{"cert-manager.io/cluster-issuer": "letsencrypt"},
		}
		dojo.Spec.Exposure.TLS = &corev1api.ExposureTLS{SecretName: "tls"}
	}
	cases := map[string]struct {
		dojo *corev1api.Dojo
		want networkingv1.IngressSpec
	}{
		"only required fields": {dojotest.Dojo(byIngress), networkingv1.IngressSpec{Rules: one}},
		"all fields": {dojotest.Dojo(withAll), networkingv1.IngressSpec{
			Rules: append(one, ruleOf("tokyo.example.org")), IngressClassName: ptr.To("nginx"),
			TLS: []networkingv1.IngressTLS{{Hosts: []string{"dojo.example.org", "tokyo.example.org"}, SecretName: "tls"}},
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := dojotest.NewCluster(t)
			do(t, cluster, c.dojo)
			live := ingressOf(t, cluster)
			if diff := cmp.Diff(c.want, live.Spec); diff != "" {
				t.Error(diff)
			}
			for key, value := range c.dojo.Spec.Exposure.Ingress.Annotations {
				if live.Annotations[key] != value {
					t.Errorf("annotations are %v", live.Annotations)
				}
			}
			if !metav1.IsControlledBy(live, c.dojo) || !ownership.LabelledFor("tokyo", live) {
				t.Errorf("metadata is %+v", live.ObjectMeta)
			}
			s, plan := planFor(t, cluster, c.dojo)
			if plan.Apply != nil || plan.Delete != nil || plan.Issues != nil {
				t.Errorf("the next reconcile plans %+v", plan)
			}
			if diff := cmp.Diff(c.dojo.Spec.Exposure.Hosts, Status(c.dojo, s)); diff != "" {
				t.Error(diff)
			}
			c.dojo.Spec.Exposure = nil
			do(t, cluster, c.dojo)
			if ingressOf(t, cluster) != nil {
				t.Error("an Ingress that is no longer desired stays")
			}
		})
	}
}

func TestForeignObjects(t *testing.T) {
	t.Parallel()
	route := routeKind.Object()
	route.SetNamespace("school")
	route.SetName("tokyo")
	c := dojotest.NewCluster(t, &networkingv1.Ingress{ObjectMeta: foreign}, route)
	for name, change := range map[string]func(*corev1api.Dojo){"Ingress": byIngress, "HTTPRoute": byGateway} {
		if _, plan := planFor(t, c, dojotest.Dojo()); plan.Apply != nil || plan.Delete != nil || plan.Issues != nil {
			t.Errorf("no object is desired, but the plan is %+v", plan)
		}
		dojo := dojotest.Dojo(change)
		s, plan := planFor(t, c, dojo)
		if plan.Apply != nil || plan.Delete != nil || dojotest.Worst(plan.Issues) != "Degraded/NameConflict" ||
			!strings.Contains(plan.Issues[0].Message, name) {
			t.Errorf("an %s is desired, and the plan is %+v", name, plan)
		}
		if got := Status(dojo, s); got != nil {
			t.Errorf("the status has the hosts %v", got)
		}
	}
}

func report(t *testing.T, c *dojotest.Cluster, parents ...parentStatus) {
	t.Helper()
	applytest.EditStatus(t, c.Server, "envoy-gateway", routeOf(t, c), func(route *unstructured.Unstructured) {
		var all []any
		for _, parent := range parents {
			for i := range parent.Conditions {
				parent.Conditions[i].ObservedGeneration += route.GetGeneration()
			}
			all = append(all, apply.As[map[string]any](parent))
		}
		route.Object["status"] = map[string]any{"parents": all}
	})
}

func of(namespace, name, section string, all ...metav1.Condition) parentStatus {
	return parentStatus{corev1api.GatewayReference{Name: name, Namespace: namespace, SectionName: section}, all}
}

func is(kind string, status metav1.ConditionStatus) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: "Because", Message: "No listener fits."}
}

func before(c metav1.Condition) metav1.Condition {
	c.ObservedGeneration--
	return c
}

func TestRoute(t *testing.T) {
	t.Parallel()
	const waiting, late, refused = "Progressing/WaitingForGateway", "Degraded/GatewayNotReady", "Degraded/RouteRefused"
	yes, no := is("Accepted", metav1.ConditionTrue), is("Accepted", metav1.ConditionFalse)
	resolved, unresolved := is("ResolvedRefs", metav1.ConditionTrue), is("ResolvedRefs", metav1.ConditionFalse)
	public := func(all ...metav1.Condition) parentStatus { return of("infra", "public", "https", all...) }
	own := func(all ...metav1.Condition) parentStatus { return of("", "own", "", all...) }
	cases := map[string]struct {
		parents []parentStatus
		waited  time.Duration
		want    string
		reached bool
	}{
		"no report":                             {nil, 0, waiting, false},
		"no report for long":                    {nil, time.Hour, late, false},
		"report of another Gateway":             {[]parentStatus{of("", "public", "https", no)}, 0, waiting, false},
		"report of another listener":            {[]parentStatus{of("infra", "public", "http", no)}, 0, waiting, false},
		"only one of two Gateways has reported": {[]parentStatus{public(yes, resolved)}, 0, waiting, true},
		"accepted by both Gateways":             {[]parentStatus{public(yes, resolved), own(yes, resolved)}, 0, "", true},
		"accepted by both Gateways, one report adds the namespace that the spec omits": {[]parentStatus{public(yes), of("school", "own", "", yes)}, 0, "", true},
		"refused by one of two Gateways":                                               {[]parentStatus{public(yes, resolved), own(no, resolved)}, 0, refused, true},
		"refused by both Gateways":                                                     {[]parentStatus{public(no), own(no)}, 0, refused, false},
		"accepted with unresolved references":                                          {[]parentStatus{public(yes, unresolved), own(yes, resolved)}, 0, refused, true},
		"acceptance by one Gateway is unknown":                                         {[]parentStatus{public(is("Accepted", metav1.ConditionUnknown)), own(yes)}, 0, waiting, true},
		"refused before a change":                                                      {[]parentStatus{public(before(no)), own(yes)}, 0, waiting, true},
		"accepted before a change":                                                     {[]parentStatus{public(before(yes)), own(before(yes))}, 0, waiting, false},
		"accepted by one of two controllers of a Gateway": {
			[]parentStatus{public(no), public(yes), own(yes)}, 0, "", true,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dojo := dojotest.Dojo(byGateway)
			if c.waited > 0 {
				dojotest.WaitingFor("Gateway infra/public (listener https)", c.waited)(dojo)
			}
			cluster := dojotest.NewCluster(t)
			do(t, cluster, dojotest.Dojo(byGateway, func(dojo *corev1api.Dojo) { dojo.Spec.Exposure.Hosts = []corev1api.Hostname{"a"} }))
			_, plan := planFor(t, cluster, dojo) // no controller has reported on the change yet
			if got := dojotest.Worst(plan.Issues); got != waiting && got != late {
				t.Errorf("before a Gateway reports on the change: %s", got)
			}
			cluster.Run(t.Context(), dojo, plan)
			report(t, cluster, c.parents...)
			s, plan := planFor(t, cluster, dojo)
			if got := dojotest.Worst(plan.Issues); got != c.want || plan.Apply != nil || plan.Delete != nil {
				t.Errorf("is %s, want %s; plans %+v", got, c.want, plan)
			}
			if reached := Status(dojo, s) != nil; reached != c.reached {
				t.Errorf("reached is %v", reached)
			}
			if c.want == refused && !strings.Contains(plan.Issues[0].Message, "=False (Because): No listener fits. Change") {
				t.Error(plan.Issues[0].Message)
			}
		})
	}
}

func TestRouteMatchesTheSpec(t *testing.T) {
	t.Parallel()
	dojo := dojotest.Dojo(byGateway)
	c := dojotest.NewCluster(t)
	_, plan := planFor(t, c, dojo)
	c.Run(t.Context(), dojo, plan)
	live := routeOf(t, c)
	want := map[string]any{
		"hostnames": []any{"dojo.example.org"},
		"parentRefs": []any{
			map[string]any{"group": Group, "kind": "Gateway", "name": "public", "namespace": "infra", "sectionName": "https"},
			map[string]any{"group": Group, "kind": "Gateway", "name": "own"},
		},
		"rules": []any{map[string]any{
			"matches": []any{map[string]any{"path": map[string]any{"type": "PathPrefix", "value": "/"}}},
			"backendRefs": []any{map[string]any{
				"group": "", "kind": "Service", "name": "tokyo", "port": int64(81), "weight": int64(1),
			}},
		}},
	}
	if diff := cmp.Diff(want, live.Object["spec"]); diff != "" {
		t.Error(diff)
	}
	if !metav1.IsControlledBy(live, dojo) || !ownership.LabelledFor("tokyo", live) {
		t.Errorf("metadata is %v", live.Object["metadata"])
	}
	live.Object["status"] = map[string]any{"parents": "none of ours"}
	if got := reported(live); got != nil {
		t.Errorf("a status of another form has the reports %v", got)
	}
}

// A switch between Ingress and HTTPRoute loses no request.
func TestSwitch(t *testing.T) {
	t.Parallel()
	c := dojotest.NewCluster(t)
	do(t, c, dojotest.Dojo(byIngress))
	dojo := dojotest.Dojo(byGateway)
	_, plan := planFor(t, c, dojo)
	c.Run(t.Context(), dojo, plan)
	if ingressOf(t, c) == nil || routeOf(t, c) == nil {
		t.Error("the Ingress is gone before the route is accepted")
	}
	yes := is("Accepted", metav1.ConditionTrue)
	report(t, c, of("infra", "public", "https", yes), of("", "own", "", yes))
	do(t, c, dojo)
	if ingressOf(t, c) != nil || routeOf(t, c) == nil {
		t.Error("the Ingress stays")
	}
	dojo = dojotest.Dojo(byIngress)
	for _, want := range []string{"Progressing/WaitingForIngress", "Progressing/WaitingForIngress", "Degraded/IngressNotReady"} {
		_, plan := planFor(t, c, dojo)
		c.Run(t.Context(), dojo, plan)
		if got := dojotest.Worst(plan.Issues); got != want || ingressOf(t, c) == nil || routeOf(t, c) == nil {
			t.Errorf("before the Ingress has an address: %s, want %s; the route is %v", got, want, routeOf(t, c))
		}
		if plan.Apply == nil {
			dojotest.WaitingFor("Ingress school/tokyo", time.Hour)(dojo)
		}
	}
	applytest.EditStatus(t, c.Server, "ingress-nginx", ingressOf(t, c), func(ingress *networkingv1.Ingress) {
		ingress.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{IP: "192.0.2.1"}}
	})
	do(t, c, dojo)
	if ingressOf(t, c) == nil || routeOf(t, c) != nil {
		t.Error("the route stays")
	}
}

// An Ingress or HTTPRoute that is being deleted may have an address or an acceptance, but it does
// not serve much longer, so the other object stays.
func TestSwitchBackDuringADeletion(t *testing.T) {
	t.Parallel()
	leaving := metav1.NewTime(dojotest.Noon)
	c := dojotest.NewCluster(t)
	do(t, c, dojotest.Dojo(byIngress))
	do(t, c, dojotest.Dojo(byGateway))
	yes := is("Accepted", metav1.ConditionTrue)
	report(t, c, of("infra", "public", "https", yes), of("", "own", "", yes))
	s, _ := planFor(t, c, dojotest.Dojo(byIngress))
	s.Ingress.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{IP: "192.0.2.1"}}
	s.Ingress.DeletionTimestamp = &leaving
	if plan := Plan(dojotest.Dojo(byIngress), s, service, testConfig); plan.Delete != nil ||
		dojotest.Worst(plan.Issues) != "Progressing/WaitingForIngress" {
		t.Errorf("while the Ingress is being deleted, the plan is %+v", plan)
	}
	s.Ingress.DeletionTimestamp = nil
	s.Route.SetDeletionTimestamp(&leaving)
	if plan := Plan(dojotest.Dojo(byGateway), s, service, testConfig); plan.Delete != nil {
		t.Errorf("while the HTTPRoute is being deleted, the plan is %+v", plan)
	}
}

// An HTTPRoute that no Gateway has accepted serves no requests, so it is deleted at once.
func TestAnUnservedRouteIsDeletedAtOnce(t *testing.T) {
	t.Parallel()
	c := dojotest.NewCluster(t)
	dojo := dojotest.Dojo(byGateway)
	_, plan := planFor(t, c, dojo)
	c.Run(t.Context(), dojo, plan)
	report(t, c, of("infra", "public", "https", is("Accepted", metav1.ConditionFalse)))
	do(t, c, dojotest.Dojo(byIngress))
	if ingressOf(t, c) == nil || routeOf(t, c) != nil {
		t.Error("the route stays")
	}
}

func TestWithoutTheGatewayAPI(t *testing.T) {
	t.Parallel()
	s := State{Now: dojotest.Noon, NoRoutes: true}
	plan := Plan(dojotest.Dojo(byGateway), s, service, testConfig)
	if plan.Apply != nil || dojotest.Worst(plan.Issues) != "Degraded/GatewayAPINotInstalled" {
		t.Errorf("plans %+v", plan)
	}
	for _, dojo := range []*corev1api.Dojo{dojotest.Dojo(), dojotest.Dojo(byIngress)} {
		if plan := Plan(dojo, s, service, testConfig); plan.Issues != nil {
			t.Errorf("no route is desired, but the issues are %+v", plan.Issues)
		}
	}
}
