package main_test

import (
	"context"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
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

func budgetOf(d *corev1api.Dojo) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name}}
}

var _ = Describe("The children of a Dojo", func() {
	var ns string
	BeforeEach(func(ctx context.Context) { ns = newNamespace(ctx) })

	It("are all there, are owned and tell the application whose it is", func(ctx context.Context) {
		d := runningDojo(ctx, ns, replicas(3))
		for _, child := range []client.Object{deploymentOf(d), serviceOf(d), secretOf(d), budgetOf(d)} {
			Expect(k8s.Get(ctx, client.ObjectKeyFromObject(child), child)).To(Succeed())
			Expect(metav1.IsControlledBy(child, d)).To(BeTrue(), "%T should be owned", child)
		}
		live := deploymentOf(d)
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(live), live)).To(Succeed())
		Expect(live.Spec.Template.Spec.Containers[0].Env).To(ContainElements(
			corev1.EnvVar{Name: "DOJO_ACCOUNT_ID", Value: "Masamichi Yaga"}, corev1.EnvVar{Name: "DOJO_TITLE", Value: "Tokyo Jujutsu High"}))
		Expect(live.Spec.Selector.MatchLabels).To(Equal(map[string]string{
			"app.kubernetes.io/name": "dojo", "app.kubernetes.io/instance": "tokyo"}))

		Expect(d.Status).To(And(
			HaveField("Replicas", int32(3)), HaveField("ReadyReplicas", int32(3)), HaveField("UpdatedReplicas", int32(3)),
			HaveField("AvailableReplicas", int32(3)), HaveField("ReadyStatus", "3/3"),
			HaveField("Selector", "app.kubernetes.io/instance=tokyo,app.kubernetes.io/name=dojo"),
			HaveField("Endpoint", "tokyo."+ns+".svc:80")))
		Eventually(ctx, eventsOf(d)).Should(ContainElement("Normal Ready"))
	})

	It("are written once each when a Dojo is made, and not at all when nothing changes", func(ctx context.Context) {
		d := runningDojo(ctx, ns, replicas(2))
		children := []string{
			"patch secrets/tokyo-credentials", "patch deployments/tokyo", "patch services/tokyo", "patch poddisruptionbudgets/tokyo",
		}
		writes := operator.WritesAtRest(ns)
		Expect(withoutStatus(writes)).To(ConsistOf(children))

		By("giving the operator a reason to look again")
		made := len(writes)
		edit(ctx, deploymentOf(d), func(live *appsv1.Deployment) {
			live.Annotations["example.org/note"] = "of somebody else"
			live.Spec.Template.Labels["example.org/injected"] = "yes"
			live.Spec.RevisionHistoryLimit = new(int32(3))
		})
		eventuallyReady(ctx, d)
		Consistently(func() []string { return withoutStatus(operator.Writes(ns)[made:]) }).Should(BeEmpty(),
			"what others add is no reason to write")
		live := deploymentOf(d)
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(live), live)).To(Succeed())
		Expect(live.Annotations).To(HaveKey("example.org/note"))
		Expect(live.Spec.Template.Labels).To(HaveKey("example.org/injected"))
	})

	It("cost two writes of the status, and one event, when a Dojo is made: that it is on its way, and that it is there", func(ctx context.Context) {
		runningDojo(ctx, ns, replicas(0))      // so that the Secret is there for sure, which another may have to wait for
		d := newDojo(ns, "kyoto", replicas(0)) // pods would be counted while they start
		Expect(k8s.Create(ctx, d)).To(Succeed())
		eventuallyReady(ctx, d)
		told := func() []string {
			return slices.DeleteFunc(operator.WritesAtRest(ns), func(w string) bool { return w != "patch dojos/kyoto/status" })
		}
		Expect(told()).To(HaveLen(2))
		Eventually(ctx, eventsOf(d)).Should(ConsistOf("Normal Ready"))
		Consistently(ctx, eventsOf(d)).Should(ConsistOf("Normal Ready"))
		Expect(told()).To(HaveLen(2))
	})

	It("stand in a status that goes back when somebody else writes it", func(ctx context.Context) {
		d := runningDojo(ctx, ns, replicas(0))
		was := d.Status.DeepCopy()
		Expect(k8s.Status().Patch(ctx, d, client.RawPatch(types.MergePatchType, []byte(`{"status": {"observedGeneration": 0, "conditions": []}}`)))).To(Succeed())
		eventuallyReady(ctx, d)
		Expect(d.Status.ObservedGeneration).To(Equal(was.ObservedGeneration))
	})

	It("come back when they are deleted, and a new Secret restarts the pods", func(ctx context.Context) {
		d := runningDojo(ctx, ns, replicas(2))
		pods, err := runningPods(d)(ctx)
		Expect(err).NotTo(HaveOccurred())
		for _, child := range []client.Object{deploymentOf(d), serviceOf(d), secretOf(d), budgetOf(d)} {
			Expect(k8s.Get(ctx, client.ObjectKeyFromObject(child), child)).To(Succeed())
			gone := child.GetUID()
			Expect(k8s.Delete(ctx, child)).To(Succeed())
			Eventually(ctx, refetch(child)).ShouldNot(HaveField("UID", gone), "the %T should be made again", child)
		}
		Eventually(ctx, runningPods(d)).Should(And(HaveLen(2), Not(ContainElement(pods[0])), Not(ContainElement(pods[1]))))
		eventuallyReady(ctx, d)
	})

	It("go back to what the spec says when somebody edits them", func(ctx context.Context) {
		d := runningDojo(ctx, ns, replicas(2))
		deployment, service, secret, budget := deploymentOf(d), serviceOf(d), secretOf(d), budgetOf(d)
		edit(ctx, deployment, func(live *appsv1.Deployment) {
			live.Labels["app.kubernetes.io/name"] = "other"
			live.Spec.Replicas = new(int32(7))
			live.Spec.Template.Spec.Containers[0].Image = "example.org/other:1"
			live.Spec.Template.Spec.Containers[0].Env[0].Value = "somebody"
		})
		edit(ctx, service, func(live *corev1.Service) { live.Spec.Ports[0].TargetPort = intstr.FromInt32(9999) })
		wrong := newPassword()
		edit(ctx, secret, func(live *corev1.Secret) { live.Data["DB_PASS"] = []byte(wrong) })
		edit(ctx, budget, func(live *policyv1.PodDisruptionBudget) { live.Spec.MaxUnavailable = new(intstr.FromInt32(0)) })

		Eventually(ctx, refetch(deployment)).Should(And(
			HaveField("Labels", HaveKeyWithValue("app.kubernetes.io/name", "dojo")),
			HaveField("Spec.Replicas", HaveValue(Equal(int32(2)))),
			HaveField("Spec.Template.Spec.Containers", HaveExactElements(And(
				HaveField("Image", "danijelradakovic/dojo:0.1.0-alpine"), HaveField("Env", ContainElement(HaveField("Value", "Masamichi Yaga")))))),
		), "the Deployment should be put right")
		Eventually(ctx, refetch(service)).Should(HaveField("Spec.Ports", HaveExactElements(HaveField("TargetPort", intstr.FromString("http")))))
		Eventually(ctx, refetch(secret)).ShouldNot(WithTransform(passwordOf, Equal(wrong)))
		Eventually(ctx, refetch(budget)).Should(HaveField("Spec.MaxUnavailable", HaveValue(Equal(intstr.FromInt32(1)))))
		eventuallyReady(ctx, d)
		Eventually(ctx, eventsOf(d)).Should(ContainElement("Normal Corrected"))
	})

	It("go back also from what excludes our own fields", func(ctx context.Context) {
		d := runningDojo(ctx, ns, replicas(2), func(d *corev1api.Dojo) {
			d.Spec.Env = []corev1.EnvVar{{Name: "COLOUR", Value: "red"}, {Name: "SHAPE", Value: "round"}}
		})
		deployment, budget, service := deploymentOf(d), budgetOf(d), serviceOf(d)
		edit(ctx, deployment, func(live *appsv1.Deployment) {
			pod := &live.Spec.Template.Spec
			pod.Containers[0].Env[7].Value = "theirs"
			pod.Containers[0].Env[6] = corev1.EnvVar{Name: "DB_PASS", Value: "byhand"}
			pod.Containers[0].LivenessProbe.ProbeHandler = corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(8080)}}
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
				HaveField("Env", ContainElement(And(HaveField("Name", "DB_PASS"), HaveField("Value", ""), HaveField("ValueFrom", Not(BeNil()))))),
				HaveField("LivenessProbe.TCPSocket", BeNil()),
				HaveField("LivenessProbe.HTTPGet", Not(BeNil())),
			))),
			HaveField("Volumes", HaveExactElements(And(HaveField("ConfigMap", BeNil()), HaveField("EmptyDir", Not(BeNil()))))),
		))
		Eventually(ctx, refetch(budget)).Should(And(HaveField("Spec.MinAvailable", BeNil()),
			HaveField("Spec.MaxUnavailable", HaveValue(Equal(intstr.FromInt32(1))))))
		Eventually(ctx, refetch(service)).Should(HaveField("Spec.Type", corev1.ServiceTypeClusterIP))
		eventuallyReady(ctx, d)

		By("taking something out of the spec")
		edit(ctx, d, func(d *corev1api.Dojo) { d.Spec.Env = d.Spec.Env[1:] })
		Eventually(ctx, refetch(deployment)).Should(HaveField("Spec.Template.Spec.Containers", HaveExactElements(
			HaveField("Env", And(HaveLen(8), Not(ContainElement(HaveField("Name", "COLOUR"))))))), "what is no longer wanted should go")
		eventuallyReady(ctx, d)
		for _, child := range []client.Object{deployment, budget} {
			Eventually(ctx, refetch(child)).Should(HaveField("GetManagedFields()", Not(ContainElement(And(
				HaveField("Manager", "dojo-operator"), HaveField("Operation", metav1.ManagedFieldsOperationUpdate))))), "the %T", child)
		}
	})

	It("are taken as they are where an admission policy of the cluster rewrites them", func(ctx context.Context) {
		rewriteImagesIn(ctx, ns, "mirror.example.org/dojo:1")
		d := runningDojo(ctx, ns)
		live := deploymentOf(d)
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(live), live)).To(Succeed())
		Expect(live.Spec.Template.Spec.Containers[0].Image).To(Equal("mirror.example.org/dojo:1"))
		Consistently(ctx, eventsOf(d)).ShouldNot(ContainElement("Normal Corrected"))
	})

	It("of a former Dojo of the same name are waited for", func(ctx context.Context) {
		former := runningDojo(ctx, ns)
		edit(ctx, serviceOf(former), func(s *corev1.Service) { s.Finalizers = []string{"example.org/hold"} })
		Expect(k8s.Delete(ctx, former)).To(Succeed())
		Eventually(ctx, refetch(serviceOf(former))).Should(HaveField("DeletionTimestamp", Not(BeNil())))
		d := newDojo(ns, "tokyo")
		Expect(k8s.Create(ctx, d)).To(Succeed())
		Eventually(ctx, refetch(d)).Should(HaveCondition("Progressing", "True", corev1api.ReasonWaitingForDeletion))
		edit(ctx, serviceOf(former), func(s *corev1.Service) { s.Finalizers = nil })
		eventuallyReady(ctx, d)
	})

	It("have a disruption budget only with more than one replica", func(ctx context.Context) {
		d := runningDojo(ctx, ns)
		Expect(apierrors.IsNotFound(k8s.Get(ctx, nameOf(ns, "tokyo"), budgetOf(d)))).To(BeTrue())
		edit(ctx, d, replicas(2))
		Eventually(ctx, refetch(budgetOf(d))).Should(HaveField("Spec.MaxUnavailable", HaveValue(Equal(intstr.FromInt32(1)))))
		edit(ctx, d, replicas(1))
		Eventually(ctx, func(ctx context.Context) bool {
			return apierrors.IsNotFound(k8s.Get(ctx, nameOf(ns, "tokyo"), budgetOf(d)))
		}).Should(BeTrue(), "the budget should go")
		eventuallyReady(ctx, d)
	})

	DescribeTable("never take over what belongs to somebody else", func(ctx context.Context, theirs client.Object) {
		theirs.SetNamespace(ns)
		Expect(k8s.Create(ctx, theirs)).To(Succeed())
		Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
		d := newDojo(ns, "tokyo", replicas(2))
		Expect(k8s.Create(ctx, d)).To(Succeed())
		eventuallyDegraded(ctx, d, corev1api.ReasonNameTaken)
		Expect(message(d, "Degraded")).To(ContainSubstring(theirs.GetName()))
		Consistently(ctx, refetch(theirs)).Should(And(
			HaveField("GetOwnerReferences()", BeEmpty()),
			HaveField("GetManagedFields()", Not(ContainElement(HaveField("Manager", "dojo-operator")))),
		), "a stranger's object must stay as it is")

		Expect(k8s.Delete(ctx, theirs)).To(Succeed())
		eventuallyReady(ctx, d)
	},
		Entry("Secret", &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "tokyo-credentials"}}),
		Entry("Service", &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "tokyo"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}),
		Entry("Deployment", &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "tokyo"}, Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "theirs"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "theirs"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "example.org/c"}}},
			},
		}}),
		Entry("PodDisruptionBudget", &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "tokyo"}}),
	)

	It("are refused one after the other where more than one name is taken", func(ctx context.Context) {
		strange := deploymentOf(newDojo(ns, "tokyo"))
		strange.Spec = appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "theirs"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "theirs"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "example.org/c"}}},
			},
		}
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "tokyo-credentials"}}
		for _, o := range []client.Object{strange, secret, source(ns, "pg-app")} {
			Expect(k8s.Create(ctx, o)).To(Succeed())
		}
		d := newDojo(ns, "tokyo")
		Expect(k8s.Create(ctx, d)).To(Succeed())
		told := func(d *corev1api.Dojo) string { return message(d, "Degraded") }
		Eventually(ctx, refetch(d)).Should(WithTransform(told, HavePrefix("The Secret ")))
		Expect(k8s.Delete(ctx, secret)).To(Succeed())
		Eventually(ctx, refetch(d)).Should(WithTransform(told, HavePrefix("The Deployment ")))
		Expect(k8s.Delete(ctx, strange)).To(Succeed())
		eventuallyReady(ctx, d)
	})

	It("are put right beside one whose name is taken, where a Dojo serves without that", func(ctx context.Context) {
		d := runningDojo(ctx, ns)
		theirs := budgetOf(d)
		Expect(k8s.Create(ctx, theirs)).To(Succeed())
		edit(ctx, d, replicas(2))
		Eventually(ctx, refetch(d)).Should(And(HaveCondition("Degraded", "True", corev1api.ReasonNameTaken), HaveField("Status.ReadyStatus", "2/2")))
		Expect(k8s.Delete(ctx, theirs)).To(Succeed())
		eventuallyReady(ctx, d)
	})

	Context("with a HorizontalPodAutoscaler", func() {
		scaler := func(kind, api string) *autoscalingv2.HorizontalPodAutoscaler {
			return &autoscalingv2.HorizontalPodAutoscaler{
				ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "tokyo"},
				Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
					ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: api, Kind: kind, Name: "tokyo"},
					MinReplicas:    new(int32(3)), MaxReplicas: 5,
				},
			}
		}

		It("of the Dojo follow its replicas", func(ctx context.Context) {
			d := runningDojo(ctx, ns)
			Expect(k8s.Create(ctx, scaler("Dojo", corev1api.GroupVersion.String()))).To(Succeed())
			Eventually(ctx, refetch(d)).Should(HaveField("Spec.Replicas", HaveValue(Equal(int32(3)))))
			eventuallyReady(ctx, d)
			Eventually(ctx, refetch(d)).Should(HaveField("Status.ReadyStatus", "3/3"))
		})

		It("of the Deployment leave the replicas to it until it goes", func(ctx context.Context) {
			d := runningDojo(ctx, ns)
			theirs := scaler("Deployment", "apps/v1")
			Expect(k8s.Create(ctx, theirs)).To(Succeed())
			Eventually(ctx, refetch(d)).Should(And(HaveField("Status.ReadyStatus", "3/3"), HaveCondition("Ready", "True", "")))
			Consistently(ctx, refetch(deploymentOf(d))).Should(HaveField("Spec.Replicas", HaveValue(Equal(int32(3)))))
			Expect(*d.Spec.Replicas).To(Equal(int32(1)))
			Eventually(ctx, refetch(budgetOf(d))).Should(HaveField("UID", Not(BeEmpty())), "three pods want a budget")

			Expect(k8s.Delete(ctx, theirs)).To(Succeed())
			Eventually(ctx, refetch(d)).Should(And(HaveField("Status.ReadyStatus", "1/1"), HaveCondition("Ready", "True", "")))
			Consistently(ctx, eventsOf(d)).ShouldNot(ContainElement("Normal Corrected"), "nobody has edited anything")
		})
	})
})

// rewriteImagesIn makes the API server replace the image of every Deployment in a namespace, as policies for mirrors do.
func rewriteImagesIn(ctx context.Context, namespace, image string) {
	GinkgoHelper()
	policy := &admissionv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "images-of-" + namespace},
		Spec: admissionv1.MutatingAdmissionPolicySpec{
			ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
					Rule:       admissionv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"}},
				},
			}}},
			Mutations: []admissionv1.Mutation{{
				PatchType: admissionv1.PatchTypeJSONPatch,
				JSONPatch: &admissionv1.JSONPatch{Expression: `[JSONPatch{op: "replace", path: "/spec/template/spec/containers/0/image", value: "` + image + `"}]`},
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
	probe := deploymentOf(newDojo(namespace, "probe"))
	probe.Spec = appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "probe"}},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "probe"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "example.org/c"}}},
		},
	}
	Eventually(ctx, func(ctx context.Context) (string, error) {
		o := probe.DeepCopy()
		err := k8s.Create(ctx, o, client.DryRunAll)
		return o.Spec.Template.Spec.Containers[0].Image, err
	}).Should(Equal(image), "the policy should be in force")
}

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
