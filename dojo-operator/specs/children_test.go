// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
)

func nameOf(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

func budgetOf(dojo *corev1api.Dojo) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: dojo.Namespace, Name: dojo.Name}}
}

var _ = Describe("The children of a Dojo", func() {
	var ns string
	BeforeEach(func(ctx context.Context) { ns = newNamespace(ctx) })

	It("are created with an owner reference, and pass accountId and title to the application", func(ctx context.Context) {
		dojo := runningDojo(ctx, ns, replicas(3))
		for _, child := range []client.Object{deploymentOf(dojo), serviceOf(dojo), secretOf(dojo), budgetOf(dojo)} {
			Expect(k8s.Get(ctx, client.ObjectKeyFromObject(child), child)).To(Succeed())
			Expect(metav1.IsControlledBy(child, dojo)).To(BeTrue(), "%T should be controlled by the Dojo", child)
		}
		live := deploymentOf(dojo)
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(live), live)).To(Succeed())
		Expect(live.Spec.Template.Spec.Containers[0].Env).To(ContainElements(
			corev1.EnvVar{Name: "DOJO_ACCOUNT_ID", Value: "Masamichi Yaga"},
			corev1.EnvVar{Name: "DOJO_TITLE", Value: "Tokyo Jujutsu High"}))
		Expect(live.Spec.Selector.MatchLabels).To(Equal(map[string]string{
			"app.kubernetes.io/name": "dojo", "app.kubernetes.io/instance": "tokyo"}))

		Expect(dojo.Status).To(And(
			HaveField("Replicas", int32(3)), HaveField("ReadyReplicas", int32(3)), HaveField("UpdatedReplicas", int32(3)),
			HaveField("AvailableReplicas", int32(3)), HaveField("ReadyStatus", "3/3"),
			HaveField("Selector", "app.kubernetes.io/instance=tokyo,app.kubernetes.io/name=dojo"),
			HaveField("Endpoint", "tokyo."+ns+".svc:80")))
		Eventually(ctx, eventsOf(dojo)).Should(ContainElement("Normal Ready"))
	})

	It("are written once each when a Dojo is created, "+
		"and not again when another client sets fields that the operator does not set", func(ctx context.Context) {
		dojo := runningDojo(ctx, ns, replicas(2))
		children := []string{
			"create secrets/tokyo-credentials", "create deployments/tokyo", "create services/tokyo",
			"create poddisruptionbudgets/tokyo",
		}
		writes := operator.WritesAtRest(ns)
		Expect(withoutStatus(writes)).To(ConsistOf(children))

		By("causing another reconcile")
		created := len(writes)
		edit(ctx, deploymentOf(dojo), func(live *appsv1.Deployment) {
			live.Annotations["example.org/note"] = "of another client"
			live.Spec.Template.Labels["example.org/injected"] = "yes"
			live.Spec.RevisionHistoryLimit = new(int32(3))
		})
		eventuallyReady(ctx, dojo)
		Consistently(func() []string { return withoutStatus(operator.Writes(ns)[created:]) }).Should(BeEmpty(),
			"fields of other clients should not cause a write")
		live := deploymentOf(dojo)
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(live), live)).To(Succeed())
		Expect(live.Annotations).To(HaveKey("example.org/note"))
		Expect(live.Spec.Template.Labels).To(HaveKey("example.org/injected"))
	})

	It("cost two status updates (Progressing and Ready) and one event "+
		"when a Dojo with 0 replicas is created", func(ctx context.Context) {
		runningDojo(ctx, ns, replicas(0))         // creates the source Secret, for which the next Dojo would wait
		dojo := newDojo(ns, "kyoto", replicas(0)) // starting pods would change the counts in the status, too
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		eventuallyReady(ctx, dojo)
		writes := func() []string {
			return slices.DeleteFunc(operator.WritesAtRest(ns), func(w string) bool { return !strings.Contains(w, "/kyoto") })
		}
		each := ConsistOf("create secrets/kyoto-credentials", "create deployments/kyoto", "create services/kyoto",
			"patch dojos/kyoto/status", "patch dojos/kyoto/status")
		Expect(writes()).To(each)
		Eventually(ctx, eventsOf(dojo)).Should(ConsistOf("Normal Ready"))
		Consistently(ctx, eventsOf(dojo)).Should(ConsistOf("Normal Ready"))
		Expect(writes()).To(each)
	})

	It("are reported as ready again after another client empties the Dojo's status", func(ctx context.Context) {
		dojo := runningDojo(ctx, ns, replicas(0))
		before := dojo.Status.DeepCopy()
		empty := client.RawPatch(types.MergePatchType, []byte(`{"status": {"observedGeneration": 0, "conditions": []}}`))
		Expect(k8s.Status().Patch(ctx, dojo, empty)).To(Succeed())
		eventuallyReady(ctx, dojo)
		Expect(dojo.Status.ObservedGeneration).To(Equal(before.ObservedGeneration))
	})

	It("are created again after a user deletes them, and the Dojo gets new pods", func(ctx context.Context) {
		dojo := runningDojo(ctx, ns, replicas(2))
		pods, err := runningPods(dojo)(ctx)
		Expect(err).NotTo(HaveOccurred())
		for _, child := range []client.Object{deploymentOf(dojo), serviceOf(dojo), secretOf(dojo), budgetOf(dojo)} {
			Expect(k8s.Get(ctx, client.ObjectKeyFromObject(child), child)).To(Succeed())
			deleted := child.GetUID()
			Expect(k8s.Delete(ctx, child)).To(Succeed())
			Eventually(ctx, refetch(child)).ShouldNot(HaveField("UID", deleted), "the %T should be created again", child)
		}
		Eventually(ctx, runningPods(dojo)).
			Should(And(HaveLen(2), Not(ContainElement(pods[0])), Not(ContainElement(pods[1]))))
		eventuallyReady(ctx, dojo)
	})

	It("are corrected when another client edits them", func(ctx context.Context) {
		dojo := runningDojo(ctx, ns, replicas(2))
		deployment, service, secret, budget := deploymentOf(dojo), serviceOf(dojo), secretOf(dojo), budgetOf(dojo)
		edit(ctx, deployment, func(live *appsv1.Deployment) {
			live.Labels["app.kubernetes.io/name"] = "other"
			live.Spec.Replicas = new(int32(7))
			live.Spec.Template.Spec.Containers[0].Image = "example.org/other:1"
			live.Spec.Template.Spec.Containers[0].Env[0].Value = "another"
		})
		edit(ctx, service, func(live *corev1.Service) { live.Spec.Ports[0].TargetPort = intstr.FromInt32(9999) })
		wrong := newPassword()
		edit(ctx, secret, func(live *corev1.Secret) { live.Data["DB_PASS"] = []byte(wrong) })
		edit(ctx, budget, func(live *policyv1.PodDisruptionBudget) { live.Spec.MaxUnavailable = new(intstr.FromInt32(0)) })

		Eventually(ctx, refetch(deployment)).Should(And(
			HaveField("Labels", HaveKeyWithValue("app.kubernetes.io/name", "dojo")),
			HaveField("Spec.Replicas", HaveValue(Equal(int32(2)))),
			HaveField("Spec.Template.Spec.Containers", HaveExactElements(And(
				HaveField("Image", "danijelradakovic/dojo:0.1.0-alpine"),
				HaveField("Env", ContainElement(HaveField("Value", "Masamichi Yaga")))))),
		), "drift of the Deployment should be corrected")
		Eventually(ctx, refetch(service)).
			Should(HaveField("Spec.Ports", HaveExactElements(HaveField("TargetPort", intstr.FromString("http")))))
		Eventually(ctx, refetch(secret)).ShouldNot(WithTransform(passwordOf, Equal(wrong)))
		Eventually(ctx, refetch(budget)).Should(HaveField("Spec.MaxUnavailable", HaveValue(Equal(intstr.FromInt32(1)))))
		eventuallyReady(ctx, dojo)
		Eventually(ctx, eventsOf(dojo)).Should(ContainElement("Normal DriftCorrected"))
	})

	It("are corrected when another client sets a field that excludes the operator's field, "+
		"such as a probe of another type", func(ctx context.Context) {
		dojo := runningDojo(ctx, ns, replicas(2), func(dojo *corev1api.Dojo) {
			dojo.Spec.Env = []corev1.EnvVar{{Name: "COLOUR", Value: "red"}, {Name: "SHAPE", Value: "round"}}
		})
		deployment, budget, service := deploymentOf(dojo), budgetOf(dojo), serviceOf(dojo)
		edit(ctx, deployment, func(live *appsv1.Deployment) {
			pod := &live.Spec.Template.Spec
			pod.Containers[0].Env[7].Value = "theirs"
			pod.Containers[0].Env[6] = corev1.EnvVar{Name: "DB_PASS", Value: "byhand"}
			pod.Containers[0].LivenessProbe.ProbeHandler = corev1.ProbeHandler{
				TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(8080)},
			}
			pod.Volumes[0].VolumeSource = corev1.VolumeSource{HostPath: nil, ConfigMap: &corev1.ConfigMapVolumeSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: "theirs"}}}
		})
		edit(ctx, budget, func(live *policyv1.PodDisruptionBudget) {
			live.Spec.MaxUnavailable, live.Spec.MinAvailable = nil, new(intstr.FromInt32(1))
		})
		edit(ctx, service, func(live *corev1.Service) {
			live.Spec.Type, live.Spec.ExternalName = corev1.ServiceTypeExternalName, "example.org"
			live.Spec.ClusterIP, live.Spec.ClusterIPs = "", nil
		})
		Eventually(ctx, func(ctx context.Context) (corev1.PodSpec, error) {
			err := k8s.Get(ctx, client.ObjectKeyFromObject(deployment), deployment)
			return deployment.Spec.Template.Spec, err
		}).Should(And(
			HaveField("Containers", HaveExactElements(And(
				HaveField("Env",
					ContainElement(And(HaveField("Name", "DB_PASS"), HaveField("Value", ""), HaveField("ValueFrom", Not(BeNil()))))),
				HaveField("LivenessProbe.TCPSocket", BeNil()),
				HaveField("LivenessProbe.HTTPGet", Not(BeNil())),
			))),
			HaveField("Volumes", HaveExactElements(And(HaveField("ConfigMap", BeNil()), HaveField("EmptyDir", Not(BeNil()))))),
		))
		Eventually(ctx, refetch(budget)).Should(And(HaveField("Spec.MinAvailable", BeNil()),
			HaveField("Spec.MaxUnavailable", HaveValue(Equal(intstr.FromInt32(1))))))
		Eventually(ctx, refetch(service)).Should(HaveField("Spec.Type", corev1.ServiceTypeClusterIP))
		eventuallyReady(ctx, dojo)

		By("removing a variable from the spec")
		edit(ctx, dojo, func(dojo *corev1api.Dojo) { dojo.Spec.Env = dojo.Spec.Env[1:] })
		Eventually(ctx, refetch(deployment)).Should(HaveField("Spec.Template.Spec.Containers", HaveExactElements(
			HaveField("Env", And(HaveLen(8), Not(ContainElement(HaveField("Name", "COLOUR"))))))),
			"a variable that is no longer in the spec should be removed")
		eventuallyReady(ctx, dojo)
		// Before the apply, a patch changes the operator's Update entry in managedFields to Apply.
		// Otherwise the apply would not remove the variable.
		Eventually(ctx, refetch(deployment)).Should(HaveField("GetManagedFields()", Not(ContainElement(And(
			HaveField("Manager", "dojo-operator"), HaveField("Operation", metav1.ManagedFieldsOperationUpdate))))))
	})

	It("are complete only after the children of a deleted Dojo of the same name are gone", func(ctx context.Context) {
		deleted := runningDojo(ctx, ns)
		edit(ctx, serviceOf(deleted), func(s *corev1.Service) { s.Finalizers = []string{"example.org/test"} })
		Expect(k8s.Delete(ctx, deleted)).To(Succeed())
		Eventually(ctx, refetch(serviceOf(deleted))).Should(HaveField("DeletionTimestamp", Not(BeNil())))
		dojo := newDojo(ns, "tokyo")
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		Eventually(ctx, refetch(dojo)).Should(HaveCondition("Progressing", "True", corev1api.ReasonWaitingForDeletion))
		edit(ctx, serviceOf(deleted), func(s *corev1.Service) { s.Finalizers = nil })
		eventuallyReady(ctx, dojo)
	})

	It("include a PodDisruptionBudget only if the Dojo has more than one replica", func(ctx context.Context) {
		dojo := runningDojo(ctx, ns)
		Expect(apierrors.IsNotFound(k8s.Get(ctx, nameOf(ns, "tokyo"), budgetOf(dojo)))).To(BeTrue())
		edit(ctx, dojo, replicas(2))
		Eventually(ctx, refetch(budgetOf(dojo))).
			Should(HaveField("Spec.MaxUnavailable", HaveValue(Equal(intstr.FromInt32(1)))))
		edit(ctx, dojo, replicas(1))
		Eventually(ctx, func(ctx context.Context) bool {
			return apierrors.IsNotFound(k8s.Get(ctx, nameOf(ns, "tokyo"), budgetOf(dojo)))
		}).Should(BeTrue(), "the budget should be deleted")
		eventuallyReady(ctx, dojo)
	})

	DescribeTable("do not replace an unowned object of the same name, "+
		"such as", func(ctx context.Context, theirs client.Object) {
		theirs.SetNamespace(ns)
		Expect(k8s.Create(ctx, theirs)).To(Succeed())
		Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
		dojo := newDojo(ns, "tokyo", replicas(2))
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		eventuallyDegraded(ctx, dojo, corev1api.ReasonNameConflict)
		Expect(message(dojo, "Degraded")).To(ContainSubstring(theirs.GetName()))
		Consistently(ctx, refetch(theirs)).Should(And(
			HaveField("GetOwnerReferences()", BeEmpty()),
			HaveField("GetManagedFields()", Not(ContainElement(HaveField("Manager", "dojo-operator")))),
		), "the object must stay as it is")

		Expect(k8s.Delete(ctx, theirs)).To(Succeed())
		eventuallyReady(ctx, dojo)
	},
		Entry("a Secret", &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "tokyo-credentials"}}),
		Entry("a Service", &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "tokyo"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
		}),
		Entry("a Deployment", &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "tokyo"}, Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "theirs"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "theirs"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "example.org/c"}}},
			},
		}}),
		Entry("a PodDisruptionBudget", &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "tokyo"}}),
	)

	It("that have name conflicts are reported one at a time", func(ctx context.Context) {
		theirs := deploymentOf(newDojo(ns, "tokyo"))
		theirs.Spec = appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "theirs"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "theirs"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "example.org/c"}}},
			},
		}
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "tokyo-credentials"}}
		for _, o := range []client.Object{theirs, secret, source(ns, "pg-app")} {
			Expect(k8s.Create(ctx, o)).To(Succeed())
		}
		dojo := newDojo(ns, "tokyo")
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		degraded := func(dojo *corev1api.Dojo) string { return message(dojo, "Degraded") }
		Eventually(ctx, refetch(dojo)).Should(WithTransform(degraded, HavePrefix("The Secret ")))
		Expect(k8s.Delete(ctx, secret)).To(Succeed())
		Eventually(ctx, refetch(dojo)).Should(WithTransform(degraded, HavePrefix("The Deployment ")))
		Expect(k8s.Delete(ctx, theirs)).To(Succeed())
		eventuallyReady(ctx, dojo)
	})

	It("are reconciled although the PodDisruptionBudget, which pods do not need, "+
		"has a name conflict", func(ctx context.Context) {
		dojo := runningDojo(ctx, ns)
		theirs := budgetOf(dojo)
		Expect(k8s.Create(ctx, theirs)).To(Succeed())
		edit(ctx, dojo, replicas(2))
		Eventually(ctx, refetch(dojo)).
			Should(And(HaveCondition("Degraded", "True", corev1api.ReasonNameConflict), HaveField("Status.ReadyStatus", "2/2")))
		Expect(k8s.Delete(ctx, theirs)).To(Succeed())
		eventuallyReady(ctx, dojo)
	})

	Context("under a HorizontalPodAutoscaler", func() {
		scaler := func(kind, api string) *autoscalingv2.HorizontalPodAutoscaler {
			return &autoscalingv2.HorizontalPodAutoscaler{
				ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "tokyo"},
				Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
					ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: api, Kind: kind, Name: "tokyo"},
					MinReplicas:    new(int32(3)), MaxReplicas: 5,
				},
			}
		}

		It("follow the replicas that the autoscaler sets in the Dojo's spec", func(ctx context.Context) {
			dojo := runningDojo(ctx, ns)
			Expect(k8s.Create(ctx, scaler("Dojo", corev1api.GroupVersion.String()))).To(Succeed())
			Eventually(ctx, refetch(dojo)).Should(HaveField("Spec.Replicas", HaveValue(Equal(int32(3)))))
			eventuallyReady(ctx, dojo)
			Eventually(ctx, refetch(dojo)).Should(HaveField("Status.ReadyStatus", "3/3"))
		})

		It("keep the replicas that the autoscaler sets in the Deployment "+
			"until the autoscaler is deleted", func(ctx context.Context) {
			dojo := runningDojo(ctx, ns)
			theirs := scaler("Deployment", "apps/v1")
			Expect(k8s.Create(ctx, theirs)).To(Succeed())
			Eventually(ctx, refetch(dojo)).
				Should(And(HaveField("Status.ReadyStatus", "3/3"), HaveCondition("Ready", "True", "")))
			Consistently(ctx, refetch(deploymentOf(dojo))).Should(HaveField("Spec.Replicas", HaveValue(Equal(int32(3)))))
			Expect(*dojo.Spec.Replicas).To(Equal(int32(1)))
			Eventually(ctx, refetch(budgetOf(dojo))).Should(HaveField("UID", Not(BeEmpty())), "three pods need a budget")

			Expect(k8s.Delete(ctx, theirs)).To(Succeed())
			Eventually(ctx, refetch(dojo)).
				Should(And(HaveField("Status.ReadyStatus", "1/1"), HaveCondition("Ready", "True", "")))
			Consistently(ctx, eventsOf(dojo)).ShouldNot(ContainElement("Normal DriftCorrected"), "this is not drift")
		})
	})
})

const statusWrite = "patch dojos/tokyo/status"

func withoutStatus(writes []string) []string {
	var others []string
	for _, w := range writes {
		if w != statusWrite {
			others = append(others, w)
		}
	}
	return others
}
