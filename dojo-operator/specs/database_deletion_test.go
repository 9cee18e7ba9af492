// SPDX-License-Identifier: Apache-2.0

package specs_test

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

	deleted := func(ctx context.Context, dojo *corev1api.Dojo) {
		GinkgoHelper()
		Expect(k8s.Delete(ctx, dojo)).To(Succeed())
		eventuallyGone(ctx, dojo)
		Eventually(ctx, func(ctx context.Context) error {
			return k8s.Get(ctx, client.ObjectKeyFromObject(dojo), &appsv1.Deployment{})
		}).ShouldNot(Succeed())
	}
	child := func(kind string) *unstructured.Unstructured { return ofKind(kind, ns, "tokyo-db") }

	It("keeps the data for a new Dojo of the same name if the policy is Retain", func(ctx context.Context) {
		dojo := dojoInCluster(ctx, ns)
		password := databasePassword(ctx, dojo)
		Expect(dojo.Finalizers).To(BeEmpty(), "the policy Retain needs no finalizer")
		deleted(ctx, dojo)
		Consistently(ctx, func(ctx context.Context) error {
			for _, o := range []client.Object{child("Database"), child("DatabaseRole"), passwordSecretOf(dojo)} {
				if err := k8s.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
					return err
				}
			}
			return nil
		}).Should(Succeed())
		recreated := newDojo(ns, "tokyo", inCluster)
		Expect(k8s.Create(ctx, recreated)).To(Succeed())
		eventuallyReady(ctx, recreated)
		Expect(databasePassword(ctx, recreated)).To(Equal(password))
	})

	It("deletes Deployment, Database and DatabaseRole in this order if the policy is Delete", func(ctx context.Context) {
		dojo := dojoInCluster(ctx, ns, withPolicy(corev1api.ReclaimDelete), replicas(2))
		Expect(dojo.Finalizers).To(ConsistOf(corev1api.DatabaseFinalizer))
		deleted(ctx, dojo)
		for _, kind := range []string{"Database", "DatabaseRole"} {
			Expect(k8s.Get(ctx, nameOf(ns, "tokyo-db"), child(kind))).NotTo(Succeed(), kind)
		}
		Eventually(ctx,
			func(ctx context.Context) error { return k8s.Get(ctx, nameOf(ns, "tokyo-db"), passwordSecretOf(dojo)) }).
			ShouldNot(Succeed())
		Expect(k8s.Get(ctx, nameOf(ns, "pg"), ofKind("Cluster", ns, "pg"))).To(Succeed(), "the Cluster is not the Dojo's")
		Expect(deletions(ns)).
			To(Equal([]string{"delete deployments/tokyo", "delete databases/tokyo-db", "delete databaseroles/tokyo-db"}))
	})

	It("deletes Database and DatabaseRole if the policy is Delete, "+
		"even with foreground propagation", func(ctx context.Context) {
		dojo := dojoInCluster(ctx, ns, withPolicy(corev1api.ReclaimDelete))
		Expect(k8s.Delete(ctx, dojo, client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
		eventuallyGone(ctx, dojo)
		Expect(k8s.Get(ctx, nameOf(ns, "tokyo-db"), child("Database"))).NotTo(Succeed())
		Expect(k8s.Get(ctx, nameOf(ns, "tokyo-db"), child("DatabaseRole"))).NotTo(Succeed())
	})

	It("follows the policy at the time of the deletion", func(ctx context.Context) {
		dojo := dojoInCluster(ctx, ns, withPolicy(corev1api.ReclaimDelete))
		edit(ctx, dojo, withPolicy(corev1api.ReclaimRetain))
		Eventually(ctx, refetch(dojo)).Should(HaveField("Finalizers", BeEmpty()))
		Eventually(ctx, refetch(passwordSecretOf(dojo))).
			Should(HaveField("OwnerReferences", BeEmpty()), "the garbage collector would delete a Secret that has an owner")
		eventuallyReady(ctx, dojo)
		deleted(ctx, dojo)
		Consistently(ctx,
			func(ctx context.Context) error { return k8s.Get(ctx, nameOf(ns, "tokyo-db"), child("Database")) }).
			Should(Succeed())
		Expect(k8s.Get(ctx, nameOf(ns, "tokyo-db"), passwordSecretOf(dojo))).To(Succeed())
	})

	It("keeps the data when the policy becomes Retain during the deletion", func(ctx context.Context) {
		dojo := dojoInCluster(ctx, ns, withPolicy(corev1api.ReclaimDelete))
		cloudNativePG.Pause(ns, "pg")
		Expect(k8s.Delete(ctx, dojo)).To(Succeed())
		Eventually(ctx, refetch(dojo)).
			Should(haveMessage("DatabaseReady", ContainSubstring("the Database tokyo-db to be deleted")))
		edit(ctx, dojo, withPolicy(corev1api.ReclaimRetain))
		eventuallyGone(ctx, dojo)
		database := child("Database")
		Expect(k8s.Get(ctx, nameOf(ns, "tokyo-db"), database)).To(Succeed())
		Expect(database).To(haveField("spec.databaseReclaimPolicy", "retain"),
			"the object is being deleted, but the database in Postgres stays")
		role := child("DatabaseRole")
		Expect(k8s.Get(ctx, nameOf(ns, "tokyo-db"), role)).To(Succeed())
		Expect(role).To(haveField("spec.databaseRoleReclaimPolicy", "retain"))
		Consistently(ctx, func(ctx context.Context) error {
			return k8s.Get(ctx, nameOf(ns, "tokyo-db"), passwordSecretOf(dojo))
		}).Should(Succeed())
		cloudNativePG.Resume(ns, "pg")
	})

	It("stalls on a Deployment without owner reference, "+
		"and reports the command that deletes it", func(ctx context.Context) {
		dojo := dojoInCluster(ctx, ns, withPolicy(corev1api.ReclaimDelete))
		edit(ctx, deploymentOf(dojo), func(deployment *appsv1.Deployment) { deployment.OwnerReferences = nil })
		eventuallyDegraded(ctx, dojo, corev1api.ReasonNameConflict)
		Expect(k8s.Delete(ctx, dojo)).To(Succeed())
		Eventually(ctx, refetch(dojo)).Should(HaveCondition("Degraded", "True", corev1api.ReasonDeletionStalled))
		Expect(message(dojo, "Degraded")).To(ContainSubstring("kubectl delete deployment tokyo -n " + ns))
		Expect(k8s.Delete(ctx, deploymentOf(dojo))).To(Succeed())
		eventuallyGone(ctx, dojo)
	})

	It("reports that the operator waits "+
		"until CloudNativePG has deleted the Database", func(ctx context.Context) {
		dojo := dojoInCluster(ctx, ns, withPolicy(corev1api.ReclaimDelete))
		cloudNativePG.Pause(ns, "pg")
		Expect(k8s.Delete(ctx, dojo)).To(Succeed())
		Eventually(ctx, refetch(dojo)).
			Should(haveMessage("DatabaseReady", ContainSubstring("the Database tokyo-db to be deleted")))
		Expect(dojo).To(HaveCondition("DatabaseReady", "False", corev1api.ReasonDeletingDatabase))
		cloudNativePG.Resume(ns, "pg")
		eventuallyGone(ctx, dojo)
	})
})

func deletions(namespace string) []string {
	var all []string
	for _, write := range operator.Writes(namespace) {
		if strings.HasPrefix(write, "delete ") && !strings.HasPrefix(write, "delete jobs/") && !slices.Contains(all, write) {
			all = append(all, write)
		}
	}
	return all
}
