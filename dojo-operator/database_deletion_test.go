package main_test

import (
	"context"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
)

var _ = Describe("Deleting a Dojo with a database", func() {
	var ns string
	BeforeEach(func(ctx context.Context) { ns = newNamespace(ctx) })

	gone := func(ctx context.Context, d *corev1api.Dojo) {
		GinkgoHelper()
		Expect(k8s.Delete(ctx, d)).To(Succeed())
		Eventually(ctx, func(ctx context.Context) error { return k8s.Get(ctx, client.ObjectKeyFromObject(d), d) }).ShouldNot(Succeed())
		Eventually(ctx, func(ctx context.Context) error {
			return k8s.Get(ctx, client.ObjectKeyFromObject(d), &appsv1.Deployment{})
		}).ShouldNot(Succeed())
	}
	rest := func(kind string) *unstructured.Unstructured { return ofKind(kind, ns, "tokyo-db") }

	It("leaves the data with the policy Retain, and a Dojo made again finds it", func(ctx context.Context) {
		d := dojoInCluster(ctx, ns)
		password := databasePassword(ctx, d)
		Expect(d.Finalizers).To(BeEmpty(), "nothing has to be waited for")
		gone(ctx, d)
		Consistently(ctx, func(ctx context.Context) error {
			for _, o := range []client.Object{rest("Database"), rest("DatabaseRole"), passwordSecretOf(d)} {
				if err := k8s.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
					return err
				}
			}
			return nil
		}).Should(Succeed())
		again := newDojo(ns, "tokyo", inCluster)
		Expect(k8s.Create(ctx, again)).To(Succeed())
		eventuallyReady(ctx, again)
		Expect(databasePassword(ctx, again)).To(Equal(password))
	})

	It("deletes the data with the policy Delete, the application first, then the database, then its role", func(ctx context.Context) {
		d := dojoInCluster(ctx, ns, withPolicy(corev1api.ReclaimDelete), replicas(2))
		Expect(d.Finalizers).To(ConsistOf(corev1api.DatabaseFinalizer))
		gone(ctx, d)
		for _, kind := range []string{"Database", "DatabaseRole"} {
			Expect(k8s.Get(ctx, nameOf(ns, "tokyo-db"), rest(kind))).NotTo(Succeed(), kind)
		}
		Eventually(ctx, func(ctx context.Context) error { return k8s.Get(ctx, nameOf(ns, "tokyo-db"), passwordSecretOf(d)) }).ShouldNot(Succeed())
		Expect(k8s.Get(ctx, nameOf(ns, "pg"), ofKind("Cluster", ns, "pg"))).To(Succeed(), "the Cluster is not the Dojo's")
		Expect(deletions(ns)).To(Equal([]string{"delete deployments/tokyo", "delete databases/tokyo-db", "delete databaseroles/tokyo-db"}))
	})

	It("does the same when owners are deleted after what they own", func(ctx context.Context) {
		d := dojoInCluster(ctx, ns, withPolicy(corev1api.ReclaimDelete))
		Expect(k8s.Delete(ctx, d, client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
		Eventually(ctx, func(ctx context.Context) error { return k8s.Get(ctx, client.ObjectKeyFromObject(d), d) }).ShouldNot(Succeed())
		Expect(k8s.Get(ctx, nameOf(ns, "tokyo-db"), rest("Database"))).NotTo(Succeed())
		Expect(k8s.Get(ctx, nameOf(ns, "tokyo-db"), rest("DatabaseRole"))).NotTo(Succeed())
	})

	It("follows the policy as it is when the Dojo is deleted", func(ctx context.Context) {
		d := dojoInCluster(ctx, ns, withPolicy(corev1api.ReclaimDelete))
		edit(ctx, d, withPolicy(corev1api.ReclaimRetain))
		Eventually(ctx, refetch(d)).Should(HaveField("Finalizers", BeEmpty()))
		Eventually(ctx, refetch(passwordSecretOf(d))).Should(HaveField("OwnerReferences", BeEmpty()), "or the garbage collector would take it")
		eventuallyReady(ctx, d)
		gone(ctx, d)
		Consistently(ctx, func(ctx context.Context) error { return k8s.Get(ctx, nameOf(ns, "tokyo-db"), rest("Database")) }).Should(Succeed())
		Expect(k8s.Get(ctx, nameOf(ns, "tokyo-db"), passwordSecretOf(d))).To(Succeed())
	})

	It("waits and says for what while the Cluster does not answer", func(ctx context.Context) {
		d := dojoInCluster(ctx, ns, withPolicy(corev1api.ReclaimDelete))
		cloudNativePG.Pause(ns, "pg")
		Expect(k8s.Delete(ctx, d)).To(Succeed())
		Eventually(ctx, func(ctx context.Context) string {
			_, _ = refetch(d)(ctx)
			return message(d, "DatabaseReady")
		}).Should(ContainSubstring("the Database tokyo-db to be deleted"))
		Expect(d).To(HaveCondition("DatabaseReady", "False", corev1api.ReasonDeletingDatabase))
		cloudNativePG.Resume(ns, "pg")
		Eventually(ctx, func(ctx context.Context) error { return k8s.Get(ctx, client.ObjectKeyFromObject(d), d) }).ShouldNot(Succeed())
	})
})

// deletions are the operator's deletions in a namespace, each named once.
func deletions(namespace string) []string {
	var all []string
	for _, write := range operator.Writes(namespace) {
		if strings.HasPrefix(write, "delete ") && !strings.HasPrefix(write, "delete jobs/") && !slices.Contains(all, write) {
			all = append(all, write)
		}
	}
	return all
}
