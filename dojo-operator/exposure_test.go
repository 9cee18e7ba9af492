package main_test

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

func ingressOf(d *corev1api.Dojo) *networkingv1.Ingress {
	return &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name}}
}

var _ = Describe("A Dojo that is reached, watched and placed as its spec says", func() {
	var ns string
	BeforeEach(func(ctx context.Context) { ns = newNamespace(ctx) })

	everything := func(d *corev1api.Dojo) {
		d.Spec.Ingress = &corev1api.Ingress{Host: "dojo.example.org", ClassName: "nginx", TLSSecretName: "dojo-tls"}
		d.Spec.Monitoring = &corev1api.Monitoring{Enabled: true, Labels: map[string]string{"release": "prometheus"}}
		d.Spec.Image = "registry.example.org/own:2"
		d.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "pull"}}
		d.Spec.Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1000m")}}
		d.Spec.Env = []corev1.EnvVar{{Name: "LOG_LEVEL", Value: "debug"}, {Name: "CPU", ValueFrom: &corev1.EnvVarSource{
			ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.cpu"},
		}}}
		d.Spec.Tolerations = []corev1.Toleration{{Key: "spot", Operator: corev1.TolerationOpExists}}
		d.Spec.NodeSelector = map[string]string{"kubernetes.io/os": "linux"}
		d.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 1, Preference: corev1.NodeSelectorTerm{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "a", Operator: corev1.NodeSelectorOpExists}},
			}}},
		}}
		d.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
			{MaxSkew: 1, TopologyKey: "topology.kubernetes.io/zone", WhenUnsatisfiable: corev1.ScheduleAnyway},
		}
	}

	It("costs each write once, and none when nothing changes", func(ctx context.Context) {
		d := runningDojo(ctx, ns, everything)
		writes := operator.WritesAtRest(ns)
		AddReportEntry("writes of a Dojo with everything but a database", writes)
		Expect(withoutStatus(writes)).To(ConsistOf("patch secrets/tokyo-credentials", "patch deployments/tokyo", "patch services/tokyo",
			"patch ingresses/tokyo", "patch servicemonitors/tokyo", "patch prometheusrules/tokyo"))
		edit(ctx, serviceOf(d), func(s *corev1.Service) { s.Annotations = map[string]string{"a": "b"} })
		edit(ctx, ofKind("PrometheusRule", ns, "tokyo"), func(o *unstructured.Unstructured) {
			groups, _, _ := unstructured.NestedSlice(o.Object, "spec", "groups")
			groups = append(groups, map[string]any{"name": "theirs", "rules": []any{}})
			Expect(unstructured.SetNestedSlice(o.Object, groups, "spec", "groups")).To(Succeed())
		})
		Consistently(func() []string { return withoutStatus(operator.Writes(ns)[len(writes):]) }).Should(BeEmpty(), "what others add is no reason to write")
	})

	It("has children that are owned, go back when somebody edits them, and go when they are not wanted", func(ctx context.Context) {
		d := runningDojo(ctx, ns, everything)
		ingress, monitor, rule := ingressOf(d), ofKind("ServiceMonitor", ns, "tokyo"), ofKind("PrometheusRule", ns, "tokyo")
		for _, child := range []client.Object{ingress, monitor, rule} {
			Expect(k8s.Get(ctx, client.ObjectKeyFromObject(child), child)).To(Succeed())
			Expect(metav1.IsControlledBy(child, d)).To(BeTrue(), "%T should be owned", child)
		}
		Expect(monitor.GetLabels()).To(HaveKeyWithValue("release", "prometheus"))
		edit(ctx, ingress, func(o *networkingv1.Ingress) { o.Spec.Rules[0].Host = "evil.example.org" })
		edit(ctx, monitor, func(o *unstructured.Unstructured) {
			Expect(unstructured.SetNestedField(o.Object, "other", "spec", "selector", "matchLabels", "app.kubernetes.io/instance")).To(Succeed())
		})
		edit(ctx, rule, func(o *unstructured.Unstructured) {
			groups, _, _ := unstructured.NestedSlice(o.Object, "spec", "groups")
			groups[0].(map[string]any)["rules"] = []any{}
			Expect(unstructured.SetNestedSlice(o.Object, groups, "spec", "groups")).To(Succeed())
		})
		Eventually(ctx, refetch(ingress)).Should(HaveField("Spec.Rules", HaveExactElements(HaveField("Host", "dojo.example.org"))))
		Eventually(ctx, refetch(monitor)).Should(haveField("spec.selector.matchLabels", map[string]any{
			"app.kubernetes.io/name": "dojo", "app.kubernetes.io/instance": "tokyo"}))
		Eventually(ctx, refetch(rule)).Should(WithTransform(func(o *unstructured.Unstructured) any {
			groups, _, _ := unstructured.NestedSlice(o.Object, "spec", "groups")
			return groups[0].(map[string]any)["rules"]
		}, Not(BeEmpty())))
		eventuallyReady(ctx, d)

		edit(ctx, d, func(d *corev1api.Dojo) { d.Spec.Ingress, d.Spec.Monitoring.Enabled = nil, false })
		for _, child := range []client.Object{ingress, monitor, rule} {
			Eventually(ctx, func(ctx context.Context) error { return k8s.Get(ctx, client.ObjectKeyFromObject(child), child) }).ShouldNot(Succeed(), "%T", child)
		}
		eventuallyReady(ctx, d)
	})

	It("says when a quantity or a name is one that Kubernetes refuses", func(ctx context.Context) {
		Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
		d := newDojo(ns, "tokyo", func(d *corev1api.Dojo) {
			d.Spec.Tolerations = []corev1.Toleration{{Key: "a", Operator: "Sometimes"}}
		})
		Expect(k8s.Create(ctx, d)).To(Succeed())
		eventuallyDegraded(ctx, d, corev1api.ReasonChildRefused)
		Expect(message(d, "Degraded")).To(ContainSubstring("spec.template.spec.tolerations[0].operator"))
		edit(ctx, d, func(d *corev1api.Dojo) { d.Spec.Tolerations = nil })
		eventuallyReady(ctx, d)
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(d), &appsv1.Deployment{})).To(Succeed())
	})

	It("is monitored as soon as prometheus-operator is there", func(ctx context.Context) {
		uninstall(ctx, "monitoring.coreos.com")
		d := runningDojo(ctx, ns, everything)
		Expect(d).To(HaveCondition("Ready", "True", ""), "where the kinds do not exist there is nothing to do")
		installOptional()
		for _, kind := range []string{"ServiceMonitor", "PrometheusRule"} {
			Eventually(ctx, func(ctx context.Context) error { return k8s.Get(ctx, nameOf(ns, "tokyo"), ofKind(kind, ns, "tokyo")) }).Should(Succeed(), kind)
		}
		eventuallyReady(ctx, d)
	})
})
