package main_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
)

// withCluster gives a Dojo a Cluster of its own.
func withCluster(change ...func(*corev1api.PostgresCluster)) func(*corev1api.Dojo) {
	return func(d *corev1api.Dojo) {
		d.Spec.CredentialsRef = nil
		d.Spec.Postgres = &corev1api.Postgres{Cluster: &corev1api.PostgresCluster{
			Storage: corev1api.PostgresStorage{Size: resource.MustParse("1Gi")},
		}}
		for _, c := range change {
			c(d.Spec.Postgres.Cluster)
		}
	}
}

func nightly(c *corev1api.PostgresCluster) {
	c.Backup = &corev1api.Backup{
		Schedule: "30 2 * * *", Method: corev1api.BackupPlugin, FinalBackup: true,
		Plugin: &corev1api.BackupPluginSpec{Name: "barman-cloud.cloudnative-pg.io", Parameters: map[string]string{"barmanObjectName": "store"}},
	}
}

// haveField matches a field, given by its path, of a custom resource.
func haveField(path string, value any) types.GomegaMatcher {
	matches := Equal(value)
	if value == nil {
		matches = BeNil()
	}
	return WithTransform(func(o *unstructured.Unstructured) any { return field(o, path) }, matches)
}

var _ = Describe("A Dojo with a Cluster of its own", func() {
	var ns string
	BeforeEach(func(ctx context.Context) { ns = newNamespace(ctx) })

	created := func(ctx context.Context, change ...func(*corev1api.Dojo)) *corev1api.Dojo {
		GinkgoHelper()
		d := newDojo(ns, "tokyo", change...)
		Expect(k8s.Create(ctx, d)).To(Succeed())
		eventuallyReady(ctx, d)
		return d
	}
	theCluster := func() *unstructured.Unstructured { return ofKind("Cluster", ns, "tokyo-db") }

	It("brings it up as the spec says, each write once, and nobody owns it but the Dojo's name", func(ctx context.Context) {
		d := created(ctx, withCluster(nightly, func(c *corev1api.PostgresCluster) {
			c.Instances, c.Version, c.Storage.StorageClassName = new(int32(3)), "17", "fast"
			c.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}}
		}))
		live := theCluster()
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(live), live)).To(Succeed())
		Expect(live).To(And(
			haveField("spec.instances", int64(3)), haveField("spec.imageName", "ghcr.io/cloudnative-pg/postgresql:17"),
			haveField("spec.storage.size", "1Gi"), haveField("spec.storage.storageClass", "fast"),
			haveField("spec.resources.requests", map[string]any{"memory": "1Gi"})))
		Expect(field(live, "spec.plugins")).To(HaveExactElements(And(
			HaveKeyWithValue("name", "barman-cloud.cloudnative-pg.io"), HaveKeyWithValue("isWALArchiver", true),
			HaveKeyWithValue("parameters", map[string]any{"barmanObjectName": "store"}))))
		Expect(live.GetOwnerReferences()).To(BeEmpty(), "with an owner the garbage collector would delete it with all its volumes")
		Expect(live.GetLabels()).To(HaveKeyWithValue("app.kubernetes.io/instance", "tokyo"))
		schedule := ofKind("ScheduledBackup", ns, "tokyo-db")
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(schedule), schedule)).To(Succeed())
		Expect(schedule).To(And(haveField("spec.schedule", "0 30 2 * * *"), haveField("spec.method", "plugin"), haveField("status.error", nil)))
		Expect(d.Status.Database.ClusterName).To(Equal("tokyo-db"))

		writes := operator.WritesAtRest(ns)
		AddReportEntry("writes of a Dojo with postgres.cluster and backups", writes)
		Expect(withoutStatus(writes)).To(ConsistOf(
			"patch clusters/tokyo-db", "patch scheduledbackups/tokyo-db", "patch secrets/tokyo-db", "patch databaseroles/tokyo-db",
			"patch databases/tokyo-db", "patch jobs/"+schemaJobs(ctx, d)[0].Name, "patch secrets/tokyo-credentials",
			"patch deployments/tokyo", "patch services/tokyo"))
		Consistently(func() []string { return operator.Writes(ns)[len(writes):] }).Should(BeEmpty())
	})

	It("follows the spec and puts right what somebody edits, while the application serves", func(ctx context.Context) {
		d := created(ctx, withCluster(nightly))
		edit(ctx, d, func(d *corev1api.Dojo) {
			d.Spec.Postgres.Cluster.Instances, d.Spec.Postgres.Cluster.Backup = new(int32(2)), nil
			d.Spec.Postgres.Cluster.Storage.Size = resource.MustParse("2Gi")
		})
		Eventually(ctx, refetch(theCluster())).Should(And(
			haveField("spec.instances", int64(2)), haveField("spec.storage.size", "2Gi"), haveField("spec.plugins", nil)))
		Eventually(ctx, func(ctx context.Context) error {
			return k8s.Get(ctx, nameOf(ns, "tokyo-db"), ofKind("ScheduledBackup", ns, ""))
		}).ShouldNot(Succeed())
		Eventually(ctx, refetch(d)).Should(HaveCondition("Available", "True", ""))
		eventuallyReady(ctx, d)
		live := theCluster()
		edit(ctx, live, func(o *unstructured.Unstructured) {
			Expect(unstructured.SetNestedField(o.Object, int64(7), "spec", "instances")).To(Succeed())
			Expect(unstructured.SetNestedField(o.Object, "unsupervised", "spec", "primaryUpdateStrategy")).To(Succeed())
		})
		Eventually(ctx, refetch(live)).Should(haveField("spec.instances", int64(2)))
		eventuallyReady(ctx, d)
	})

	It("tells how many instances there are, goes on with the first, and needs somebody when nothing moves", func(ctx context.Context) {
		cloudNativePG.Pause(ns, "tokyo-db")
		d := newDojo(ns, "tokyo", withCluster(func(c *corev1api.PostgresCluster) { c.Instances = new(int32(3)) }))
		Expect(k8s.Create(ctx, d)).To(Succeed())
		live := theCluster()
		Eventually(ctx, refetch(live)).Should(haveField("spec.instances", int64(3)))
		Eventually(ctx, func(ctx context.Context) string {
			_, _ = refetch(d)(ctx)
			return message(d, "DatabaseReady")
		}).Should(Equal(fmt.Sprintf("0 of 3 instances of the Cluster %s/tokyo-db are ready.", ns)))
		eventuallyDegraded(ctx, d, corev1api.ReasonClusterNotReady)
		cloudNativePG.Resume(ns, "tokyo-db")
		eventuallyReady(ctx, d)
		cloudNativePG.Pause(ns, "tokyo-db")
		setClusterStatus(ctx, live, map[string]any{
			"phase": "Creating replica", "readyInstances": int64(2), "currentPrimary": "tokyo-db-1", "image": "postgres:17",
		})
		Eventually(ctx, func(ctx context.Context) string {
			_, _ = refetch(d)(ctx)
			return message(d, "DatabaseReady")
		}).Should(Equal(fmt.Sprintf("2 of 3 instances of the Cluster %s/tokyo-db are ready: Creating replica.", ns)))
		Eventually(ctx, refetch(d)).Should(HaveCondition("Available", "True", ""))
		cloudNativePG.Resume(ns, "tokyo-db")
		eventuallyReady(ctx, d)
	})

	It("makes the Cluster again when somebody has deleted it, and the schema in it", func(ctx context.Context) {
		d := created(ctx, withCluster())
		first, live := schemaJobs(ctx, d)[0].Name, theCluster()
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(live), live)).To(Succeed())
		gone := live.GetUID()
		Expect(k8s.Delete(ctx, live)).To(Succeed())
		Eventually(ctx, refetch(live)).ShouldNot(WithTransform(func(o *unstructured.Unstructured) any { return o.GetUID() }, Equal(gone)))
		Eventually(ctx, func(ctx context.Context) string { return schemaJobs(ctx, d)[0].Name }).ShouldNot(Equal(first))
		eventuallyReady(ctx, d)
	})

	It("keeps the Cluster with the policy Retain, however the Dojo is deleted, and a Dojo made again takes it over", func(ctx context.Context) {
		d := created(ctx, withCluster())
		before := theCluster()
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(before), before)).To(Succeed())
		Expect(k8s.Delete(ctx, d, client.PropagationPolicy("Foreground"))).To(Succeed())
		Eventually(ctx, func(ctx context.Context) error { return k8s.Get(ctx, client.ObjectKeyFromObject(d), d) }).ShouldNot(Succeed())
		again := created(ctx, withCluster())
		after := theCluster()
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(after), after)).To(Succeed())
		Expect(after.GetUID()).To(Equal(before.GetUID()))
		Expect(again.Status.Database.ClusterName).To(Equal("tokyo-db"))
	})

	It("takes a last backup and deletes everything in order with the policy Delete", func(ctx context.Context) {
		d := created(ctx, withCluster(nightly), withPolicy(corev1api.ReclaimDelete))
		Expect(k8s.Delete(ctx, d)).To(Succeed())
		Eventually(ctx, func(ctx context.Context) error { return k8s.Get(ctx, client.ObjectKeyFromObject(d), d) }).ShouldNot(Succeed())
		Expect(k8s.Get(ctx, nameOf(ns, "tokyo-db"), theCluster())).NotTo(Succeed())
		Expect(deletions(ns)).To(Equal([]string{
			"delete deployments/tokyo", "delete databases/tokyo-db", "delete databaseroles/tokyo-db",
			"delete scheduledbackups/tokyo-db", "delete clusters/tokyo-db",
		}))
		var backups unstructured.UnstructuredList
		backups.SetGroupVersionKind(ofKind("BackupList", ns, "").GroupVersionKind())
		Expect(k8s.List(ctx, &backups, client.InNamespace(ns))).To(Succeed())
		Expect(backups.Items).To(HaveLen(1), "the last backup stays")
		Expect(&backups.Items[0]).To(And(haveField("spec.method", "plugin"), haveField("status.phase", "completed")))
	})

	It("deletes nothing while the last backup fails", func(ctx context.Context) {
		d := created(ctx, withCluster(nightly), withPolicy(corev1api.ReclaimDelete))
		failingBackups.Store(ns, true)
		Expect(k8s.Delete(ctx, d)).To(Succeed())
		Eventually(ctx, refetch(d)).Should(HaveCondition("Degraded", "True", corev1api.ReasonFinalBackupFailed))
		Expect(message(d, "Degraded")).To(ContainSubstring("the object store does not answer"))
		Expect(k8s.Get(ctx, nameOf(ns, "tokyo"), deploymentOf(d))).To(Succeed(), "the application still serves")
		Expect(deletions(ns)).To(BeEmpty())
		By("deciding to go without")
		edit(ctx, d, func(d *corev1api.Dojo) { d.Spec.Postgres.Cluster.Backup.FinalBackup = false })
		Eventually(ctx, func(ctx context.Context) error { return k8s.Get(ctx, client.ObjectKeyFromObject(d), d) }).ShouldNot(Succeed())
		Expect(k8s.Get(ctx, nameOf(ns, "tokyo-db"), theCluster())).NotTo(Succeed())
	})
})
