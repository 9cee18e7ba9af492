// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
)

func ingressOf(dojo *corev1api.Dojo) *networkingv1.Ingress {
	return &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: dojo.Namespace, Name: dojo.Name}}
}

var _ = Describe("A Dojo with an Ingress, monitoring and scheduling constraints", func() {
	var ns string
	BeforeEach(func(ctx context.Context) { ns = newNamespace(ctx) })

	everything := func(dojo *corev1api.Dojo) {
		dojo.Spec.Exposure = &corev1api.Exposure{Hosts: []corev1api.Hostname{"dojo.example.org"},
			Ingress: &corev1api.IngressExposure{ClassName: "nginx"}, TLS: &corev1api.ExposureTLS{SecretName: "dojo-tls"}}
		dojo.Spec.Monitoring = &corev1api.Monitoring{Enabled: true, Labels: map[string]string{"release": "prometheus"}}
		dojo.Spec.Image = "registry.example.org/own:2"
		dojo.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "pull"}}
		dojo.Spec.Resources = &corev1.ResourceRequirements{
			Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1000m")},
		}
		dojo.Spec.Env = []corev1.EnvVar{{Name: "LOG_LEVEL", Value: "debug"}, {Name: "CPU", ValueFrom: &corev1.EnvVarSource{
			ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.cpu"},
		}}}
		dojo.Spec.Tolerations = []corev1.Toleration{{Key: "spot", Operator: corev1.TolerationOpExists}}
		dojo.Spec.NodeSelector = map[string]string{"kubernetes.io/os": "linux"}
		dojo.Spec.Affinity = &corev1api.Affinity{NodeAffinity: &corev1api.NodeAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1api.PreferredSchedulingTerm{{
				Weight: 1, Preference: corev1api.NodeSelectorTerm{
					MatchExpressions: []corev1api.NodeSelectorRequirement{{Key: "a", Operator: "Exists"}},
				},
			}},
		}}
		dojo.Spec.TopologySpreadConstraints = []corev1api.TopologySpreadConstraint{
			{MaxSkew: 1, TopologyKey: "topology.kubernetes.io/zone", WhenUnsatisfiable: "ScheduleAnyway"},
		}
	}

	It("causes one write per object, "+
		"and no further write when another client sets fields that the operator does not set", func(ctx context.Context) {
		dojo := runningDojo(ctx, ns, everything)
		writes := operator.WritesAtRest(ns)
		AddReportEntry("writes of a Dojo with everything but a database", writes)
		Expect(withoutStatus(writes)).
			To(ConsistOf("create secrets/tokyo-credentials", "create deployments/tokyo", "create services/tokyo",
				"create ingresses/tokyo", "create servicemonitors/tokyo", "create prometheusrules/tokyo"))
		edit(ctx, serviceOf(dojo), func(s *corev1.Service) { metav1.SetMetaDataAnnotation(&s.ObjectMeta, "a", "b") })
		edit(ctx, ofKind("PrometheusRule", ns, "tokyo"), func(o *unstructured.Unstructured) {
			groups, _, _ := unstructured.NestedSlice(o.Object, "spec", "groups")
			groups = append(groups, map[string]any{"name": "theirs", "rules": []any{}})
			Expect(unstructured.SetNestedSlice(o.Object, groups, "spec", "groups")).To(Succeed())
		})
		Consistently(func() []string { return withoutStatus(operator.Writes(ns)[len(writes):]) }).
			Should(BeEmpty(), "fields of other clients should not cause a write")
	})

	It("corrects drift of its Ingress, ServiceMonitor and PrometheusRule, "+
		"and deletes them when the spec drops them", func(ctx context.Context) {
		dojo := runningDojo(ctx, ns, everything)
		ingress := ingressOf(dojo)
		monitor, rule := ofKind("ServiceMonitor", ns, "tokyo"), ofKind("PrometheusRule", ns, "tokyo")
		for _, child := range []client.Object{ingress, monitor, rule} {
			Expect(k8s.Get(ctx, client.ObjectKeyFromObject(child), child)).To(Succeed())
			Expect(metav1.IsControlledBy(child, dojo)).To(BeTrue(), "%T should be controlled by the Dojo", child)
		}
		Expect(monitor.GetLabels()).To(HaveKeyWithValue("release", "prometheus"))
		edit(ctx, ingress, func(o *networkingv1.Ingress) { o.Spec.Rules[0].Host = "other.example.org" })
		edit(ctx, monitor, func(o *unstructured.Unstructured) {
			path := []string{"spec", "selector", "matchLabels", "app.kubernetes.io/instance"}
			Expect(unstructured.SetNestedField(o.Object, "other", path...)).To(Succeed())
		})
		edit(ctx, rule, func(o *unstructured.Unstructured) {
			groups, _, _ := unstructured.NestedSlice(o.Object, "spec", "groups")
			groups[0].(map[string]any)["rules"] = []any{}
			Expect(unstructured.SetNestedSlice(o.Object, groups, "spec", "groups")).To(Succeed())
		})
		Eventually(ctx, refetch(ingress)).
			Should(HaveField("Spec.Rules", HaveExactElements(HaveField("Host", "dojo.example.org"))))
		Eventually(ctx, refetch(monitor)).Should(haveField("spec.selector.matchLabels", map[string]any{
			"app.kubernetes.io/name": "dojo", "app.kubernetes.io/instance": "tokyo"}))
		Eventually(ctx, refetch(rule)).Should(WithTransform(func(o *unstructured.Unstructured) any {
			groups, _, _ := unstructured.NestedSlice(o.Object, "spec", "groups")
			return groups[0].(map[string]any)["rules"]
		}, Not(BeEmpty())))
		eventuallyReady(ctx, dojo)

		edit(ctx, dojo, func(dojo *corev1api.Dojo) { dojo.Spec.Exposure, dojo.Spec.Monitoring.Enabled = nil, false })
		for _, child := range []client.Object{ingress, monitor, rule} {
			eventuallyGone(ctx, child, "%T", child)
		}
		eventuallyReady(ctx, dojo)
	})

	It("reports a toleration that the API server refuses", func(ctx context.Context) {
		Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
		dojo := newDojo(ns, "tokyo", func(dojo *corev1api.Dojo) {
			dojo.Spec.Tolerations = []corev1.Toleration{{Key: "a", Operator: "Sometimes"}}
		})
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		eventuallyDegraded(ctx, dojo, corev1api.ReasonChildRefused)
		Expect(message(dojo, "Degraded")).To(ContainSubstring("spec.template.spec.tolerations[0].operator"))
		edit(ctx, dojo, func(dojo *corev1api.Dojo) { dojo.Spec.Tolerations = nil })
		eventuallyReady(ctx, dojo)
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(dojo), &appsv1.Deployment{})).To(Succeed())
	})

	It("is monitored as soon as prometheus-operator is installed", func(ctx context.Context) {
		uninstall(ctx, "monitoring.coreos.com")
		dojo := runningDojo(ctx, ns, everything)
		Expect(dojo).To(HaveCondition("Ready", "True", ""), "without the kinds there is nothing to create")
		installOptional(ctx)
		for _, kind := range []string{"ServiceMonitor", "PrometheusRule"} {
			Eventually(ctx,
				func(ctx context.Context) error { return k8s.Get(ctx, nameOf(ns, "tokyo"), ofKind(kind, ns, "tokyo")) }).
				Should(Succeed(), kind)
		}
		eventuallyReady(ctx, dojo)
	})
})
