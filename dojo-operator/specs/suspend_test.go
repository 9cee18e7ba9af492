// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
)

var _ = Describe("A suspended Dojo", func() {
	var ns string
	var theCluster *unstructured.Unstructured
	BeforeEach(func(ctx context.Context) {
		ns = newNamespace(ctx)
		theCluster = ofKind("Cluster", ns, "tokyo-db")
	})
	suspend := func(suspended bool) func(*corev1api.Dojo) {
		return func(dojo *corev1api.Dojo) { dojo.Spec.Suspend = suspended }
	}
	created := func(ctx context.Context, change ...func(*corev1api.Dojo)) *corev1api.Dojo {
		GinkgoHelper()
		dojo := newDojo(ns, "tokyo", change...)
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		eventuallyReady(ctx, dojo)
		return dojo
	}
	monitored := func(dojo *corev1api.Dojo) { dojo.Spec.Monitoring = &corev1api.Monitoring{Enabled: true} }
	annotations := func(o *unstructured.Unstructured) map[string]string { return o.GetAnnotations() }
	asleep := WithTransform(annotations, HaveKeyWithValue("cnpg.io/hibernation", "on"))
	awake := WithTransform(annotations, Not(HaveKey("cnpg.io/hibernation")))
	eventuallySuspended := func(ctx context.Context, dojo *corev1api.Dojo) {
		GinkgoHelper()
		Eventually(ctx, refetch(dojo)).Should(And(HaveCondition("Ready", "True", corev1api.ReasonSuspended),
			HaveCondition("Available", "False", corev1api.ReasonSuspended)))
		Expect(*dojo.Status.DesiredReplicas).To(BeZero())
		Expect(dojo.Status.Replicas).To(BeZero())
	}
	pods := func(ctx context.Context) ([]corev1.Pod, error) {
		var pods corev1.PodList
		labels := client.MatchingLabels{"app.kubernetes.io/name": "dojo"}
		err := k8s.List(ctx, &pods, client.InNamespace(ns), labels)
		return pods.Items, err
	}
	// orderOf returns the writes to the Deployment and the Cluster. It drops repeated writes:
	// before an apply, the operator may patch managedFields.
	orderOf := func(writes []string) []string {
		return slices.Compact(slices.DeleteFunc(slices.Clone(writes), func(write string) bool {
			return !strings.HasSuffix(write, " deployments/tokyo") && !strings.HasSuffix(write, " clusters/tokyo-db")
		}))
	}

	It("has no pods, a hibernated Cluster and no alerts, "+
		"and resumes its Cluster before its pods", func(ctx context.Context) {
		dojo := created(ctx, replicas(3), withCluster(nightly), monitored)
		rule, schedule := ofKind("PrometheusRule", ns, "tokyo"), ofKind("ScheduledBackup", ns, "tokyo-db")
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(rule), rule)).To(Succeed())
		before := len(operator.WritesAtRest(ns))
		edit(ctx, dojo, suspend(true))
		eventuallySuspended(ctx, dojo)
		Expect(dojo).To(HaveCondition("DatabaseReady", "True", corev1api.ReasonSuspended))
		Expect(dojo.Status.Database.Instances).To(Equal("0/1"))
		Expect(dojo.Status.Database.NextBackup).To(BeNil())
		Expect(pods(ctx)).To(BeEmpty())
		Expect(refetch(theCluster)(ctx)).To(asleep)
		Expect(refetch(schedule)(ctx)).To(haveField("spec.suspend", true))
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(rule), rule)).NotTo(Succeed(), "no alert should be raised")
		slept := operator.WritesAtRest(ns)
		Expect(orderOf(slept[before:])).To(Equal([]string{"patch deployments/tokyo", "patch clusters/tokyo-db"}))
		Consistently(func() []string { return operator.Writes(ns)[len(slept):] }).Should(BeEmpty())

		warning := HavePrefix("Warning")
		Expect(eventsOf(dojo)(ctx)).NotTo(ContainElement(warning))

		By("resuming the Dojo")
		cloudNativePG.Pause(ns, "tokyo-db")
		edit(ctx, dojo, suspend(false))
		Eventually(ctx, refetch(theCluster)).Should(awake)
		Eventually(ctx, refetch(dojo)).Should(And(HaveCondition("Progressing", "True", corev1api.ReasonWaitingForCluster),
			HaveCondition("Available", "False", corev1api.ReasonScalingUp)))
		Consistently(ctx, refetch(deploymentOf(dojo))).Should(
			HaveField("Spec.Replicas", HaveValue(BeZero())), "pods without a database would only fail")
		cloudNativePG.Resume(ns, "tokyo-db")
		eventuallyReady(ctx, dojo)
		Expect(dojo.Status.ReadyReplicas).To(Equal(int32(3)))
		Expect(dojo).To(HaveCondition("DatabaseReady", "True", corev1api.ReasonDatabaseReady))
		Expect(orderOf(operator.WritesAtRest(ns)[len(slept):])).To(Equal(
			[]string{"patch clusters/tokyo-db", "patch deployments/tokyo"}))
		Eventually(ctx, refetch(schedule)).Should(haveField("spec.suspend", Or(BeNil(), BeFalse())))
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(rule), rule)).To(Succeed())
		late := Equal("Warning " + corev1api.ReasonClusterNotReady) // a slow machine may exceed the deadline
		Expect(eventsOf(dojo)(ctx)).NotTo(ContainElement(And(warning, Not(late))))
	})

	It("accepts edits, scaling and a password rotation, which reach its pods when it resumes", func(ctx context.Context) {
		dojo := created(ctx, withCluster())
		password := databasePassword(ctx, dojo)
		edit(ctx, dojo, suspend(true))
		eventuallySuspended(ctx, dojo)
		edit(ctx, dojo, func(dojo *corev1api.Dojo) {
			dojo.Spec.Replicas, dojo.Spec.Image = new(int32(2)), "registry.example.org/dojo:2"
			dojo.Spec.Postgres.Cluster.Instances = new(int32(3))
			dojo.Annotations = map[string]string{corev1api.RotatePasswordAnnotation: "asleep"}
		})
		Eventually(ctx, refetch(theCluster)).Should(And(haveField("spec.instances", int64(3)), asleep))
		Eventually(ctx, refetch(dojo)).Should(HaveField("Status.ObservedGeneration", Equal(dojo.Generation)))
		eventuallySuspended(ctx, dojo)
		operator.Restart(ctx)
		Consistently(ctx, refetch(deploymentOf(dojo))).Should(HaveField("Spec.Replicas", HaveValue(BeZero())))

		edit(ctx, dojo, suspend(false))
		eventuallyReady(ctx, dojo)
		Eventually(ctx, refetch(deploymentOf(dojo))).Should(And(HaveField("Spec.Replicas", HaveValue(Equal(int32(2)))),
			HaveField("Spec.Template.Spec.Containers", ContainElement(HaveField("Image", "registry.example.org/dojo:2")))))
		Eventually(ctx, podPassword(dojo)).ShouldNot(Equal(password))
		rotated, err := podPassword(dojo)(ctx)
		Expect(err).NotTo(HaveOccurred())
		secrets.Add(rotated)
		eventuallyReady(ctx, dojo)
		Expect(dojo.Status.Database.Instances).To(Equal("3/3"))
	})

	It("stops pending SQL, and runs the SQL when the Dojo resumes", func(ctx context.Context) {
		dojo := created(ctx, withCluster(func(pg *corev1api.PostgresCluster) { pg.ImageName = "registry.example.org/postgresql:17" }))
		sql := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "sql"}, Data: map[string]string{"all": "SELECT 2"},
		}
		Expect(k8s.Create(ctx, sql)).To(Succeed())
		edit(ctx, dojo, func(dojo *corev1api.Dojo) { // no node can pull this image
			dojo.Spec.Postgres.Cluster.ImageName = "registry.invalid/postgresql:17"
		})
		// The Job that runs the SQL uses the image in the Cluster's status.
		Eventually(ctx, refetch(theCluster)).Should(haveField("status.image", "registry.invalid/postgresql:17"))
		edit(ctx, dojo, func(dojo *corev1api.Dojo) {
			dojo.Spec.Postgres.InitSQL = []corev1api.SQLSource{{ConfigMapKeyRef: &corev1api.KeyReference{Name: "sql", Key: "all"}}}
		})
		Eventually(ctx, refetch(dojo)).Should(HaveCondition("Degraded", "True", corev1api.ReasonSchemaFailed))
		edit(ctx, dojo, suspend(true))
		eventuallySuspended(ctx, dojo)
		Expect(refetch(theCluster)(ctx)).To(asleep)
		Eventually(ctx, schemaJob(dojo)).Should(BeEmpty(), "the Job of the pending SQL should be deleted")
		edit(ctx, dojo, func(dojo *corev1api.Dojo) {
			dojo.Spec.Suspend, dojo.Spec.Postgres.Cluster.ImageName = false, "registry.example.org/postgresql:17"
		})
		eventuallyReady(ctx, dojo)
	})

	It("creates no Cluster before it is resumed", func(ctx context.Context) {
		dojo := newDojo(ns, "tokyo", withCluster(), suspend(true))
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		eventuallySuspended(ctx, dojo)
		Consistently(ctx, func(ctx context.Context) error {
			return k8s.Get(ctx, client.ObjectKeyFromObject(theCluster), theCluster)
		}).ShouldNot(Succeed())
		edit(ctx, dojo, suspend(false))
		eventuallyReady(ctx, dojo)
	})

	It("keeps its Cluster running until the other Dojos with databases "+
		"in the Cluster are suspended too", func(ctx context.Context) {
		dojo := created(ctx, withCluster())
		guest := newDojo(ns, "kyoto", inCluster)
		guest.Spec.Postgres.ClusterRef.Name = "tokyo-db"
		Expect(k8s.Create(ctx, guest)).To(Succeed())
		eventuallyReady(ctx, guest)
		edit(ctx, dojo, suspend(true))
		eventuallyDegraded(ctx, dojo, corev1api.ReasonClusterInUse)
		Expect(message(dojo, "Degraded")).To(ContainSubstring("because others use it: Dojo kyoto."))
		noPodsOf := client.MatchingLabels{"app.kubernetes.io/name": "dojo", "app.kubernetes.io/instance": "tokyo"}
		Eventually(ctx, func(ctx context.Context) ([]corev1.Pod, error) {
			var pods corev1.PodList
			err := k8s.List(ctx, &pods, client.InNamespace(ns), noPodsOf)
			return pods.Items, err
		}).Should(BeEmpty())
		Expect(refetch(theCluster)(ctx)).To(awake)
		eventuallyReady(ctx, guest)
		edit(ctx, guest, suspend(true))
		eventuallySuspended(ctx, dojo)
		Expect(refetch(theCluster)(ctx)).To(asleep)
		eventuallySuspended(ctx, guest)
		By("resuming the other Dojo first")
		edit(ctx, guest, suspend(false))
		eventuallyReady(ctx, guest)
		eventuallyDegraded(ctx, dojo, corev1api.ReasonClusterInUse)
		By("deleting the other Dojo while both are suspended")
		edit(ctx, guest, func(guest *corev1api.Dojo) {
			guest.Spec.Suspend, guest.Spec.Postgres.ReclaimPolicy = true, corev1api.ReclaimDelete
		})
		eventuallySuspended(ctx, dojo)
		Expect(k8s.Delete(ctx, guest)).To(Succeed())
		eventuallyGone(ctx, guest)
		Expect(k8s.Get(ctx, nameOf(ns, "kyoto-db"), ofKind("Database", ns, ""))).NotTo(Succeed())
		eventuallySuspended(ctx, dojo)
		By("creating another Dojo while the Cluster is hibernated")
		guest = newDojo(ns, "kyoto", inCluster)
		guest.Spec.Postgres.ClusterRef.Name = "tokyo-db"
		Expect(k8s.Create(ctx, guest)).To(Succeed())
		eventuallyReady(ctx, guest)
		eventuallyDegraded(ctx, dojo, corev1api.ReasonClusterInUse)
		edit(ctx, dojo, suspend(false))
		eventuallyReady(ctx, dojo)
	})

	It("stops its pods but not the Cluster if the Cluster is not its own", func(ctx context.Context) {
		dojo := dojoInCluster(ctx, ns)
		edit(ctx, dojo, suspend(true))
		eventuallySuspended(ctx, dojo)
		Expect(dojo).To(HaveCondition("DatabaseReady", "True", corev1api.ReasonDatabaseReady))
		Expect(refetch(ofKind("Cluster", ns, "pg"))(ctx)).To(awake)
		edit(ctx, dojo, suspend(false))
		eventuallyReady(ctx, dojo)
		Expect(dojo.Status.ReadyReplicas).To(Equal(int32(1)))
	})

	It("starts its Cluster for the final backup when the Dojo is deleted", func(ctx context.Context) {
		dojo := created(ctx, withCluster(nightly), withPolicy(corev1api.ReclaimDelete))
		edit(ctx, dojo, suspend(true))
		eventuallySuspended(ctx, dojo)
		before := len(operator.WritesAtRest(ns))
		Expect(k8s.Delete(ctx, dojo)).To(Succeed())
		eventuallyGone(ctx, dojo)
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(theCluster), theCluster)).NotTo(Succeed())
		var backups unstructured.UnstructuredList
		backups.SetGroupVersionKind(ofKind("BackupList", ns, "").GroupVersionKind())
		Expect(k8s.List(ctx, &backups, client.InNamespace(ns))).To(Succeed())
		Expect(backups.Items).To(ContainElement(And(
			HaveField("Object", HaveKeyWithValue("status", HaveKeyWithValue("phase", "completed"))),
			HaveField("Object", HaveKeyWithValue("metadata", HaveKeyWithValue("name", HavePrefix("tokyo-db-final-")))))))
		Expect(orderOf(operator.Writes(ns)[before:])).To(ContainElement("patch clusters/tokyo-db"))
	})

	It("that is deleted with the policy Retain leaves a hibernated Cluster, "+
		"which the next Dojo of the same name starts", func(ctx context.Context) {
		dojo := created(ctx, withCluster())
		edit(ctx, dojo, suspend(true))
		eventuallySuspended(ctx, dojo)
		Expect(k8s.Delete(ctx, dojo)).To(Succeed())
		eventuallyGone(ctx, dojo)
		Expect(refetch(theCluster)(ctx)).To(asleep)
		created(ctx, withCluster())
		Expect(refetch(theCluster)(ctx)).To(awake)
	})

	It("scales its Deployment back to 0 after another client has scaled it, "+
		"and has the replicas of its spec after a resume", func(ctx context.Context) {
		Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
		dojo := created(ctx, replicas(2))
		edit(ctx, dojo, suspend(true))
		eventuallySuspended(ctx, dojo)
		Eventually(ctx, pods).Should(BeEmpty()) // the Deployment's status does not count terminating pods
		edit(ctx, deploymentOf(dojo), func(live *appsv1.Deployment) { live.Spec.Replicas = new(int32(5)) })
		Eventually(ctx, refetch(deploymentOf(dojo))).Should(HaveField("Spec.Replicas", HaveValue(BeZero())))
		edit(ctx, dojo, suspend(false))
		eventuallyReady(ctx, dojo)
		Expect(dojo.Status.ReadyReplicas).To(Equal(int32(2)))
	})
})
