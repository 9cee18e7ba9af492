// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
)

var _ = Describe("A Dojo whose Cluster has been deleted by a user", func() {
	var ns string
	var dojo *corev1api.Dojo
	var theCluster *unstructured.Unstructured
	BeforeEach(func(ctx context.Context) {
		ns = newNamespace(ctx)
		theCluster = ofKind("Cluster", ns, "tokyo-db")
		dojo = newDojo(ns, "tokyo", withCluster())
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		eventuallyReady(ctx, dojo)
	})
	lose := func(ctx context.Context) string {
		GinkgoHelper()
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(theCluster), theCluster)).To(Succeed())
		uid := string(theCluster.GetUID())
		Expect(dojo.Status.Database.ClusterUID).To(Equal(uid))
		Expect(k8s.Delete(ctx, theCluster)).To(Succeed())
		eventuallyDegraded(ctx, dojo, corev1api.ReasonDatabaseLost)
		Expect(dojo).To(And(HaveCondition("DatabaseReady", "False", corev1api.ReasonDatabaseLost),
			HaveCondition("Available", "False", corev1api.ReasonDatabaseUnreachable)))
		Expect(message(dojo, "Degraded")).To(ContainSubstring("Cluster " + ns + "/tokyo-db is gone, with the data of the Dojo"))
		Expect(message(dojo, "Degraded")).To(HaveSuffix(fmt.Sprintf(
			"Restore the data: `kubectl dojo restore tokyo -n %[1]s`. If nothing can be restored, begin with an empty database: "+
				"`kubectl dojo accept-loss tokyo -n %[1]s`; or run `kubectl annotate dojos.core.jutsu.com tokyo -n %[1]s --overwrite "+
				"core.jutsu.com/recreate-database=%[2]s`. All data of the Dojo is then lost.", ns, uid)))
		return uid
	}
	accept := func(ctx context.Context, loss string) {
		GinkgoHelper()
		edit(ctx, dojo, func(dojo *corev1api.Dojo) {
			metav1.SetMetaDataAnnotation(&dojo.ObjectMeta, corev1api.RecreateDatabaseAnnotation, loss)
		})
	}
	stays := func(ctx context.Context) {
		GinkgoHelper()
		Consistently(ctx, func(ctx context.Context) error {
			return k8s.Get(ctx, client.ObjectKeyFromObject(theCluster), theCluster)
		}).ShouldNot(Succeed(), "no empty Cluster should take its place")
		Expect(refetch(dojo)(ctx)).To(HaveCondition("Degraded", "True", corev1api.ReasonDatabaseLost))
	}

	It("gets an empty Cluster only after the user accepts the loss, "+
		"and the user must accept the next loss too", func(ctx context.Context) {
		schema, lost := schemaJobs(ctx, dojo)[0].Name, lose(ctx)
		stays(ctx)
		By("writing a wrong value into the annotation that accepts the loss")
		accept(ctx, "true")
		stays(ctx)
		By("restarting the operator, and deleting the rest of the database")
		for _, kind := range []string{"Database", "DatabaseRole"} {
			Expect(k8s.Delete(ctx, ofKind(kind, ns, "tokyo-db"))).To(Succeed())
		}
		operator.Restart(ctx)
		stays(ctx)
		By("accepting the loss")
		accept(ctx, lost)
		Eventually(ctx, func(ctx context.Context) error {
			return k8s.Get(ctx, client.ObjectKeyFromObject(theCluster), theCluster)
		}).Should(Succeed())
		Eventually(ctx, schemaJob(dojo)).ShouldNot(Or(BeEmpty(), Equal(schema)), "the new Cluster needs the schema")
		eventuallyReady(ctx, dojo)
		Expect(dojo.Status.Database.ClusterUID).NotTo(Equal(lost))
		By("losing the new Cluster, with the same annotation")
		Expect(lose(ctx)).NotTo(Equal(lost))
		stays(ctx)
	})

	It("becomes Ready with a Cluster that the user restores under the same name", func(ctx context.Context) {
		lose(ctx)
		restored := ofKind("Cluster", ns, "tokyo-db")
		restored.SetLabels(map[string]string{
			"app.kubernetes.io/name": "dojo", "app.kubernetes.io/instance": "tokyo",
			"app.kubernetes.io/managed-by": "dojo-operator",
		})
		restored.Object["spec"] = map[string]any{
			"instances": int64(1), "storage": map[string]any{"size": "1Gi"},
			"bootstrap":        map[string]any{"recovery": map[string]any{"source": "backup"}},
			"externalClusters": []any{map[string]any{"name": "backup", "plugin": map[string]any{"name": "x"}}},
		}
		Expect(k8s.Create(ctx, restored)).To(Succeed())
		eventuallyReady(ctx, dojo)
		Expect(dojo.Status.Database.ClusterUID).To(Equal(string(restored.GetUID())))
		Expect(refetch(restored)(ctx)).To(haveField("spec.bootstrap.recovery.source", "backup"))
	})

	DescribeTable("can be deleted", func(ctx context.Context, policy corev1api.ReclaimPolicy) {
		edit(ctx, dojo, withPolicy(policy))
		eventuallyReady(ctx, dojo)
		lose(ctx)
		Expect(k8s.Delete(ctx, dojo)).To(Succeed())
		eventuallyGone(ctx, dojo)
		err := k8s.Get(ctx, nameOf(ns, "tokyo-db"), ofKind("Database", ns, ""))
		Expect(client.IgnoreNotFound(err)).To(Succeed())
		Expect(err == nil).To(Equal(policy == corev1api.ReclaimRetain), "only Retain should keep the Database")
	},
		Entry("with reclaimPolicy Delete, and its Database with it", corev1api.ReclaimDelete),
		Entry("with reclaimPolicy Retain, which keeps its Database", corev1api.ReclaimRetain),
	)
})
