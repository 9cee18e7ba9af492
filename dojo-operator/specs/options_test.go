// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
)

var _ = Describe("A Dojo with volumes, probes and other options of its pods", func() {
	var ns string
	BeforeEach(func(ctx context.Context) { ns = newNamespace(ctx) })

	template := func(ctx context.Context, dojo *corev1api.Dojo) *corev1.PodTemplateSpec {
		GinkgoHelper()
		deployment := deploymentOf(dojo)
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(deployment), deployment)).To(Succeed())
		return &deployment.Spec.Template
	}
	allow := func(ctx context.Context, accounts string) {
		GinkgoHelper()
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}
		Expect(k8s.Patch(ctx, namespace, client.RawPatch(types.MergePatchType,
			[]byte(`{"metadata":{"annotations":{"core.jutsu.com/allowed-service-accounts":"`+accounts+`"}}}`)))).To(Succeed())
	}
	others := func(ctx context.Context) {
		GinkgoHelper()
		Expect(k8s.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"}})).To(Succeed())
		class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: ns}, Value: 7}
		Expect(k8s.Create(ctx, class)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(k8s.Delete(ctx, class)).To(Succeed()) })
	}
	options := func(dojo *corev1api.Dojo) {
		spec := &dojo.Spec
		spec.Volumes = []corev1api.Volume{
			{Name: "files", ConfigMap: &corev1api.VolumeSource{Name: "files", Optional: true}},
			{Name: "keys", Secret: &corev1api.VolumeSource{Name: "keys", Optional: true}},
			{Name: "cache", EmptyDir: &corev1api.EmptyDir{SizeLimit: "1024Ki"}},
		}
		spec.VolumeMounts = []corev1api.VolumeMount{
			{Name: "files", MountPath: "/etc/files", SubPath: "a/b", ReadOnly: true},
			{Name: "keys", MountPath: "/etc/keys"}, {Name: "cache", MountPath: "/var/cache"},
		}
		spec.EnvFrom = []corev1api.EnvFromSource{
			{Prefix: "APP_", ConfigMapRef: &corev1api.VolumeSource{Name: "settings", Optional: true}},
			{SecretRef: &corev1api.VolumeSource{Name: "keys", Optional: true}},
		}
		spec.Probes = &corev1api.Probes{
			Liveness:  &corev1api.Probe{Path: "/alive", PeriodSeconds: new(int32(7))},
			Readiness: &corev1api.Probe{FailureThreshold: new(int32(9)), InitialDelaySeconds: new(int32(3))},
		}
		spec.ServiceAccountName, spec.PriorityClassName = "web", ns
		spec.PodAnnotations = map[string]string{"example.org/scrape": "yes"}
	}

	It("adds each option to its pods, and removes the option when the spec no longer has it", func(ctx context.Context) {
		others(ctx)
		allow(ctx, "web")
		dojo := runningDojo(ctx, ns)
		before := template(ctx, dojo)
		edit(ctx, dojo, options)
		eventuallyReady(ctx, dojo)
		after := template(ctx, dojo)
		pod, container := after.Spec, after.Spec.Containers[0]
		Expect(pod.Volumes).To(ConsistOf(HaveField("Name", "tmp"),
			HaveField("ConfigMap", HaveField("LocalObjectReference.Name", "files")),
			HaveField("Secret", HaveField("SecretName", "keys")),
			HaveField("EmptyDir", HaveField("SizeLimit", HaveValue(Equal(resource.MustParse("1Mi")))))))
		Expect(container.VolumeMounts).To(ConsistOf(HaveField("MountPath", "/tmp"),
			corev1.VolumeMount{Name: "files", MountPath: "/etc/files", SubPath: "a/b", ReadOnly: true},
			corev1.VolumeMount{Name: "keys", MountPath: "/etc/keys"},
			corev1.VolumeMount{Name: "cache", MountPath: "/var/cache"}))
		Expect(container.EnvFrom).To(HaveExactElements(
			And(HaveField("Prefix", "APP_"), HaveField("ConfigMapRef.LocalObjectReference.Name", "settings")),
			HaveField("SecretRef.LocalObjectReference.Name", "keys")))
		Expect(container.StartupProbe.HTTPGet.Path).To(Equal("/alive"),
			"the startup probe should use the path of the liveness probe")
		Expect(container.LivenessProbe).To(And(HaveField("HTTPGet.Path", "/alive"), HaveField("PeriodSeconds", int32(7)),
			HaveField("FailureThreshold", int32(3))))
		Expect(container.ReadinessProbe).To(And(HaveField("HTTPGet.Path", "/probe/readiness"),
			HaveField("FailureThreshold", int32(9)), HaveField("InitialDelaySeconds", int32(3))))
		Expect(pod.ServiceAccountName).To(Equal("web"))
		Expect(pod.AutomountServiceAccountToken).To(BeNil(), "the ServiceAccount should decide whether its token is mounted")
		Expect(pod.PriorityClassName).To(Equal(ns))
		Expect(after.Annotations).To(And(HaveKeyWithValue("example.org/scrape", "yes"), HaveLen(2)))
		// Before the apply, a patch changes the operator's Update entry in managedFields to Apply.
		// Compact leaves out the second of these two patches.
		Expect(slices.Compact(withoutStatus(operator.WritesAtRest(ns)))).To(Equal([]string{"create secrets/tokyo-credentials",
			"create deployments/tokyo", "create services/tokyo", "patch deployments/tokyo"}))

		edit(ctx, dojo, func(dojo *corev1api.Dojo) {
			dojo.Spec = newDojo(ns, "tokyo").Spec
			dojo.Spec.Replicas = new(int32(1))
		})
		eventuallyReady(ctx, dojo)
		Expect(template(ctx, dojo)).To(Equal(before))
	})

	It("runs only as a ServiceAccount that its namespace's annotation allows", func(ctx context.Context) {
		others(ctx)
		dojo := runningDojo(ctx, ns)
		asWeb := func(dojo *corev1api.Dojo) { dojo.Spec.ServiceAccountName = "web" }
		refused := MatchError(ContainSubstring(
			"spec.serviceAccountName web is not allowed in the namespace " + ns + ": add this name to the annotation"))
		try := func(ctx context.Context) error { return k8s.Create(ctx, newDojo(ns, "kyoto", asWeb), client.DryRunAll) }
		Eventually(ctx, try).Should(refused) // the API server has to compile the policy first
		web := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"serviceAccountName":"web"}}`))
		Expect(k8s.Patch(ctx, dojo, web)).To(refused)
		Expect(k8s.Create(ctx, newDojo(ns, "kyoto", asWeb))).To(refused)
		allow(ctx, "batch,web")
		edit(ctx, dojo, asWeb) // edit retries until the policy in the API server sees the new annotation
		eventuallyReady(ctx, dojo)
		Expect(template(ctx, dojo).Spec.ServiceAccountName).To(Equal("web"))

		By("revoking the permission")
		allow(ctx, "batch")
		// Until the policy sees the new annotation, it admits the pods.
		Eventually(ctx, try).Should(refused)
		edit(ctx, dojo, func(dojo *corev1api.Dojo) { dojo.Spec.Title += "!" })
		eventuallyDegraded(ctx, dojo, corev1api.ReasonChildRefused)
		Expect(dojo).To(HaveCondition("Available", "True", ""))
	})

	DescribeTable("is refused if it has",
		func(ctx context.Context, change func(*corev1api.DojoSpec), want string) {
			dojo := newDojo(ns, "tokyo", func(dojo *corev1api.Dojo) { change(&dojo.Spec) })
			Expect(k8s.Create(ctx, dojo)).To(MatchError(ContainSubstring(want)))
		},
		Entry("a mount of a missing volume", func(s *corev1api.DojoSpec) {
			s.VolumeMounts = []corev1api.VolumeMount{{Name: "files", MountPath: "/etc/files"}}
		}, "the name of each entry of volumeMounts must be the name of an entry of volumes"),
		Entry("a mount over the working directory", func(s *corev1api.DojoSpec) {
			s.Volumes = []corev1api.Volume{{Name: "files", EmptyDir: &corev1api.EmptyDir{SizeLimit: "1Mi"}}}
			s.VolumeMounts = []corev1api.VolumeMount{{Name: "files", MountPath: "/tmp"}}
		}, "not be /tmp, which is the working directory"),
		Entry("a subPath outside of the volume", func(s *corev1api.DojoSpec) {
			s.Volumes = []corev1api.Volume{{Name: "files", EmptyDir: &corev1api.EmptyDir{SizeLimit: "1Mi"}}}
			s.VolumeMounts = []corev1api.VolumeMount{{Name: "files", MountPath: "/a", SubPath: "a/../.."}}
		}, "must be relative and have no .."),
		Entry("a volume without a source", func(s *corev1api.DojoSpec) { s.Volumes = []corev1api.Volume{{Name: "files"}} },
			"exactly one of configMap, secret, emptyDir and persistentVolumeClaim is required"),
		Entry("a volume with two sources", func(s *corev1api.DojoSpec) {
			source := &corev1api.VolumeSource{Name: "a"}
			s.Volumes = []corev1api.Volume{{Name: "files", ConfigMap: source, Secret: source}}
		}, "exactly one of configMap, secret, emptyDir and persistentVolumeClaim is required"),
		Entry("a volume with the name of the operator's volume", func(s *corev1api.DojoSpec) {
			s.Volumes = []corev1api.Volume{{Name: "tmp", EmptyDir: &corev1api.EmptyDir{SizeLimit: "1Mi"}}}
		}, "not tmp, which is the operator's own"),
		Entry("an emptyDir with an invalid size", func(s *corev1api.DojoSpec) {
			s.Volumes = []corev1api.Volume{{Name: "a", EmptyDir: &corev1api.EmptyDir{SizeLimit: "much"}}}
		}, "must be a quantity greater than 0, such as 64Mi"),
		Entry("an item of envFrom without a source",
			func(s *corev1api.DojoSpec) { s.EnvFrom = []corev1api.EnvFromSource{{Prefix: "A"}} },
			"exactly one of configMapRef and secretRef is required"),
		Entry("an invalid path of a probe", func(s *corev1api.DojoSpec) {
			s.Probes = &corev1api.Probes{Liveness: &corev1api.Probe{Path: "alive"}}
		}, "must begin with /"),
		Entry("a pod annotation that is reserved for the operator", func(s *corev1api.DojoSpec) {
			s.PodAnnotations = map[string]string{"core.jutsu.com/credentials-revision": "x"}
		}, "annotations of core.jutsu.com are the operator's own"),
		Entry("a pod annotation that turns off AppArmor", func(s *corev1api.DojoSpec) {
			s.PodAnnotations = map[string]string{"container.apparmor.security.beta.kubernetes.io/dojo": "unconfined"}
		}, "annotations of AppArmor are not allowed"),
		Entry("minReplicas greater than maxReplicas", func(s *corev1api.DojoSpec) {
			s.Autoscaling = &corev1api.Autoscaling{MinReplicas: new(int32(3)), MaxReplicas: 2}
		}, "minReplicas must not be greater than maxReplicas"),
	)
})

func changeStatus[O client.Object](ctx context.Context, o O, change func(O)) {
	GinkgoHelper()
	Eventually(ctx, func(ctx context.Context) error {
		if err := k8s.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		change(o)
		return k8s.Status().Update(ctx, o)
	}).Should(Succeed())
}

var _ = Describe("A Dojo with autoscaling", func() {
	var ns string
	BeforeEach(func(ctx context.Context) { ns = newNamespace(ctx) })

	scalerOf := func(dojo *corev1api.Dojo) *autoscalingv2.HorizontalPodAutoscaler {
		return &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: dojo.Name}}
	}
	between := func(least, most int32) func(*corev1api.Dojo) {
		return func(dojo *corev1api.Dojo) {
			dojo.Spec.Autoscaling = &corev1api.Autoscaling{MinReplicas: &least, MaxReplicas: most}
		}
	}
	replicasOf := func(dojo *corev1api.Dojo) func(context.Context) (int32, error) {
		return func(ctx context.Context) (int32, error) {
			deployment := &appsv1.Deployment{}
			err := k8s.Get(ctx, client.ObjectKeyFromObject(dojo), deployment)
			if deployment.Spec.Replicas == nil {
				return 0, err
			}
			return *deployment.Spec.Replicas, err
		}
	}

	It("starts with minReplicas, and leaves the replicas to its autoscaler", func(ctx context.Context) {
		dojo := runningDojo(ctx, ns, between(2, 5))
		scaler := scalerOf(dojo)
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(scaler), scaler)).To(Succeed())
		Expect(scaler.Spec.ScaleTargetRef).To(Equal(
			autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "tokyo"}))
		Expect(*scaler.Spec.Metrics[0].Resource.Target.AverageUtilization).To(Equal(int32(80)), "the default")
		Expect(replicasOf(dojo)(ctx)).To(Equal(int32(2)))
		Expect(withoutStatus(operator.WritesAtRest(ns))).To(ConsistOf("create secrets/tokyo-credentials",
			"create deployments/tokyo", "create services/tokyo", "create poddisruptionbudgets/tokyo",
			"create horizontalpodautoscalers/tokyo"))

		By("scaling as the autoscaler does")
		Expect(k8s.SubResource("scale").Update(ctx, deploymentOf(dojo), client.WithSubResourceBody(
			&autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "tokyo"},
				Spec: autoscalingv1.ScaleSpec{Replicas: 4}}), client.FieldOwner("kube-controller-manager"))).To(Succeed())
		Eventually(ctx, refetch(dojo)).Should(And(HaveField("Status.DesiredReplicas", HaveValue(Equal(int32(4)))),
			HaveCondition("Ready", "True", "")))
		edit(ctx, dojo, replicas(3))
		eventuallyReady(ctx, dojo)
		Consistently(ctx, replicasOf(dojo)).Should(Equal(int32(4)))

		By("changing the bounds by hand, and in the spec")
		edit(ctx, scaler, func(scaler *autoscalingv2.HorizontalPodAutoscaler) { scaler.Spec.MaxReplicas = 50 })
		Eventually(ctx, refetch(scaler)).Should(HaveField("Spec.MaxReplicas", int32(5)))
		edit(ctx, dojo, between(3, 6))
		Eventually(ctx, refetch(scaler)).Should(And(HaveField("Spec.MaxReplicas", int32(6)),
			HaveField("Spec.MinReplicas", HaveValue(Equal(int32(3))))))

		By("removing spec.autoscaling")
		edit(ctx, dojo, func(dojo *corev1api.Dojo) { dojo.Spec.Autoscaling = nil })
		eventuallyGone(ctx, scaler)
		Eventually(ctx, replicasOf(dojo)).Should(Equal(int32(3)), "spec.replicas")
		eventuallyReady(ctx, dojo)
	})

	It("is Degraded, and says what to do, "+
		"if its autoscaler has had no metrics for ten minutes", func(ctx context.Context) {
		dojo := runningDojo(ctx, ns, between(2, 5))
		scaler, deployment := scalerOf(dojo), deploymentOf(dojo)
		const inactive = "FailedGetResourceMetric" // set by Kubernetes, because this cluster has no metrics
		Eventually(ctx, refetch(scaler)).Should(HaveField("Status.Conditions", ContainElement(And(
			HaveField("Type", autoscalingv2.ScalingActive), HaveField("Reason", inactive)))))
		Expect(refetch(dojo)(ctx)).To(HaveCondition("Ready", "True", ""), "the first metrics take a while")

		By("simulating ten minutes without metrics")
		operator.Stop()
		ago := metav1.NewTime(time.Now().Add(-10 * time.Minute))
		changeStatus(ctx, deployment, func(o *appsv1.Deployment) {
			for i := range o.Status.Conditions {
				o.Status.Conditions[i].LastTransitionTime = ago
			}
		})
		becomes := func(status corev1.ConditionStatus) {
			GinkgoHelper()
			changeStatus(ctx, scaler, func(o *autoscalingv2.HorizontalPodAutoscaler) {
				for i := range o.Status.Conditions {
					if c := &o.Status.Conditions[i]; c.Type == autoscalingv2.ScalingActive {
						c.LastTransitionTime, c.Status = ago, status
					}
				}
			})
		}
		becomes(corev1.ConditionFalse)
		operator.Start(ctx) // a new process reconciles all Dojos at once
		eventuallyDegraded(ctx, dojo, corev1api.ReasonAutoscalingInactive)
		Expect(message(dojo, "Degraded")).To(And(ContainSubstring("("+inactive+")"), ContainSubstring("install metrics-server")))
		Expect(dojo).To(HaveCondition("Available", "True", ""))

		By("simulating metrics")
		becomes(corev1.ConditionTrue)
		eventuallyReady(ctx, dojo)
	})

	It("is Degraded while another client's autoscaler has its name, "+
		"and has no pods if spec.replicas is 0", func(ctx context.Context) {
		foreign := scalerOf(newDojo(ns, "tokyo"))
		foreign.Spec = autoscalingv2.HorizontalPodAutoscalerSpec{MaxReplicas: 7,
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{Kind: "Deployment", Name: "other", APIVersion: "apps/v1"}}
		Expect(k8s.Create(ctx, foreign)).To(Succeed())
		Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
		dojo := newDojo(ns, "tokyo", between(2, 5), replicas(0))
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		eventuallyDegraded(ctx, dojo, corev1api.ReasonNameConflict)
		Expect(k8s.Delete(ctx, foreign)).To(Succeed())
		eventuallyReady(ctx, dojo)
		Expect(dojo).To(HaveCondition("Available", "False", corev1api.ReasonScaledToZero))
		Expect(replicasOf(dojo)(ctx)).To(BeZero())
	})
})
