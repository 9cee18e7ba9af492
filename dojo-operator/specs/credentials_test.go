// SPDX-License-Identifier: Apache-2.0

package specs_test

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

	It("are copied into the Dojo's Secret under the names of the application's variables", func(ctx context.Context) {
		dojo := runningDojo(ctx, ns)
		var origin corev1.Secret
		Expect(k8s.Get(ctx, nameOf(ns, "pg-app"), &origin)).To(Succeed())
		own := secretOf(dojo)
		Expect(k8s.Get(ctx, nameOf(ns, own.Name), own)).To(Succeed())
		Expect(own.Data).To(Equal(map[string][]byte{
			"DB_ENDPOINT": []byte("pg-rw"), "DB_PORT": []byte("5432"), "DB_NAME": []byte("app"),
			"DB_USER": []byte("app"), "DB_PASS": origin.Data["password"],
		}))
		Expect(dojo.Status.Credentials).To(Equal(&corev1api.LocalCredentials{Name: own.Name, Namespace: ns}))
	})

	DescribeTable("change in all pods "+
		"when the password changes in a Secret", func(ctx context.Context, labels map[string]string) {
		s := source(ns, "pg-app")
		s.Labels = labels
		Expect(k8s.Create(ctx, s)).To(Succeed())
		dojo := newDojo(ns, "tokyo", replicas(2))
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		eventuallyReady(ctx, dojo)
		before, err := runningPods(dojo)(ctx)
		Expect(err).NotTo(HaveOccurred())

		rotated := newPassword()
		edit(ctx, s, func(s *corev1.Secret) { s.Data["password"] = []byte(rotated) })

		Eventually(ctx, refetch(secretOf(dojo))).
			Should(WithTransform(passwordOf, Equal(rotated)), "the Dojo's Secret should have the new password")
		Eventually(ctx, runningPods(dojo)).
			Should(And(HaveLen(2), Not(ContainElement(BeElementOf(before)))),
				"all pods should be replaced")
		eventuallyReady(ctx, dojo)
		Eventually(ctx, eventsOf(dojo)).Should(ContainElement("Normal CredentialsRotated"))
	},
		Entry("without labels", nil),
		Entry("with CloudNativePG's labels", map[string]string{"cnpg.io/reload": "true", "cnpg.io/cluster": "pg"}),
	)

	It("do not roll the pods when only the Secret's labels change", func(ctx context.Context) {
		dojo := runningDojo(ctx, ns)
		before, err := runningPods(dojo)(ctx)
		Expect(err).NotTo(HaveOccurred())
		own := secretOf(dojo)
		Expect(k8s.Get(ctx, nameOf(ns, own.Name), own)).To(Succeed())
		version := own.ResourceVersion
		edit(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "pg-app"}}, func(s *corev1.Secret) {
			s.Labels = map[string]string{"team": "a"}
		})
		Eventually(ctx, refetch(own)).
			ShouldNot(HaveField("ResourceVersion", version), "the copy should record the version of its source")
		Consistently(ctx, runningPods(dojo)).Should(Equal(before))
	})

	It("make the Dojo Degraded if they are still missing after the deadline, "+
		"and Ready once they are created", func(ctx context.Context) {
		dojo := newDojo(ns, "tokyo")
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		Eventually(ctx, refetch(dojo)).Should(HaveCondition("Progressing", "True", corev1api.ReasonWaitingForCredentials))
		Expect(message(dojo, "Progressing")).To(ContainSubstring(ns + "/pg-app"))
		Expect(dojo).To(HaveCondition("Available", "False", corev1api.ReasonStarting))

		eventuallyDegraded(ctx, dojo, corev1api.ReasonCredentialsNotFound)
		Expect(message(dojo, "Degraded")).To(ContainSubstring(ns + "/pg-app"))
		Eventually(ctx, eventsOf(dojo)).Should(ContainElement("Warning CredentialsNotFound"))

		Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
		eventuallyReady(ctx, dojo)
	})

	It("stay in use when their Secret is deleted, and the Dojo can still be scaled", func(ctx context.Context) {
		dojo := runningDojo(ctx, ns)
		Expect(k8s.Delete(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "pg-app"}})).To(Succeed())
		Eventually(ctx, refetch(dojo)).Should(HaveCondition("Progressing", "True", corev1api.ReasonWaitingForCredentials))
		edit(ctx, dojo, replicas(2))
		Eventually(ctx, refetch(deploymentOf(dojo))).Should(HaveField("Status.AvailableReplicas", int32(2)))
		eventuallyDegraded(ctx, dojo, corev1api.ReasonCredentialsNotFound)
		Expect(dojo).To(HaveCondition("Available", "True", corev1api.ReasonReplicasReady))
	})

	DescribeTable("make the Dojo Degraded "+
		"while they have", func(ctx context.Context, breakIt func(*corev1.Secret), want string) {
		s := source(ns, "pg-app")
		breakIt(s)
		Expect(k8s.Create(ctx, s)).To(Succeed())
		dojo := newDojo(ns, "tokyo")
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		eventuallyDegraded(ctx, dojo, corev1api.ReasonCredentialsIncomplete)
		Expect(message(dojo, "Degraded")).To(ContainSubstring(want))

		complete := source(ns, "pg-app").StringData
		edit(ctx, s, func(s *corev1.Secret) { s.StringData = complete })
		eventuallyReady(ctx, dojo)
	},
		Entry("no host", func(s *corev1.Secret) { delete(s.StringData, "host") }, `has no key "host"`),
		Entry("an empty password", func(s *corev1.Secret) { s.StringData["password"] = "" },
			`has an empty value under the key "password"`),
		Entry("an invalid port", func(s *corev1.Secret) { s.StringData["port"] = "http" },
			`no port number (1 to 65535) under the key "port"`),
		Entry("neither user nor username", func(s *corev1.Secret) {
			delete(s.StringData, "user")
			delete(s.StringData, "username")
		}, `has no key "user"`),
	)

	It("stay at their last valid values when the Secret becomes invalid", func(ctx context.Context) {
		dojo := runningDojo(ctx, ns)
		own := secretOf(dojo)
		Expect(k8s.Get(ctx, nameOf(ns, own.Name), own)).To(Succeed())
		edit(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "pg-app"}}, func(s *corev1.Secret) {
			s.Data["password"] = nil
		})
		eventuallyDegraded(ctx, dojo, corev1api.ReasonCredentialsIncomplete)
		Expect(dojo).To(HaveCondition("Available", "True", corev1api.ReasonReplicasReady))
		Consistently(ctx, refetch(secretOf(dojo))).Should(HaveField("Data", own.Data))
	})

	It("are copied from the new Secret when credentialsRef changes", func(ctx context.Context) {
		dojo := runningDojo(ctx, ns)
		other := source(ns, "other-app")
		other.StringData["host"] = "other-rw"
		Expect(k8s.Create(ctx, other)).To(Succeed())
		edit(ctx, dojo, func(dojo *corev1api.Dojo) { dojo.Spec.CredentialsRef.Name = "other-app" })
		Eventually(ctx, refetch(secretOf(dojo))).
			Should(WithTransform(func(s *corev1.Secret) string { return string(s.Data["DB_ENDPOINT"]) },
				Equal("other-rw")))
		eventuallyReady(ctx, dojo)
	})

	Context("that are in another namespace", func() {
		var dojo *corev1api.Dojo
		var otherNamespace string
		BeforeEach(func(ctx context.Context) {
			otherNamespace = newNamespace(ctx)
			dojo = newDojo(ns, "tokyo", func(dojo *corev1api.Dojo) { dojo.Spec.CredentialsRef.Namespace = otherNamespace })
		})

		It("are copied only while their owner shares them", func(ctx context.Context) {
			s := source(otherNamespace, "pg-app")
			Expect(k8s.Create(ctx, s)).To(Succeed())
			Expect(k8s.Create(ctx, dojo)).To(Succeed())
			eventuallyDegraded(ctx, dojo, corev1api.ReasonCredentialsNotShared)
			Expect(message(dojo, "Degraded")).To(ContainSubstring(corev1api.AllowedNamespacesAnnotation))
			Expect(k8s.Get(ctx, nameOf(ns, "tokyo-credentials"), &corev1.Secret{})).NotTo(Succeed())

			By("sharing the Secret")
			edit(ctx, s, func(s *corev1.Secret) {
				s.Annotations = map[string]string{corev1api.AllowedNamespacesAnnotation: "team-a, " + ns}
			})
			eventuallyReady(ctx, dojo)
			own := secretOf(dojo)
			Expect(k8s.Get(ctx, nameOf(ns, own.Name), own)).To(Succeed())
			Expect(string(own.Data["DB_ENDPOINT"])).To(Equal("pg-rw." + otherNamespace + ".svc"))

			By("ending the share, and changing the password in the Secret")
			edit(ctx, s, func(s *corev1.Secret) {
				s.Annotations = nil
				s.Data["password"] = []byte(newPassword())
			})
			eventuallyDegraded(ctx, dojo, corev1api.ReasonCredentialsNotShared)
			Consistently(ctx, refetch(secretOf(dojo))).
				Should(HaveField("Data", own.Data), "a Secret that is not shared must not be copied")
			Expect(dojo).To(HaveCondition("Available", "True", corev1api.ReasonReplicasReady))
		})

		It("do not disclose in the Dojo's status whether an unshared Secret exists", func(ctx context.Context) {
			Expect(k8s.Create(ctx, dojo)).To(Succeed())
			absent := message(eventuallyDegraded(ctx, dojo, corev1api.ReasonCredentialsNotShared), "Degraded")
			Expect(k8s.Create(ctx, source(otherNamespace, "pg-app"))).To(Succeed())
			Consistently(ctx, refetch(dojo)).
				Should(haveMessage("Degraded", Equal(absent)))
		})
	})
})
