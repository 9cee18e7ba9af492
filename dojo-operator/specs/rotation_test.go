// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
)

var _ = Describe("The rotation of a Dojo's password", func() {
	var ns string
	BeforeEach(func(ctx context.Context) { ns = newNamespace(ctx) })

	inShared := func(ctx context.Context) *corev1api.Dojo { return dojoInCluster(ctx, ns, replicas(2)) }
	inOwn := func(ctx context.Context) *corev1api.Dojo {
		dojo := newDojo(ns, "tokyo", withCluster(), replicas(2))
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		eventuallyReady(ctx, dojo)
		return dojo
	}
	DescribeTable("alternates between two logins, and Postgres accepts the credentials of every running pod",
		func(ctx context.Context, create func(context.Context) *corev1api.Dojo) {
			dojo := create(ctx)
			name := dojo.Status.Database.Name
			second := "dojo2" + name[len("dojo"):]
			refusals := refusedPods(ctx, dojo)
			for _, login := range []string{second, name, second} {
				former := credentialsOf(ctx, dojo)
				By("rotating to " + login)
				request(ctx, dojo, "for "+login)
				Eventually(ctx, refetch(dojo)).Should(HaveField("Status.Database.Login", login))
				eventuallyReady(ctx, dojo)
				Expect(dojo.Status.Database.FormerLogin).To(BeEmpty())
				fresh := credentialsOf(ctx, dojo)
				Expect(fresh.user).To(Equal(login))
				Expect(fresh.password).NotTo(Equal(former.password))
				Expect(accepted(dojo, fresh)).To(BeTrue())
				Expect(accepted(dojo, former)).To(BeFalse(), "Postgres should refuse the former login")
			}
			Expect(refusals()).To(BeEmpty())
			Eventually(ctx, eventsOf(dojo)).Should(ContainElement("Normal CredentialsRotated"))
			Expect(eventsOf(dojo)(ctx)).NotTo(ContainElement("Normal DriftCorrected"))
			writes := len(operator.WritesAtRest(ns))
			operator.Restart(ctx)
			eventuallyReady(ctx, dojo)
			Consistently(func() []string { return operator.Writes(ns)[writes:] }).
				Should(BeEmpty(), "a restart should not cause a write")
		},
		Entry("if the Dojo uses an existing Cluster", inShared),
		Entry("if the Dojo has a Cluster of its own", inOwn),
	)

	It("keeps the former login valid while pods may use it, and reports the wait", func(ctx context.Context) {
		dojo := inShared(ctx)
		refusals := refusedPods(ctx, dojo)
		By("keeping new pods from starting")
		edit(ctx, dojo, func(dojo *corev1api.Dojo) {
			dojo.Spec.Resources = &corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100000")},
			}
		})
		former := credentialsOf(ctx, dojo)
		request(ctx, dojo, "1")
		Eventually(ctx, refetch(dojo)).Should(And(
			HaveCondition("DatabaseReady", "False", corev1api.ReasonRotatingPassword),
			haveMessage("DatabaseReady", ContainSubstring(" stays valid while pods may use it: the rollout is not complete."))))
		current := credentialsOf(ctx, dojo)
		Expect(dojo.Status.Database).To(HaveValue(And(
			HaveField("Login", current.user), HaveField("FormerLogin", former.user))))

		By("requesting another rotation")
		request(ctx, dojo, "2")
		Eventually(ctx, refetch(dojo)).
			Should(haveMessage("DatabaseReady", ContainSubstring("After that, the password is rotated again, as requested.")))
		Consistently(ctx, func() login { return credentialsOf(ctx, dojo) }).Should(Equal(current),
			"the second rotation should wait")
		Expect(accepted(dojo, former)).To(BeTrue())

		By("letting the pods start")
		edit(ctx, dojo, func(dojo *corev1api.Dojo) { dojo.Spec.Resources = nil })
		Eventually(ctx, refetch(dojo)).Should(HaveField("Status.Database.Login", former.user),
			"the second rotation should follow")
		eventuallyReady(ctx, dojo)
		Expect(accepted(dojo, former)).To(BeFalse())
		Expect(accepted(dojo, current)).To(BeFalse())
		Expect(refusals()).To(BeEmpty())
	})

	DescribeTable("makes the second login act as the database owner, even after the Cluster is replaced",
		func(ctx context.Context, create func(context.Context) *corev1api.Dojo, replace func(context.Context, *corev1api.Dojo)) {
			cloudNativePG.PlayLogins(ctx, ns)
			dojo := create(ctx)
			name := dojo.Status.Database.Name
			second := "dojo2" + name[len("dojo"):]
			acts := func(ctx context.Context) string {
				return cloudNativePG.ActsAs(ctx, ns, dojo.Status.Database.ClusterName, second)
			}
			request(ctx, dojo, "1")
			Eventually(ctx, refetch(dojo)).Should(HaveField("Status.Database.Login", second))
			eventuallyReady(ctx, dojo)
			Expect(acts(ctx)).To(Equal(name))
			theCluster := ofKind("Cluster", ns, dojo.Status.Database.ClusterName)
			Expect(k8s.Delete(ctx, theCluster)).To(Succeed())
			replace(ctx, dojo)
			Eventually(ctx, refetch(theCluster)).Should(HaveField("GetUID()", Not(BeEmpty())))
			eventuallyReady(ctx, dojo)
			Expect(dojo.Status.Database.Login).To(Equal(second))
			Expect(acts(ctx)).To(Equal(name), "the second login should act as the owner in the new Cluster")
			By("rotating to the owner's login, and back")
			for _, login := range []string{name, second} {
				request(ctx, dojo, "for "+login)
				Eventually(ctx, refetch(dojo)).Should(HaveField("Status.Database.Login", login))
				eventuallyReady(ctx, dojo)
			}
			Expect(acts(ctx)).To(Equal(name))
		},
		Entry("by a user, if the Dojo uses an existing Cluster", inShared, func(ctx context.Context, dojo *corev1api.Dojo) {
			eventuallyDegraded(ctx, dojo, corev1api.ReasonClusterNotFound)
			existingCluster(ctx, ns, "pg")
		}),
		Entry("by the operator with an empty Cluster, "+
			"if the Dojo has a Cluster of its own", inOwn, func(ctx context.Context, dojo *corev1api.Dojo) {
			eventuallyDegraded(ctx, dojo, corev1api.ReasonDatabaseLost)
			edit(ctx, dojo, func(dojo *corev1api.Dojo) {
				metav1.SetMetaDataAnnotation(&dojo.ObjectMeta, corev1api.RecreateDatabaseAnnotation, dojo.Status.Database.ClusterUID)
			})
		}),
	)

	It("leaves neither of the two logins in Postgres when the Dojo is deleted with its data", func(ctx context.Context) {
		dojo := dojoInCluster(ctx, ns, withPolicy(corev1api.ReclaimDelete))
		request(ctx, dojo, "1")
		Eventually(ctx, refetch(dojo)).Should(HaveField("Status.Database.Login", HavePrefix("dojo2_")))
		eventuallyReady(ctx, dojo)
		last := credentialsOf(ctx, dojo)
		Expect(k8s.Delete(ctx, dojo)).To(Succeed())
		for _, name := range []string{"tokyo-db", "tokyo-db-2"} {
			Eventually(ctx, func() error {
				o := ofKind("DatabaseRole", ns, name)
				return k8s.Get(ctx, client.ObjectKeyFromObject(o), o)
			}).Should(MatchError(ContainSubstring("not found")))
		}
		Expect(accepted(dojo, last)).To(BeFalse())
	})

	It("keeps the former login valid while another Dojo uses it, and names that Dojo", func(ctx context.Context) {
		dojo := dojoInCluster(ctx, ns)
		guest := newDojo(ns, "kyoto", func(dojo *corev1api.Dojo) {
			dojo.Spec.CredentialsRef = &corev1api.SecretReference{Name: "tokyo-db"}
		})
		Expect(k8s.Create(ctx, guest)).To(Succeed())
		eventuallyReady(ctx, guest)
		former := credentialsOf(ctx, guest)
		request(ctx, dojo, "1")
		Eventually(ctx, refetch(dojo)).Should(WithTransform(func(dojo *corev1api.Dojo) string {
			return message(dojo, "Ready")
		}, ContainSubstring("other Dojos use its Secret tokyo-db: Dojo kyoto. Set their spec.credentialsRef.name to tokyo-db-2.")))
		Expect(accepted(dojo, former)).To(BeTrue())

		By("following the message")
		edit(ctx, guest, func(guest *corev1api.Dojo) { guest.Spec.CredentialsRef.Name = "tokyo-db-2" })
		eventuallyReady(ctx, guest)
		eventuallyReady(ctx, dojo)
		Expect(credentialsOf(ctx, guest).user).To(HavePrefix("dojo2_"))
		Expect(accepted(dojo, former)).To(BeFalse())
	})
})

func request(ctx context.Context, dojo *corev1api.Dojo, value string) {
	GinkgoHelper()
	edit(ctx, dojo, func(dojo *corev1api.Dojo) {
		metav1.SetMetaDataAnnotation(&dojo.ObjectMeta, corev1api.RotatePasswordAnnotation, value)
	})
}

type login struct{ user, password string }

func accepted(dojo *corev1api.Dojo, l login) bool {
	return cloudNativePG.Accepts(dojo.Namespace, dojo.Status.Database.ClusterName, l.user, l.password)
}

func credentialsOf(ctx context.Context, dojo *corev1api.Dojo) login {
	GinkgoHelper()
	secret := secretOf(dojo)
	Expect(k8s.Get(ctx, client.ObjectKeyFromObject(secret), secret)).To(Succeed())
	l := login{string(secret.Data["DB_USER"]), passwordOf(secret)}
	secrets.Add(l.password)
	return l
}

// refusedPods returns a function that lists the running pods with credentials that Postgres
// refused. The list includes terminating pods, because they may still serve requests.
func refusedPods(ctx context.Context, dojo *corev1api.Dojo) func() []string {
	const revision = "core.jutsu.com/credentials-revision"
	dojo = dojo.DeepCopy()
	watched, refused := map[string]login{}, []string{}
	valid := func() map[string]bool {
		all := map[string]bool{}
		for revision, l := range watched {
			all[revision] = accepted(dojo, l)
		}
		return all
	}
	once := func() {
		secret := secretOf(dojo)
		if k8s.Get(ctx, client.ObjectKeyFromObject(secret), secret) == nil {
			watched[secret.Annotations[revision]] = login{string(secret.Data["DB_USER"]), passwordOf(secret)}
		}
		before := valid()
		var pods corev1.PodList
		if k8s.List(ctx, &pods, client.InNamespace(dojo.Namespace), client.MatchingLabels{
			"app.kubernetes.io/name": "dojo", "app.kubernetes.io/instance": dojo.Name}) != nil {
			return
		}
		// A login may change during the list request, so a pod is refused only if its login is
		// invalid both before and after the request.
		after := valid()
		for _, pod := range pods.Items {
			of := pod.Annotations[revision]
			if _, known := watched[of]; known && pod.Status.Phase == corev1.PodRunning && !before[of] && !after[of] {
				refused = append(refused, fmt.Sprintf("%s as %s", pod.Name, watched[of].user))
			}
		}
	}
	once()
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				once()
			}
		}
	}()
	DeferCleanup(func() { cancel(); <-done })
	return func() []string {
		cancel()
		<-done
		return slices.Compact(refused)
	}
}
