// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
)

func exposed(class string) func(*corev1api.Dojo) {
	return func(dojo *corev1api.Dojo) {
		dojo.Spec.Exposure = &corev1api.Exposure{
			Hosts: []corev1api.Hostname{"dojo.example.org", "tokyo.example.org"},
			Ingress: &corev1api.IngressExposure{
				ClassName: class, Annotations: map[string]string{"cert-manager.io/cluster-issuer": "letsencrypt"},
			},
			TLS: &corev1api.ExposureTLS{SecretName: "dojo-tls"},
		}
	}
}

func routed(hosts ...corev1api.Hostname) func(*corev1api.Dojo) {
	return func(dojo *corev1api.Dojo) {
		dojo.Spec.Exposure = &corev1api.Exposure{Hosts: hosts, Gateway: &corev1api.GatewayExposure{
			ParentRefs: []corev1api.GatewayReference{{Name: "public", Namespace: "infra", SectionName: "https"}},
		}}
	}
}

func routeOf(dojo *corev1api.Dojo) *unstructured.Unstructured {
	return ofKind("HTTPRoute", dojo.Namespace, dojo.Name)
}

func gatewaySays(ctx context.Context, dojo *corev1api.Dojo, all ...metav1.Condition) {
	GinkgoHelper()
	route := routeOf(dojo)
	Eventually(ctx, func(ctx context.Context) error {
		if err := k8s.Get(ctx, client.ObjectKeyFromObject(route), route); err != nil {
			return err
		}
		var conditions []metav1.Condition
		for _, c := range all {
			c.ObservedGeneration = route.GetGeneration()
			meta.SetStatusCondition(&conditions, c)
		}
		var reported []any
		for _, c := range conditions {
			reported = append(reported, map[string]any{
				"type": c.Type, "status": string(c.Status), "reason": c.Reason, "message": c.Message,
				"observedGeneration": c.ObservedGeneration, "lastTransitionTime": c.LastTransitionTime.Format(time.RFC3339),
			})
		}
		route.Object["status"] = map[string]any{"parents": []any{map[string]any{
			"controllerName": "example.org/gateway", "conditions": reported,
			"parentRef": map[string]any{
				"group": "gateway.networking.k8s.io", "kind": "Gateway",
				"namespace": "infra", "name": "public", "sectionName": "https",
			},
		}}}
		return k8s.Status().Update(ctx, route, client.FieldOwner("gateway"))
	}).Should(Succeed())
}

func gatewayAccepts(ctx context.Context, dojo *corev1api.Dojo) {
	GinkgoHelper()
	gatewaySays(ctx, dojo, metav1.Condition{Type: "Accepted", Status: metav1.ConditionTrue, Reason: "Accepted"},
		metav1.Condition{Type: "ResolvedRefs", Status: metav1.ConditionTrue, Reason: "ResolvedRefs"})
}

var _ = Describe("An exposed Dojo", func() {
	var ns string
	BeforeEach(func(ctx context.Context) { ns = newNamespace(ctx) })

	routedDojo := func(ctx context.Context) *corev1api.Dojo {
		GinkgoHelper()
		Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
		dojo := newDojo(ns, "tokyo", routed("dojo.example.org"))
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		gatewayAccepts(ctx, dojo)
		eventuallyReady(ctx, dojo)
		return dojo
	}

	It("behind a Gateway has an HTTPRoute that follows the spec", func(ctx context.Context) {
		dojo := routedDojo(ctx)
		route := routeOf(dojo)
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(route), route)).To(Succeed())
		Expect(metav1.IsControlledBy(route, dojo)).To(BeTrue())
		Expect(field(route, "spec.parentRefs")).To(Equal([]any{map[string]any{"group": "gateway.networking.k8s.io",
			"kind": "Gateway", "namespace": "infra", "name": "public", "sectionName": "https"}}))
		Expect(valueAt(route, "/spec/rules/0/backendRefs")).To(Equal([]any{map[string]any{
			"group": "", "kind": "Service", "name": "tokyo", "port": int64(80), "weight": int64(1)}}))
		Expect(dojo.Status.Hosts).To(Equal([]corev1api.Hostname{"dojo.example.org"}))
		Expect(withoutStatus(operator.WritesAtRest(ns))).To(ConsistOf("create secrets/tokyo-credentials",
			"create deployments/tokyo", "create services/tokyo", "create httproutes/tokyo"))

		By("changing the HTTPRoute by hand")
		edit(ctx, route, func(o *unstructured.Unstructured) {
			setAt(o, "/spec/hostnames", []any{"other.example.org"})
			setAt(o, "/spec/rules", []any{map[string]any{"backendRefs": []any{map[string]any{"name": "other", "port": int64(80)}}}})
		})
		Eventually(ctx, refetch(route)).Should(And(haveField("spec.hostnames", []any{"dojo.example.org"}),
			WithTransform(func(o *unstructured.Unstructured) any {
				return valueAt(o, "/spec/rules/0/backendRefs/0/name")
			}, Equal("tokyo"))))

		By("changing the spec")
		Eventually(ctx, refetch(dojo)).Should(HaveCondition("Progressing", "True", corev1api.ReasonWaitingForGateway),
			"the controller's report is for an earlier generation")
		Expect(dojo).To(HaveCondition("Available", "True", ""))
		Eventually(ctx, eventsOf(dojo)).Should(ContainElement("Normal DriftCorrected"))
		gatewayAccepts(ctx, dojo)
		eventuallyReady(ctx, dojo)
		edit(ctx, dojo, routed("a.example.org", "b.example.org"))
		Eventually(ctx, refetch(route)).Should(haveField("spec.hostnames", []any{"a.example.org", "b.example.org"}))
		gatewayAccepts(ctx, dojo)
		eventuallyReady(ctx, dojo)
		Expect(dojo.Status.Hosts).To(Equal([]corev1api.Hostname{"a.example.org", "b.example.org"}))

		By("removing the exposure")
		edit(ctx, dojo, func(dojo *corev1api.Dojo) { dojo.Spec.Exposure = nil })
		eventuallyGone(ctx, route)
		eventuallyReady(ctx, dojo)
		Expect(dojo.Status.Hosts).To(BeEmpty())
	})

	It("behind a Gateway reports that the Gateway's controller refuses the HTTPRoute", func(ctx context.Context) {
		dojo := routedDojo(ctx)
		for _, refused := range []metav1.Condition{
			{Type: "Accepted", Status: metav1.ConditionFalse, Reason: "NotAllowedByListeners", Message: "Namespace is not allowed."},
			{Type: "ResolvedRefs", Status: metav1.ConditionFalse, Reason: "BackendNotFound", Message: "Service is not found."},
		} {
			gatewaySays(ctx, dojo, metav1.Condition{Type: "Accepted", Status: metav1.ConditionTrue, Reason: "Accepted"}, refused)
			Eventually(ctx, refetch(dojo)).Should(And(HaveCondition("Degraded", "True", corev1api.ReasonRouteRefused),
				haveMessage("Degraded", And(ContainSubstring("Gateway infra/public (listener https)"),
					ContainSubstring(refused.Type+"=False ("+refused.Reason+"): "+refused.Message)))))
			Expect(dojo.Status.Hosts).To(BeEmpty())
			Expect(dojo).To(HaveCondition("Available", "True", ""), "clients in the cluster should still reach the Dojo")
		}
		gatewayAccepts(ctx, dojo)
		eventuallyReady(ctx, dojo)
	})

	It("waits for a Gateway to accept its HTTPRoute, and is Degraded after the deadline", func(ctx context.Context) {
		dojo := newDojo(ns, "tokyo", routed("dojo.example.org"))
		Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		Eventually(ctx, refetch(dojo)).Should(HaveCondition("Progressing", "True", corev1api.ReasonWaitingForGateway))
		eventuallyDegraded(ctx, dojo, corev1api.ReasonGatewayNotReady)
		gatewayAccepts(ctx, dojo)
		eventuallyReady(ctx, dojo)
	})

	It("moves from an Ingress to a Gateway and back, and keeps each until the other serves", func(ctx context.Context) {
		dojo := runningDojo(ctx, ns, exposed("nginx"))
		ingress, route := ingressOf(dojo), routeOf(dojo)
		edit(ctx, dojo, routed("dojo.example.org"))
		Eventually(ctx, refetch(dojo)).Should(HaveCondition("Progressing", "True", corev1api.ReasonWaitingForGateway))
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(ingress), ingress)).
			To(Succeed(), "the Ingress serves until a Gateway has the route")
		gatewayAccepts(ctx, dojo)
		eventuallyGone(ctx, ingress)
		eventuallyReady(ctx, dojo)
		edit(ctx, dojo, exposed("nginx"))
		eventuallyDegraded(ctx, dojo, corev1api.ReasonIngressNotReady)
		Expect(message(dojo, "Degraded")).To(HaveSuffix("`kubectl delete httproutes.gateway.networking.k8s.io tokyo -n " + ns + "`."))
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(route), route)).
			To(Succeed(), "the route serves until the Ingress has an address")
		Eventually(ctx, func(ctx context.Context) error {
			if err := k8s.Get(ctx, client.ObjectKeyFromObject(ingress), ingress); err != nil {
				return err
			}
			ingress.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{IP: "192.0.2.1"}}
			return k8s.Status().Update(ctx, ingress)
		}).Should(Succeed())
		eventuallyGone(ctx, route)
		eventuallyReady(ctx, dojo)
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(ingress), ingress)).To(Succeed())
	})

	It("behind a Gateway does not change an unowned HTTPRoute of the same name", func(ctx context.Context) {
		foreign := routeOf(newDojo(ns, "tokyo"))
		foreign.Object["spec"] = map[string]any{"hostnames": []any{"theirs.example.org"}}
		Expect(k8s.Create(ctx, foreign)).To(Succeed())
		dojo := runningDojo(ctx, ns)
		edit(ctx, dojo, routed("dojo.example.org"))
		eventuallyDegraded(ctx, dojo, corev1api.ReasonNameConflict)
		Expect(message(dojo, "Degraded")).To(ContainSubstring("HTTPRoute " + ns + "/tokyo"))
		Expect(refetch(foreign)(ctx)).To(haveField("spec.hostnames", []any{"theirs.example.org"}))
		Expect(k8s.Delete(ctx, foreign)).To(Succeed())
		gatewayAccepts(ctx, dojo)
		eventuallyReady(ctx, dojo)
	})

	It("moves from an Ingress to a Gateway only once the Gateway API is installed", func(ctx context.Context) {
		uninstall(ctx, "gateway.networking.k8s.io")
		dojo := runningDojo(ctx, ns, exposed("nginx"))
		edit(ctx, dojo, routed("dojo.example.org"))
		eventuallyDegraded(ctx, dojo, corev1api.ReasonGatewayAPINotInstalled)
		Expect(message(dojo, "Degraded")).To(ContainSubstring("does not have its kind HTTPRoute, or does not let dojo-operator read it. Install the Gateway API"))
		Expect(k8s.Get(ctx, nameOf(ns, "tokyo"), ingressOf(dojo))).To(Succeed(), "the Ingress serves meanwhile")
		installOptional(ctx)
		gatewayAccepts(ctx, dojo)
		eventuallyReady(ctx, dojo)
		eventuallyGone(ctx, ingressOf(dojo))
	})

	It("behind an Ingress has several hosts, one certificate and the annotations of its spec", func(ctx context.Context) {
		dojo := runningDojo(ctx, ns, exposed("nginx"))
		ingress := ingressOf(dojo)
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(ingress), ingress)).To(Succeed())
		Expect(ingress.Annotations).To(HaveKeyWithValue("cert-manager.io/cluster-issuer", "letsencrypt"))
		Expect(ingress.Spec.Rules).To(HaveExactElements(
			HaveField("Host", "dojo.example.org"), HaveField("Host", "tokyo.example.org")))
		Expect(ingress.Spec.TLS).To(Equal([]networkingv1.IngressTLS{
			{Hosts: []string{"dojo.example.org", "tokyo.example.org"}, SecretName: "dojo-tls"}}))
		Eventually(ctx, refetch(dojo)).
			Should(HaveField("Status.Hosts", Equal([]corev1api.Hostname{"dojo.example.org", "tokyo.example.org"})))
		edit(ctx, ingress, func(o *networkingv1.Ingress) {
			o.Annotations["cert-manager.io/cluster-issuer"] = "other"
			o.Annotations["example.org/theirs"] = "stays"
		})
		Eventually(ctx, refetch(ingress)).Should(HaveField("Annotations", And(
			HaveKeyWithValue("cert-manager.io/cluster-issuer", "letsencrypt"), HaveKeyWithValue("example.org/theirs", "stays"))))
		edit(ctx, dojo, func(dojo *corev1api.Dojo) {
			dojo.Spec.Exposure.Ingress.Annotations, dojo.Spec.Exposure.TLS = nil, nil
			dojo.Spec.Exposure.Hosts = dojo.Spec.Exposure.Hosts[:1]
		})
		Eventually(ctx, refetch(ingress)).Should(And(HaveField("Spec.Rules", HaveLen(1)), HaveField("Spec.TLS", BeEmpty()),
			HaveField("Annotations", Not(HaveKey("cert-manager.io/cluster-issuer")))))
		eventuallyReady(ctx, dojo)
	})

	byGateway := func(refs ...any) map[string]any {
		return map[string]any{"hosts": []any{"a.example.org"}, "gateway": map[string]any{"parentRefs": refs}}
	}
	public := map[string]any{"name": "public", "namespace": "infra"}
	listener := func(name string) map[string]any {
		return map[string]any{"name": "public", "namespace": "infra", "sectionName": name}
	}
	byIngress := func(annotations map[string]any) map[string]any {
		return map[string]any{"hosts": []any{"a.example.org"}, "ingress": map[string]any{"annotations": annotations}}
	}
	DescribeTable("when it is created", func(ctx context.Context, change func(map[string]any), want string) {
		o := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "core.jutsu.com/v1", "kind": "Dojo", "metadata": map[string]any{"namespace": ns, "name": "tokyo"},
			"spec": map[string]any{"accountId": "a", "title": "b", "credentialsRef": map[string]any{"name": "c"}},
		}}
		change(o.Object)
		if want == "" {
			Expect(k8s.Create(ctx, o)).To(Succeed())
			return
		}
		Expect(k8s.Create(ctx, o)).To(MatchError(ContainSubstring(want)))
	},
		Entry("is refused with neither an Ingress nor a Gateway",
			at("exposure", map[string]any{"hosts": []any{"a.example.org"}}),
			"exactly one of ingress and gateway is required"),
		Entry("is refused with both an Ingress and a Gateway",
			all(at("exposure", byGateway(public)), at("exposure.ingress", map[string]any{})),
			"exactly one of ingress and gateway is required"),
		Entry("is refused without a host",
			all(at("exposure", byGateway(public)), at("exposure.hosts", []any{})), "should have at least 1 items"),
		Entry("is refused with a host twice", all(at("exposure", byGateway(public)),
			at("exposure.hosts", []any{"a.example.org", "a.example.org"})), "Duplicate value"),
		Entry("is refused with an invalid host",
			all(at("exposure", byGateway(public)), at("exposure.hosts", []any{"*.example.org"})),
			"must be a host name"),
		Entry("is refused with a Gateway and a certificate", all(at("exposure", byGateway(public)),
			at("exposure.tls", map[string]any{"secretName": "a"})), "the listener of the Gateway has the certificate"),
		Entry("is refused with a gateway that has no parentRefs",
			at("exposure", byGateway()), "spec.exposure.gateway.parentRefs: Required value"),
		Entry("is refused with a Gateway twice",
			at("exposure", byGateway(public, public)), "each entry needs a different sectionName"),
		Entry("is refused with a whole Gateway and also one of its listeners",
			at("exposure", byGateway(public, listener("https"))), "each entry needs a different sectionName"),
		Entry("is accepted with two listeners of one Gateway",
			at("exposure", byGateway(listener("http"), listener("https"))), ""),
		Entry("is accepted with two Gateways of the same name in different namespaces",
			at("exposure", byGateway(public, map[string]any{"name": "public"})), ""),
		Entry("is refused with an Ingress annotation that only the operator sets",
			at("exposure", byIngress(map[string]any{"jutsu.com/created-shape": "x"})),
			"annotations that begin with jutsu.com/ or core.jutsu.com/ are the operator's own"),
		Entry("is refused with the Ingress class as an annotation",
			at("exposure", byIngress(map[string]any{"kubernetes.io/ingress.class": "x"})),
			"name the class in className, not in the annotation kubernetes.io/ingress.class"),
	)

	It("cannot be updated to drop the className of its existing Ingress", func(ctx context.Context) {
		dojo := runningDojo(ctx, ns, func(dojo *corev1api.Dojo) {
			exposed("nginx")(dojo)
		})
		try := func(change func(*corev1api.Dojo)) func(context.Context) error {
			return func(ctx context.Context) error {
				if err := k8s.Get(ctx, client.ObjectKeyFromObject(dojo), dojo); err != nil {
					return err
				}
				change(dojo)
				return k8s.Update(ctx, dojo)
			}
		}
		refused := MatchError(ContainSubstring("className of the Ingress cannot be removed"))
		Eventually(ctx, try(exposed(""))).Should(refused)
		Eventually(ctx, try(exposed("internal"))).Should(Succeed())
		Eventually(ctx, try(exposed(""))).Should(refused)
		Eventually(ctx, try(routed("dojo.example.org"))).Should(Succeed())
		Eventually(ctx, try(exposed(""))).Should(Succeed(), "the spec had no Ingress before this edit")
	})
})
