// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
)

var _ = Describe("The fields of a Dojo's children", func() {
	var ns string
	BeforeEach(func(ctx context.Context) { ns = newNamespace(ctx) })

	It("are set by the request that creates the child, "+
		"and corrected in the same object after another client's edit", func(ctx context.Context) {
		dojo := dojoWithEverything(ctx, ns, "tokyo")
		writes := withoutStatus(operator.WritesAtRest(ns))
		const record = "patch databases/tokyo-db" // the operator records the digest of the SQL that has run
		Expect(writes).To(ContainElement(record))
		writes = slices.DeleteFunc(writes, func(write string) bool { return write == record })
		Expect(writes).To(HaveEach(HavePrefix("create ")))
		Expect(writes).To(HaveLen(len(appliedFields)+2),
			"the children in appliedFields, the Secret with the password and the Job, once each")

		password := appliedField{"Secret", "-db", "/metadata/labels/cnpg.io~1reload", "other"}
		for _, field := range append([]appliedField{password}, appliedFields...) {
			live := field.of(dojo)
			Expect(k8s.Get(ctx, client.ObjectKeyFromObject(live), live)).To(Succeed())
			uid, value, data := live.GetUID(), valueAt(live, field.pointer), live.Object["data"]
			Expect(value).NotTo(BeNil(), "%s of the %s", field.pointer, field.kind)
			edit(ctx, live, func(o *unstructured.Unstructured) { setAt(o, field.pointer, field.other) })
			Eventually(ctx, fieldAt(live, field.pointer)).Should(Equal(value), "%s of the %s", field.pointer, field.kind)
			Expect(live.GetUID()).To(Equal(uid), "the %s should be the same object", field.kind)
			if field.kind == "Secret" {
				Expect(live.Object["data"]).To(Equal(data), "the credentials should be the same")
			}
		}
		// The edit has changed the channel's generation, so the DiscordChannel needs a new status.
		postable(ctx, alertsChannelOf(dojo), "tokyo-alerts-webhook")
		eventuallyReady(ctx, dojo)
		Eventually(ctx, eventsOf(dojo)).Should(ContainElement("Normal DriftCorrected"))
	})

	// These lists and maps are atomic: a client that edits one item owns all items afterwards.
	watched := []struct {
		kind, pointer string
		extra         any
	}{
		{"Deployment", "/spec/template/spec/tolerations", map[string]any{"key": "other", "operator": "Exists"}},
		{"Deployment", "/spec/template/spec/nodeSelector", "linux"},
		{"ServiceMonitor", "/spec/endpoints", map[string]any{"port": "other"}},
		{"PrometheusRule", "/spec/groups/0/rules", map[string]any{"alert": "Other", "expr": "vector(1)"}},
	}
	type change func(value, extra any) any
	add := change(grown)
	remove := change(func(value, _ any) any { return shrunk(value) })
	DescribeTable("are corrected in atomic lists and maps "+
		"each time another client", func(ctx context.Context, first, second change) {
		dojo := runningDojo(ctx, ns, withOptions)
		for _, change := range []change{first, second} {
			for _, at := range watched {
				live := ofKind(at.kind, ns, "tokyo")
				before, err := fieldAt(live, at.pointer)(ctx)
				Expect(err).NotTo(HaveOccurred())
				edit(ctx, live, func(o *unstructured.Unstructured) {
					setAt(o, at.pointer, change(valueAt(o, at.pointer), at.extra))
				})
				Eventually(ctx, fieldAt(live, at.pointer)).Should(Equal(before), "%s of the %s", at.pointer, at.kind)
			}
		}
		eventuallyReady(ctx, dojo)
		Eventually(ctx, eventsOf(dojo)).Should(ContainElement("Normal DriftCorrected"))
	},
		Entry("removes an item after the child's create, and adds an item after the first correction", remove, add),
		Entry("adds an item after the child's create, and removes an item after the first correction", add, remove),
	)

	It("are removed when the spec drops their options, whether a create or an apply wrote the child last",
		func(ctx context.Context) {
			dojo := runningDojo(ctx, ns, withOptions)
			Expect(withoutStatus(operator.WritesAtRest(ns))).To(HaveEach(HavePrefix("create ")))
			deployment, ingress := ofKind("Deployment", ns, "tokyo"), ofKind("Ingress", ns, "tokyo")
			monitor, rule := ofKind("ServiceMonitor", ns, "tokyo"), ofKind("PrometheusRule", ns, "tokyo")
			Expect(refetch(rule)(ctx)).To(WithTransform(alertNames, ContainElements("DojoDown", "DojoErrors")))

			By("dropping one of two items")
			edit(ctx, dojo, func(dojo *corev1api.Dojo) {
				delete(dojo.Spec.NodeSelector, corev1.LabelArchStable)
				dojo.Spec.Tolerations = dojo.Spec.Tolerations[1:]
				dojo.Spec.Env = dojo.Spec.Env[1:]
				dojo.Spec.Exposure.TLS = nil
				delete(dojo.Spec.Monitoring.Labels, "team")
				dojo.Spec.Replicas = new(int32(0))
			})
			Eventually(ctx, refetch(deployment)).Should(And(
				haveField("spec.template.spec.nodeSelector", map[string]any{corev1.LabelOSStable: "linux"}),
				haveField("spec.template.spec.tolerations", HaveExactElements(HaveKeyWithValue("key", "reserved"))),
				WithTransform(variables, And(ContainElement("SHAPE"), Not(ContainElement("COLOUR"))))))
			Eventually(ctx, refetch(ingress)).Should(And(
				haveField("spec.ingressClassName", "nginx"), haveField("spec.tls", nil)))
			for _, child := range []*unstructured.Unstructured{monitor, rule} {
				Eventually(ctx, refetch(child)).Should(HaveField("GetLabels()",
					And(HaveKeyWithValue("release", "prometheus"), Not(HaveKey("team")))))
			}
			Eventually(ctx, refetch(rule)).Should(
				WithTransform(alertNames, And(ContainElement("DojoErrors"), Not(ContainElement("DojoDown")))))
			for _, child := range []*unstructured.Unstructured{deployment, ingress, monitor, rule} {
				Expect(operationsOn(child)(ctx)).To(ConsistOf(metav1.ManagedFieldsOperationApply),
					"the operator's entry should have changed from Update to Apply")
			}
			eventuallyGone(ctx, ofKind("PodDisruptionBudget", ns, "tokyo"))
			eventuallyReady(ctx, dojo)

			By("dropping the other item")
			edit(ctx, dojo, func(dojo *corev1api.Dojo) {
				dojo.Spec.NodeSelector, dojo.Spec.Tolerations, dojo.Spec.Env = nil, nil, nil
				dojo.Spec.Exposure.TLS = nil
				dojo.Spec.Monitoring.Labels = nil
			})
			Eventually(ctx, refetch(deployment)).Should(And(
				haveField("spec.template.spec.nodeSelector", nil), haveField("spec.template.spec.tolerations", nil),
				WithTransform(variables, Not(ContainElement("SHAPE")))))
			Eventually(ctx, refetch(ingress)).Should(haveField("spec.tls", nil))
			for _, child := range []*unstructured.Unstructured{monitor, rule} {
				Eventually(ctx, refetch(child)).Should(HaveField("GetLabels()", Not(HaveKey("release"))))
			}
			eventuallyReady(ctx, dojo)
			Expect(eventsOf(dojo)(ctx)).NotTo(ContainElement("Normal DriftCorrected"), "the spec changed, not the children")
		})
})

// withOptions sets most lists and maps to two items, so that a spec can remove one.
func withOptions(dojo *corev1api.Dojo) {
	replicas(2)(dojo)
	dojo.Spec.NodeSelector = map[string]string{corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64"}
	dojo.Spec.Tolerations = []corev1.Toleration{
		{Key: "spot", Operator: corev1.TolerationOpExists}, {Key: "reserved", Operator: corev1.TolerationOpExists},
	}
	dojo.Spec.Env = []corev1.EnvVar{{Name: "COLOUR", Value: "red"}, {Name: "SHAPE", Value: "round"}}
	dojo.Spec.Exposure = &corev1api.Exposure{Hosts: []corev1api.Hostname{"dojo.example.org"},
		Ingress: &corev1api.IngressExposure{ClassName: "nginx"}, TLS: &corev1api.ExposureTLS{SecretName: "dojo-tls"}}
	dojo.Spec.Monitoring = &corev1api.Monitoring{
		Enabled: true, Labels: map[string]string{"release": "prometheus", "team": "a"},
	}
}

func operationsOn(o *unstructured.Unstructured) func(context.Context) ([]metav1.ManagedFieldsOperationType, error) {
	return func(ctx context.Context) (all []metav1.ManagedFieldsOperationType, err error) {
		err = k8s.Get(ctx, client.ObjectKeyFromObject(o), o)
		for _, entry := range o.GetManagedFields() {
			if entry.Manager == operator.Name && entry.Subresource == "" {
				all = append(all, entry.Operation)
			}
		}
		return all, err
	}
}

func alertNames(rule *unstructured.Unstructured) []any {
	return namesAt(rule, "/spec/groups/0/rules", "alert")
}

func variables(deployment *unstructured.Unstructured) []any {
	return namesAt(deployment, "/spec/template/spec/containers/0/env", "name")
}

func namesAt(o *unstructured.Unstructured, pointer, key string) []any {
	items, _ := valueAt(o, pointer).([]any)
	var names []any
	for _, item := range items {
		names = append(names, item.(map[string]any)[key])
	}
	return names
}
