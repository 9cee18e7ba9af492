// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
)

var _ = Describe("Children that are rewritten by mutating admission policies", func() {
	const jobImage = "mirror.example.org/psql:17"

	It("stay as rewritten, and cause no repeated writes", func(ctx context.Context) {
		ns := newNamespace(ctx)
		// Dry-run writes of this Dojo's children show when the API server applies the policies.
		earlier := dojoWithEverything(ctx, ns, "kyoto")
		for _, field := range appliedFields {
			rewrite(ctx, field, ns, admissionv1.Create, admissionv1.Update)
		}
		rewrite(ctx, appliedField{"Job", "", "/spec/template/spec/containers/0/image", jobImage}, ns, admissionv1.Create)
		for _, field := range appliedFields {
			Eventually(ctx, rewritten(field, earlier)).Should(Equal(field.other), "the policy for the kind %s", field.kind)
		}
		Eventually(ctx, rewrittenJob(ns)).Should(Equal(jobImage), "the policy for the kind Job")

		dojo := dojoWithEverything(ctx, ns, "tokyo")
		expectAtRest := func() {
			GinkgoHelper()
			before := 0
			Eventually(func() []string { // a reconcile for another reason may still write
				writes := operator.Writes(ns)[before:]
				before += len(writes)
				return writes
			}).WithPolling(3*time.Second).Should(BeEmpty(), "the operator should not go on writing")
			Expect(refetch(dojo)(ctx)).To(HaveCondition("Ready", "True", ""))
			Expect(refetch(earlier)(ctx)).To(HaveCondition("Ready", "True", ""))
		}
		expectAtRest()
		for _, field := range appliedFields {
			Expect(fieldAt(field.of(dojo), field.pointer)(ctx)).
				To(Equal(field.other), "%s of the %s", field.pointer, field.kind)
		}
		for _, job := range schemaJobs(ctx, dojo) {
			Expect(job.Spec.Template.Spec.Containers[0].Image).To(Equal(jobImage))
		}

		By("changing the spec of both Dojos")
		for _, dojo := range []*corev1api.Dojo{earlier, dojo} {
			edit(ctx, dojo, func(dojo *corev1api.Dojo) { dojo.Spec.Title = "Kyoto Jujutsu High" })
			eventuallyReady(ctx, dojo)
		}
		expectAtRest()
		Expect(eventsOf(dojo)(ctx)).NotTo(ContainElement("Normal DriftCorrected"), "a rewritten field is no drift")
	})
})

func rewrite(ctx context.Context, field appliedField, namespace string, operations ...admissionv1.OperationType) {
	GinkgoHelper()
	value, err := json.Marshal(field.other) // a JSON value is also a CEL expression
	Expect(err).NotTo(HaveOccurred())
	kind := ofKind(field.kind, namespace, "").GroupVersionKind()
	mapping, err := k8s.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	Expect(err).NotTo(HaveOccurred())
	policy := &admissionv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: strings.ToLower(field.kind) + field.suffix + "-of-" + namespace},
		Spec: admissionv1.MutatingAdmissionPolicySpec{
			ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
			MatchConstraints: &admissionv1.MatchResources{
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: operations,
					Rule: admissionv1.Rule{
						APIGroups: []string{kind.Group}, APIVersions: []string{kind.Version},
						Resources: []string{mapping.Resource.Resource},
					},
				}}},
			},
			MatchConditions: []admissionv1.MatchCondition{{
				Name: "name", Expression: fmt.Sprintf("object.metadata.name.endsWith(%q)", field.suffix),
			}, {
				// Objects that CloudNativePG creates may lack the field.
				Name: "not-of-cloudnative-pg",
				Expression: "!has(object.metadata.labels) || " +
					"!('app.kubernetes.io/managed-by' in object.metadata.labels) || " +
					"object.metadata.labels['app.kubernetes.io/managed-by'] != 'cloudnative-pg'",
			}},
			Mutations: []admissionv1.Mutation{{
				PatchType: admissionv1.PatchTypeJSONPatch,
				JSONPatch: &admissionv1.JSONPatch{
					Expression: fmt.Sprintf(`[JSONPatch{op: "replace", path: %q, value: %s}]`, field.pointer, value),
				},
			}},
		},
	}
	binding := &admissionv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: policy.Name},
		Spec: admissionv1.MutatingAdmissionPolicyBindingSpec{
			PolicyName: policy.Name,
			MatchResources: &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
				MatchLabels: map[string]string{corev1.LabelMetadataName: namespace},
			}},
		},
	}
	for _, o := range []client.Object{policy, binding} {
		Expect(k8s.Create(ctx, o)).To(Succeed())
		DeferCleanup(k8s.Delete, o)
	}
}

// rewritten sends a dry-run patch, because the API server then applies the policies.
func rewritten(field appliedField, dojo *corev1api.Dojo) func(context.Context) (any, error) {
	annotate := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"annotations": {"example.org/test": "1"}}}`))
	return func(ctx context.Context) (any, error) {
		o := field.of(dojo)
		err := k8s.Patch(ctx, o, annotate, client.DryRunAll)
		return valueAt(o, field.pointer), err
	}
}

func rewrittenJob(namespace string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "test"}}
		job.Spec.Template.Spec = corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "test", Image: "example.org/test"}},
		}
		err := k8s.Create(ctx, job, client.DryRunAll)
		return job.Spec.Template.Spec.Containers[0].Image, err
	}
}
