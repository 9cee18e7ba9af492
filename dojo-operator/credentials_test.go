package main_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
)

var _ = Describe("The credentials of a Dojo", func() {
	var ns string
	BeforeEach(func(ctx context.Context) { ns = newNamespace(ctx) })

	It("reach the pods under the names that the application reads", func(ctx context.Context) {
		d := runningDojo(ctx, ns)
		var given corev1.Secret
		Expect(k8s.Get(ctx, nameOf(ns, "pg-app"), &given)).To(Succeed())
		own := secretOf(d)
		Expect(k8s.Get(ctx, nameOf(ns, own.Name), own)).To(Succeed())
		Expect(own.Data).To(Equal(map[string][]byte{
			"DB_ENDPOINT": []byte("pg-rw"), "DB_PORT": []byte("5432"), "DB_NAME": []byte("app"),
			"DB_USER": []byte("app"), "DB_PASS": given.Data["password"],
		}))
		Expect(d.Status.Credentials).To(Equal(&corev1api.LocalCredentials{Name: own.Name, Namespace: ns}))
	})

	DescribeTable("are followed when the password changes, and the pods roll", func(ctx context.Context, labels map[string]string) {
		s := source(ns, "pg-app")
		s.Labels = labels
		Expect(k8s.Create(ctx, s)).To(Succeed())
		d := newDojo(ns, "tokyo", replicas(2))
		Expect(k8s.Create(ctx, d)).To(Succeed())
		eventuallyReady(ctx, d)
		before, err := runningPods(d)(ctx)
		Expect(err).NotTo(HaveOccurred())

		rotated := newPassword()
		edit(ctx, s, func(s *corev1.Secret) { s.Data["password"] = []byte(rotated) })

		Eventually(ctx, refetch(secretOf(d))).Should(WithTransform(passwordOf, Equal(rotated)), "the Dojo's Secret should follow")
		Eventually(ctx, runningPods(d)).Should(And(HaveLen(2), Not(ContainElements(before[0])), Not(ContainElement(before[1]))),
			"all pods should be new ones")
		eventuallyReady(ctx, d)
		Eventually(ctx, eventsOf(d)).Should(ContainElement("Normal CredentialsRotated"))
	},
		Entry("with no label at all", nil),
		Entry("with CloudNativePG's labels", map[string]string{"cnpg.io/reload": "true", "cnpg.io/cluster": "pg"}),
	)

	It("do not roll the pods when only the Secret's labels change", func(ctx context.Context) {
		d := runningDojo(ctx, ns)
		before, err := runningPods(d)(ctx)
		Expect(err).NotTo(HaveOccurred())
		own := secretOf(d)
		Expect(k8s.Get(ctx, nameOf(ns, own.Name), own)).To(Succeed())
		was := own.ResourceVersion
		edit(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "pg-app"}}, func(s *corev1.Secret) {
			s.Labels = map[string]string{"team": "a"}
		})
		Eventually(ctx, refetch(own)).ShouldNot(HaveField("ResourceVersion", was), "the copy should note which version it is of")
		Consistently(ctx, runningPods(d)).Should(Equal(before))
	})

	It("are waited for, then missed, then taken up when they appear at last", func(ctx context.Context) {
		d := newDojo(ns, "tokyo")
		Expect(k8s.Create(ctx, d)).To(Succeed())
		Eventually(ctx, refetch(d)).Should(HaveCondition("Progressing", "True", corev1api.ReasonWaitingForCredentials))
		Expect(message(d, "Progressing")).To(ContainSubstring(ns + "/pg-app"))
		Expect(d).To(HaveCondition("Available", "False", corev1api.ReasonStarting))

		eventuallyDegraded(ctx, d, corev1api.ReasonCredentialsNotFound)
		Expect(message(d, "Degraded")).To(ContainSubstring(ns + "/pg-app"))
		Eventually(ctx, eventsOf(d)).Should(ContainElement("Warning CredentialsNotFound"))

		Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
		eventuallyReady(ctx, d)
	})

	It("stay in use when their Secret is deleted, and the Dojo can still be scaled", func(ctx context.Context) {
		d := runningDojo(ctx, ns)
		Expect(k8s.Delete(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "pg-app"}})).To(Succeed())
		Eventually(ctx, refetch(d)).Should(HaveCondition("Progressing", "True", corev1api.ReasonWaitingForCredentials))
		edit(ctx, d, replicas(2))
		Eventually(ctx, refetch(deploymentOf(d))).Should(HaveField("Status.AvailableReplicas", int32(2)))
		eventuallyDegraded(ctx, d, corev1api.ReasonCredentialsNotFound)
		Expect(d).To(HaveCondition("Available", "True", corev1api.ReasonReplicasReady))
	})

	DescribeTable("must be complete", func(ctx context.Context, breakIt func(*corev1.Secret), named string) {
		s := source(ns, "pg-app")
		breakIt(s)
		Expect(k8s.Create(ctx, s)).To(Succeed())
		d := newDojo(ns, "tokyo")
		Expect(k8s.Create(ctx, d)).To(Succeed())
		eventuallyDegraded(ctx, d, corev1api.ReasonCredentialsIncomplete)
		Expect(message(d, "Degraded")).To(ContainSubstring(named))

		whole := source(ns, "pg-app").StringData
		edit(ctx, s, func(s *corev1.Secret) { s.StringData = whole })
		eventuallyReady(ctx, d)
	},
		Entry("no host", func(s *corev1.Secret) { delete(s.StringData, "host") }, `lacks the key "host"`),
		Entry("empty password", func(s *corev1.Secret) { s.StringData["password"] = "" }, `nothing under the key "password"`),
		Entry("a port that is none", func(s *corev1.Secret) { s.StringData["port"] = "http" }, `no port number (1 to 65535) under the key "port"`),
		Entry("neither user nor username", func(s *corev1.Secret) {
			delete(s.StringData, "user")
			delete(s.StringData, "username")
		}, `lacks the key "user"`),
	)

	It("that break on a running Dojo leave the last good ones in use", func(ctx context.Context) {
		d := runningDojo(ctx, ns)
		own := secretOf(d)
		Expect(k8s.Get(ctx, nameOf(ns, own.Name), own)).To(Succeed())
		edit(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "pg-app"}}, func(s *corev1.Secret) {
			s.Data["password"] = nil
		})
		eventuallyDegraded(ctx, d, corev1api.ReasonCredentialsIncomplete)
		Expect(d).To(HaveCondition("Available", "True", corev1api.ReasonReplicasReady))
		Consistently(ctx, refetch(secretOf(d))).Should(HaveField("Data", own.Data))
	})

	It("come from the other Secret when the reference changes", func(ctx context.Context) {
		d := runningDojo(ctx, ns)
		other := source(ns, "other-app")
		other.StringData["host"] = "other-rw"
		Expect(k8s.Create(ctx, other)).To(Succeed())
		edit(ctx, d, func(d *corev1api.Dojo) { d.Spec.CredentialsRef.Name = "other-app" })
		Eventually(ctx, refetch(secretOf(d))).Should(WithTransform(func(s *corev1.Secret) string { return string(s.Data["DB_ENDPOINT"]) },
			Equal("other-rw")))
		eventuallyReady(ctx, d)
	})

	Context("in another namespace", func() {
		var d *corev1api.Dojo
		var theirs string
		BeforeEach(func(ctx context.Context) {
			theirs = newNamespace(ctx)
			d = newDojo(ns, "tokyo", func(d *corev1api.Dojo) { d.Spec.CredentialsRef.Namespace = theirs })
		})

		It("are copied only while their owner shares them", func(ctx context.Context) {
			s := source(theirs, "pg-app")
			Expect(k8s.Create(ctx, s)).To(Succeed())
			Expect(k8s.Create(ctx, d)).To(Succeed())
			eventuallyDegraded(ctx, d, corev1api.ReasonCredentialsNotShared)
			Expect(message(d, "Degraded")).To(ContainSubstring(corev1api.AllowedNamespacesAnnotation))
			Expect(k8s.Get(ctx, nameOf(ns, "tokyo-credentials"), &corev1.Secret{})).NotTo(Succeed())

			By("sharing")
			edit(ctx, s, func(s *corev1.Secret) {
				s.Annotations = map[string]string{corev1api.AllowedNamespacesAnnotation: "team-a, " + ns}
			})
			eventuallyReady(ctx, d)
			own := secretOf(d)
			Expect(k8s.Get(ctx, nameOf(ns, own.Name), own)).To(Succeed())
			Expect(string(own.Data["DB_ENDPOINT"])).To(Equal("pg-rw." + theirs + ".svc"))

			By("sharing no longer, and rotating")
			edit(ctx, s, func(s *corev1.Secret) {
				s.Annotations = nil
				s.Data["password"] = []byte(newPassword())
			})
			eventuallyDegraded(ctx, d, corev1api.ReasonCredentialsNotShared)
			Consistently(ctx, refetch(secretOf(d))).Should(HaveField("Data", own.Data), "a Secret that is not shared must not be followed")
			Expect(d).To(HaveCondition("Available", "True", corev1api.ReasonReplicasReady))
		})

		It("give nothing away of Secrets that are not shared, not even whether they exist", func(ctx context.Context) {
			Expect(k8s.Create(ctx, d)).To(Succeed())
			absent := message(eventuallyDegraded(ctx, d, corev1api.ReasonCredentialsNotShared), "Degraded")
			Expect(k8s.Create(ctx, source(theirs, "pg-app"))).To(Succeed())
			Consistently(ctx, refetch(d)).Should(WithTransform(func(d *corev1api.Dojo) string { return message(d, "Degraded") }, Equal(absent)))
		})
	})
})
