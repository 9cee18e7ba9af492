// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/test/testcluster/cnpgtest"
)

func withCluster(change ...func(*corev1api.PostgresCluster)) func(*corev1api.Dojo) {
	return func(dojo *corev1api.Dojo) {
		dojo.Spec.CredentialsRef = nil
		dojo.Spec.Postgres = &corev1api.Postgres{Cluster: &corev1api.PostgresCluster{
			Storage: corev1api.PostgresStorage{Size: resource.MustParse("1Gi")},
		}}
		for _, f := range change {
			f(dojo.Spec.Postgres.Cluster)
		}
	}
}

// nightlySchedule is 29 February: a daily schedule could start a backup during a spec.
const nightlySchedule = "30 2 29 2 *"

func nightly(pg *corev1api.PostgresCluster) {
	pg.Backup = &corev1api.Backup{
		Schedule: nightlySchedule, Method: corev1api.BackupPlugin, FinalBackup: true,
		Plugin: &corev1api.BackupPluginSpec{
			Name:       "barman-cloud.cloudnative-pg.io",
			Parameters: map[string]string{"barmanObjectName": "store"},
		},
	}
}

func haveField(path string, value any) types.GomegaMatcher {
	matcher, ok := value.(types.GomegaMatcher)
	switch {
	case ok:
	case value == nil:
		matcher = BeNil()
	default:
		matcher = Equal(value)
	}
	return WithTransform(func(o *unstructured.Unstructured) any { return field(o, path) }, matcher)
}

var _ = Describe("A Dojo with a Cluster of its own", func() {
	var ns string
	BeforeEach(func(ctx context.Context) { ns = newNamespace(ctx) })

	created := func(ctx context.Context, change ...func(*corev1api.Dojo)) *corev1api.Dojo {
		GinkgoHelper()
		dojo := newDojo(ns, "tokyo", change...)
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		eventuallyReady(ctx, dojo)
		return dojo
	}
	theCluster := func() *unstructured.Unstructured { return ofKind("Cluster", ns, "tokyo-db") }

	It("creates the Cluster without an owner reference, and repeats no write", func(ctx context.Context) {
		dojo := created(ctx, withCluster(nightly, func(pg *corev1api.PostgresCluster) {
			pg.Instances, pg.Version, pg.Storage.StorageClassName = new(int32(3)), "17", "fast"
			pg.Resources = &corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")},
			}
		}))
		live := theCluster()
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(live), live)).To(Succeed())
		Expect(live).To(And(
			haveField("spec.instances", int64(3)), haveField("spec.imageName", MatchRegexp(`^ghcr.io/cloudnative-pg/postgresql:17\.\d+-.*@sha256:[0-9a-f]{64}$`)),
			haveField("spec.storage.size", "1Gi"), haveField("spec.storage.storageClass", "fast"),
			haveField("spec.smartShutdownTimeout", int64(0)),
			haveField("spec.resources.requests", map[string]any{"memory": "1Gi"})))
		Expect(field(live, "spec.plugins")).To(HaveExactElements(And(
			HaveKeyWithValue("name", "barman-cloud.cloudnative-pg.io"), HaveKeyWithValue("isWALArchiver", true),
			HaveKeyWithValue("parameters", map[string]any{"barmanObjectName": "store"}))))
		Expect(live.GetOwnerReferences()).
			To(BeEmpty(), "the garbage collector would delete a Cluster that has an owner, with its volumes")
		Expect(live.GetLabels()).To(HaveKeyWithValue("app.kubernetes.io/instance", "tokyo"))
		schedule := ofKind("ScheduledBackup", ns, "tokyo-db")
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(schedule), schedule)).To(Succeed())
		Expect(schedule).To(
			And(haveField("spec.schedule", "0 "+nightlySchedule), haveField("spec.method", "plugin"), haveField("status.error", nil)))
		Expect(dojo.Status.Database.ClusterName).To(Equal("tokyo-db"))

		writes := operator.WritesAtRest(ns)
		AddReportEntry("writes of a Dojo with postgres.cluster and backups", writes)
		Expect(withoutStatus(writes)).To(ConsistOf(
			"create clusters/tokyo-db", "create scheduledbackups/tokyo-db", "create secrets/tokyo-db",
			"create databaseroles/tokyo-db",
			"create databases/tokyo-db", "patch databases/tokyo-db",
			"create jobs/"+schemaJobs(ctx, dojo)[0].Name, "create secrets/tokyo-credentials",
			"create deployments/tokyo", "create services/tokyo"))
		Consistently(func() []string { return operator.Writes(ns)[len(writes):] }).Should(BeEmpty())
	})

	It("updates the Cluster when the spec changes, and corrects the Cluster's drift", func(ctx context.Context) {
		dojo := created(ctx, withCluster(nightly))
		edit(ctx, dojo, func(dojo *corev1api.Dojo) {
			dojo.Spec.Postgres.Cluster.Instances, dojo.Spec.Postgres.Cluster.Backup = new(int32(2)), nil
			dojo.Spec.Postgres.Cluster.Storage.Size = resource.MustParse("2Gi")
			dojo.Spec.Postgres.Cluster.Synchronous = &corev1api.Synchronous{Number: 1}
		})
		Eventually(ctx, refetch(theCluster())).Should(And(
			haveField("spec.instances", int64(2)), haveField("spec.storage.size", "2Gi"), haveField("spec.plugins", nil),
			haveField("spec.postgresql.synchronous", map[string]any{
				"method": "any", "number": int64(1), "dataDurability": "required", "failoverQuorum": true,
			})))
		Eventually(ctx, func(ctx context.Context) error {
			return k8s.Get(ctx, nameOf(ns, "tokyo-db"), ofKind("ScheduledBackup", ns, ""))
		}).ShouldNot(Succeed())
		Eventually(ctx, refetch(dojo)).Should(HaveCondition("Available", "True", ""))
		eventuallyReady(ctx, dojo)
		live := theCluster()
		edit(ctx, live, func(o *unstructured.Unstructured) {
			Expect(unstructured.SetNestedField(o.Object, int64(7), "spec", "instances")).To(Succeed())
			Expect(unstructured.SetNestedField(o.Object, "unsupervised", "spec", "primaryUpdateStrategy")).To(Succeed())
		})
		Eventually(ctx, refetch(live)).Should(haveField("spec.instances", int64(2)))
		eventuallyReady(ctx, dojo)
		By("removing the standby")
		edit(ctx, dojo, func(dojo *corev1api.Dojo) {
			dojo.Spec.Postgres.Cluster.Instances, dojo.Spec.Postgres.Cluster.Synchronous = new(int32(1)), nil
		})
		Eventually(ctx, refetch(live)).Should(And(
			haveField("spec.instances", int64(1)), haveField("spec.postgresql.synchronous", nil)))
		eventuallyReady(ctx, dojo)
	})

	It("reports version, instances and primary, and gives pods the host of the standbys", func(ctx context.Context) {
		dojo := created(ctx, withCluster(func(pg *corev1api.PostgresCluster) {
			pg.Instances, pg.ImageName = new(int32(3)), "registry.example.org/postgres:17.6-standard-bookworm"
		}))
		Expect(dojo.Status.Database).To(HaveValue(And(HaveField("Version", "17.6"), HaveField("Instances", "3/3"),
			HaveField("Primary", "tokyo-db-1"), HaveField("ReadOnlyHost", "tokyo-db-ro"))))
		Expect(k8s.Get(ctx, nameOf(ns, "tokyo-db-ro"), ofKind("Service", ns, ""))).To(Succeed())
		readOnlyKey := HaveField("Data", HaveKeyWithValue("DB_READONLY_ENDPOINT", []byte("tokyo-db-ro")))
		Expect(refetch(secretOf(dojo))(ctx)).To(readOnlyKey)
		deployment := deploymentOf(dojo)
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(deployment), deployment)).To(Succeed())
		Expect(deployment.Spec.Template.Spec.Containers[0].Env).To(ContainElement(And(
			HaveField("Name", "DB_READONLY_ENDPOINT"), HaveField("ValueFrom.SecretKeyRef.Optional", HaveValue(BeTrue())))))
		revision := deployment.Spec.Template.Annotations

		By("failing over")
		cloudNativePG.Promote(ns, "tokyo-db")
		Eventually(ctx, refetch(dojo)).Should(HaveField("Status.Database.Primary", "tokyo-db-2"))
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(deployment), deployment)).To(Succeed())
		Expect(deployment.Spec.Template.Annotations).To(Equal(revision), "nothing changes for the pods")

		By("removing the standbys")
		edit(ctx, dojo, func(dojo *corev1api.Dojo) { dojo.Spec.Postgres.Cluster.Instances = new(int32(1)) })
		Eventually(ctx, refetch(secretOf(dojo))).ShouldNot(readOnlyKey)
		eventuallyReady(ctx, dojo)
		Eventually(ctx, refetch(dojo)).Should(HaveField("Status.Database", // the standbys end after a while
			HaveValue(And(HaveField("Instances", "1/1"), HaveField("ReadOnlyHost", "")))))
		Expect(refetch(deployment)(ctx)).To(HaveField("Spec.Template.Annotations", Not(Equal(revision))), "the pods roll")
	})

	It("is Degraded while no instance of Postgres is ready, "+
		"and stays Available while two of three are ready", func(ctx context.Context) {
		cloudNativePG.Pause(ns, "tokyo-db")
		dojo := newDojo(ns, "tokyo", withCluster(func(pg *corev1api.PostgresCluster) { pg.Instances = new(int32(3)) }))
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		live := theCluster()
		Eventually(ctx, refetch(live)).Should(haveField("spec.instances", int64(3)))
		Eventually(ctx, refetch(dojo)).Should(haveMessage("DatabaseReady",
			HavePrefix("0 of 3 instances of the Cluster %s/tokyo-db are ready.", ns)))
		eventuallyDegraded(ctx, dojo, corev1api.ReasonClusterNotReady)
		cloudNativePG.Resume(ns, "tokyo-db")
		eventuallyReady(ctx, dojo)
		cloudNativePG.Pause(ns, "tokyo-db")
		setClusterStatus(ctx, live, map[string]any{
			"phase": "Creating replica", "readyInstances": int64(2), "image": "postgres:17",
			"currentPrimary": "tokyo-db-1", "targetPrimary": "tokyo-db-1",
			"instancesStatus": map[string]any{"healthy": []any{"tokyo-db-1", "tokyo-db-2"}},
		})
		Eventually(ctx, refetch(dojo)).Should(haveMessage("DatabaseReady",
			HavePrefix("2 of 3 instances of the Cluster %s/tokyo-db are ready: Creating replica.", ns)))
		Eventually(ctx, refetch(dojo)).Should(HaveCondition("Available", "True", ""))
		cloudNativePG.Resume(ns, "tokyo-db")
		eventuallyReady(ctx, dojo)
	})

	It("is not Available while the primary is not ready, "+
		"and is Available again after the failover", func(ctx context.Context) {
		dojo := created(ctx, withCluster(func(pg *corev1api.PostgresCluster) { pg.Instances = new(int32(3)) }))
		unreachable := fmt.Sprintf(
			"Requests cannot reach Postgres: the primary tokyo-db-1 of the Cluster %s/tokyo-db is not ready.", ns)
		cloudNativePG.FailPrimary(ns, "tokyo-db")
		Eventually(ctx, refetch(dojo)).Should(And(
			HaveCondition("Available", "False", corev1api.ReasonDatabaseUnreachable), haveMessage("Available", HavePrefix(unreachable)),
			HaveCondition("DatabaseReady", "False", corev1api.ReasonWaitingForCluster), haveMessage("DatabaseReady",
				HavePrefix(unreachable+" 2 of 3 instances of the Cluster %s/tokyo-db are ready: Failing over.", ns))))
		Expect(dojo.Status.ReadyReplicas).To(BeNumerically(">", 0), "the pods themselves stay ready")
		eventuallyDegraded(ctx, dojo, corev1api.ReasonClusterNotReady)
		cloudNativePG.Promote(ns, "tokyo-db")
		Eventually(ctx, refetch(dojo)).Should(HaveCondition("Available", "True", corev1api.ReasonReplicasReady))
		eventuallyReady(ctx, dojo)

		By("filling the disk of the primary")
		cloudNativePG.FillDisk(ns, "tokyo-db", true)
		Eventually(ctx, refetch(dojo)).Should(And(
			HaveCondition("Available", "False", corev1api.ReasonDatabaseUnreachable),
			haveMessage("DatabaseReady", ContainSubstring("Not enough disk space"))))
		cloudNativePG.FillDisk(ns, "tokyo-db", false)
		eventuallyReady(ctx, dojo)
	})

	It("starts its application when the primary is ready, before the standbys are ready", func(ctx context.Context) {
		cloudNativePG.SetReadyInstances(ns, "tokyo-db", 0)
		dojo := newDojo(ns, "tokyo", withCluster(func(pg *corev1api.PostgresCluster) { pg.Instances = new(int32(3)) }))
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		waits := func(ready int, phase string) {
			GinkgoHelper()
			Eventually(ctx, refetch(dojo)).Should(haveMessage("DatabaseReady",
				HavePrefix("%d of 3 instances of the Cluster %s/tokyo-db are ready: %s.", ready, ns, phase)))
		}
		waits(0, "Setting up primary")
		Expect(dojo).To(HaveCondition("Available", "False", corev1api.ReasonStarting))
		cloudNativePG.SetReadyInstances(ns, "tokyo-db", 1)
		Eventually(ctx, refetch(dojo)).Should(HaveCondition("Available", "True", corev1api.ReasonReplicasReady))
		for _, ready := range []int{2, 1} {
			cloudNativePG.SetReadyInstances(ns, "tokyo-db", ready)
			waits(ready, "Creating a new replica")
		}
		cloudNativePG.SetReadyInstances(ns, "tokyo-db", -1)
		eventuallyReady(ctx, dojo)
	})

	It("that is deleted with reclaimPolicy Retain "+
		"leaves its Cluster to a new Dojo of the same name", func(ctx context.Context) {
		dojo := created(ctx, withCluster())
		before := theCluster()
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(before), before)).To(Succeed())
		Expect(k8s.Delete(ctx, dojo, client.PropagationPolicy("Foreground"))).To(Succeed())
		eventuallyGone(ctx, dojo)
		recreated := created(ctx, withCluster())
		after := theCluster()
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(after), after)).To(Succeed())
		Expect(after.GetUID()).To(Equal(before.GetUID()))
		Expect(recreated.Status.Database.ClusterName).To(Equal("tokyo-db"))
	})

	It("that is deleted with reclaimPolicy Delete "+
		"takes a final backup, and deletes Deployment, Cluster and Database in this order", func(ctx context.Context) {
		dojo := created(ctx, withCluster(nightly), withPolicy(corev1api.ReclaimDelete))
		Expect(k8s.Delete(ctx, dojo)).To(Succeed())
		eventuallyGone(ctx, dojo)
		Expect(k8s.Get(ctx, nameOf(ns, "tokyo-db"), theCluster())).NotTo(Succeed())
		Expect(deletions(ns)).To(Equal([]string{
			"delete deployments/tokyo", "delete scheduledbackups/tokyo-db", "delete clusters/tokyo-db",
			"delete databases/tokyo-db", "delete databaseroles/tokyo-db",
		}))
		var backups unstructured.UnstructuredList
		backups.SetGroupVersionKind(ofKind("BackupList", ns, "").GroupVersionKind())
		Expect(k8s.List(ctx, &backups, client.InNamespace(ns))).To(Succeed())
		Expect(backups.Items).To(HaveLen(2), "the first and the final backup stay")
		for i := range backups.Items {
			Expect(&backups.Items[i]).To(And(haveField("spec.method", "plugin"), haveField("status.phase", "completed")))
		}
	})

	It("creates the first Backup itself "+
		"if a Backup of a former Cluster keeps the ScheduledBackup from creating it", func(ctx context.Context) {
		former := ofKind("Backup", ns, "tokyo-db-20260101000000")
		former.SetLabels(map[string]string{"cnpg.io/scheduled-backup": "tokyo-db", "cnpg.io/immediateBackup": "true"})
		former.Object["spec"] = map[string]any{
			"cluster": map[string]any{"name": "tokyo-db"}, "method": "plugin",
			"pluginConfiguration": map[string]any{"name": "barman-cloud.cloudnative-pg.io"},
		}
		Expect(k8s.Create(ctx, former)).To(Succeed())
		Eventually(time.Now).
			Should(BeTemporally(">", former.GetCreationTimestamp().Add(time.Second)),
				"the Cluster should be at least one second younger than the Backup")
		dojo := created(ctx, withCluster(nightly))
		Eventually(ctx, refetch(dojo)).Should(And(
			HaveCondition(corev1api.ConditionBackupSucceeded, "True", "LastBackupSucceeded"),
			HaveField("Status.Database.LastBackup.Name", HavePrefix("tokyo-db-first-"))))
		first := ofKind("Backup", ns, dojo.Status.Database.LastBackup.Name)
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(first), first)).To(Succeed())
		Expect(first.GetOwnerReferences()).To(BeEmpty(), "the Backup should outlive the Dojo")
		writes := len(operator.WritesAtRest(ns))
		operator.Restart(ctx)
		Consistently(func() []string { return operator.Writes(ns)[writes:] }).Should(BeEmpty())
	})

	It("takes the first backup of a running Cluster "+
		"only after the Cluster's pods have the backup plugin", func(ctx context.Context) {
		dojo := created(ctx, withCluster())
		edit(ctx, dojo, func(dojo *corev1api.Dojo) { nightly(dojo.Spec.Postgres.Cluster) })
		Eventually(ctx, refetch(dojo)).Should(HaveField("Status.Database.LastBackup", Not(BeNil())))
		eventuallyReady(ctx, dojo)
		var backups unstructured.UnstructuredList
		backups.SetGroupVersionKind(ofKind("BackupList", ns, "").GroupVersionKind())
		Expect(k8s.List(ctx, &backups, client.InNamespace(ns))).To(Succeed())
		Expect(backups.Items).To(HaveLen(1), "CloudNativePG does not repeat a failed Backup")
	})

	It("reports the last and the next backup, and reports no failure while a backup runs", func(ctx context.Context) {
		cloudNativePG.SetBackups(ns, "tokyo-db", cnpgtest.BackupStarted)
		dojo := created(ctx, withCluster(nightly))
		lastBackup := func(reason string) types.GomegaMatcher {
			return ContainElement(And(HaveKeyWithValue("type", "LastBackupSucceeded"), HaveKeyWithValue("reason", reason)))
		}
		Eventually(ctx, refetch(theCluster())).Should(haveField("status.conditions", lastBackup("BackupStarted")))
		Eventually(ctx, refetch(dojo)).Should(HaveField("Status.Database.NextBackup", Not(BeNil())))
		Consistently(ctx, refetch(dojo)).Should(And(
			Not(HaveCondition(corev1api.ConditionBackupSucceeded, "False", "")), HaveField("Status.Database.LastBackup", BeNil())))
		cloudNativePG.SetBackups(ns, "tokyo-db", cnpgtest.BackupFailed)
		Eventually(ctx, refetch(dojo)).Should(HaveCondition(corev1api.ConditionBackupSucceeded, "False", "LastBackupFailed"))
		cloudNativePG.SetBackups(ns, "tokyo-db", cnpgtest.BackupCompleted)
		backup := ofKind("Backup", ns, "by-hand")
		backup.Object["spec"] = map[string]any{
			"cluster": map[string]any{"name": "tokyo-db"}, "method": "plugin",
			"pluginConfiguration": map[string]any{"name": "barman-cloud.cloudnative-pg.io"},
		}
		Expect(k8s.Create(ctx, backup)).To(Succeed())
		Eventually(ctx, refetch(dojo)).Should(And(
			HaveCondition(corev1api.ConditionBackupSucceeded, "True", "LastBackupSucceeded"),
			HaveField("Status.Database.LastBackup.Name", "by-hand")))
		eventuallyReady(ctx, dojo)
	})

	It("reports that the write-ahead log is not archived, even if the last backup succeeded", func(ctx context.Context) {
		dojo := created(ctx, withCluster(nightly))
		Eventually(ctx, refetch(dojo)).Should(HaveCondition(corev1api.ConditionBackupSucceeded, "True", "LastBackupSucceeded"))
		const failure = "rpc error: code = Unknown desc = unexpected failure invoking barman-cloud-wal-archive: exit status 1"
		cloudNativePG.FailArchiving(ns, "tokyo-db", failure)
		Eventually(ctx, refetch(dojo)).Should(HaveCondition(corev1api.ConditionBackupSucceeded, "False", "ArchivingFailed"))
		Expect(message(dojo, corev1api.ConditionBackupSucceeded)).To(HaveSuffix(": " + failure +
			". Until the log is archived, no backup completes, and the log fills the volume. See `kubectl logs tokyo-db-1 -n " + ns +
			" --all-containers`."))
		eventuallyReady(ctx, dojo)
		cloudNativePG.FailArchiving(ns, "tokyo-db", "")
		Eventually(ctx, refetch(dojo)).Should(HaveCondition(corev1api.ConditionBackupSucceeded, "True", "LastBackupSucceeded"))
	})

	It("deletes no data while the final backup fails", func(ctx context.Context) {
		dojo := created(ctx, withCluster(nightly), withPolicy(corev1api.ReclaimDelete))
		cloudNativePG.SetBackups(ns, "tokyo-db", cnpgtest.BackupFailed)
		Expect(k8s.Delete(ctx, dojo)).To(Succeed())
		Eventually(ctx, refetch(dojo)).Should(HaveCondition("Degraded", "True", corev1api.ReasonFinalBackupFailed))
		Expect(message(dojo, "Degraded")).To(ContainSubstring("rpc error: code = Unknown desc = exit status 2"))
		Expect(deletions(ns)).
			To(Equal([]string{"delete deployments/tokyo"}), "without pods, nothing writes data that the backup would lack")
		By("deciding against a final backup")
		edit(ctx, dojo, func(dojo *corev1api.Dojo) { dojo.Spec.Postgres.Cluster.Backup.FinalBackup = false })
		eventuallyGone(ctx, dojo)
		Expect(k8s.Get(ctx, nameOf(ns, "tokyo-db"), theCluster())).NotTo(Succeed())
	})

	It("deletes no data while the Cluster lacks the Dojo's labels, and says how to add them", func(ctx context.Context) {
		dojo := created(ctx, withCluster(nightly), withPolicy(corev1api.ReclaimDelete))
		edit(ctx, theCluster(), func(o *unstructured.Unstructured) { o.SetLabels(nil) })
		eventuallyDegraded(ctx, dojo, corev1api.ReasonNameConflict)
		command := "clusters.postgresql.cnpg.io tokyo-db -n " + ns +
			" --overwrite app.kubernetes.io/name=dojo app.kubernetes.io/instance=tokyo " +
			"app.kubernetes.io/managed-by=dojo-operator`"
		Expect(message(dojo, "Degraded")).To(And(ContainSubstring(command), Not(ContainSubstring("elete it,"))))
		Expect(k8s.Delete(ctx, dojo)).To(Succeed())
		Eventually(ctx, refetch(dojo)).Should(HaveCondition("Degraded", "True", corev1api.ReasonFinalBackupFailed))
		Expect(message(dojo, "Degraded")).To(ContainSubstring(command))
		Expect(deletions(ns)).To(Equal([]string{"delete deployments/tokyo"}))
		By("adding the labels to the Cluster")
		edit(ctx, theCluster(), func(o *unstructured.Unstructured) {
			o.SetLabels(map[string]string{"app.kubernetes.io/name": "dojo", "app.kubernetes.io/instance": "tokyo",
				"app.kubernetes.io/managed-by": "dojo-operator"})
		})
		eventuallyGone(ctx, dojo)
		Expect(operator.Writes(ns)).To(ContainElement(HavePrefix("create backups/tokyo-db-final-")))
		Expect(deletions(ns)).
			To(ContainElement("delete clusters/tokyo-db"), "the Cluster is the Dojo's again, so it is deleted with the Dojo")
	})

	It("is not deleted while its final backup cannot start, and says what to do", func(ctx context.Context) {
		dojo := created(ctx, withCluster(nightly), withPolicy(corev1api.ReclaimDelete))
		cloudNativePG.SetBackups(ns, "tokyo-db", cnpgtest.BackupPending)
		Expect(k8s.Delete(ctx, dojo)).To(Succeed())
		Eventually(ctx, refetch(dojo)).Should(HaveCondition("DatabaseReady", "False", corev1api.ReasonTakingFinalBackup))
		Eventually(ctx, refetch(dojo)).Should(HaveCondition("Degraded", "True", corev1api.ReasonDeletionStalled))
		Expect(message(dojo, "Degraded")).To(ContainSubstring("kubectl describe backups.postgresql.cnpg.io tokyo-db-final-"))
		cloudNativePG.SetBackups(ns, "tokyo-db", cnpgtest.BackupInvalid)
		Eventually(ctx, refetch(dojo)).Should(HaveCondition("Degraded", "True", corev1api.ReasonFinalBackupFailed))
		edit(ctx, dojo, func(dojo *corev1api.Dojo) { dojo.Spec.Postgres.Cluster.Backup.FinalBackup = false })
		eventuallyGone(ctx, dojo)
	})

	It("does not lose its Cluster's PodDisruptionBudget "+
		"to another Dojo that has the Cluster's name", func(ctx context.Context) {
		theBudget := ofKind("PodDisruptionBudget", ns, "tokyo-db")
		ofCloudNativePG := haveField("spec.selector.matchLabels", HaveKeyWithValue("cnpg.io/cluster", "tokyo-db"))
		dojo := created(ctx, withCluster(func(pg *corev1api.PostgresCluster) { pg.Instances = new(int32(3)) }),
			withPolicy(corev1api.ReclaimDelete))
		Eventually(ctx, refetch(theBudget)).Should(ofCloudNativePG)
		Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
		other := newDojo(ns, "tokyo-db", replicas(2))
		Expect(k8s.Create(ctx, other)).To(Succeed())
		eventuallyDegraded(ctx, other, corev1api.ReasonNameConflict)
		Expect(message(other, "Degraded")).To(ContainSubstring("is reserved for the Cluster of the Dojo tokyo."))
		Consistently(ctx, refetch(theBudget)).Should(ofCloudNativePG, "no Dojo should overwrite the budget")

		By("deleting the Dojo and its Cluster, and then creating the Dojo again")
		Expect(k8s.Delete(ctx, dojo)).To(Succeed())
		eventuallyGone(ctx, dojo)
		eventuallyReady(ctx, other)
		again := newDojo(ns, "tokyo", withCluster())
		Expect(k8s.Create(ctx, again)).To(Succeed())
		eventuallyDegraded(ctx, again, corev1api.ReasonNameConflict)
		Expect(k8s.Get(ctx, nameOf(ns, "tokyo-db"), theCluster())).NotTo(Succeed())
	})

	It("can be deleted while its Cluster is hibernated", func(ctx context.Context) {
		dojo := created(ctx, withCluster(), withPolicy(corev1api.ReclaimDelete))
		edit(ctx, theCluster(), func(o *unstructured.Unstructured) {
			o.SetAnnotations(map[string]string{"cnpg.io/hibernation": "on"})
		})
		eventuallyDegraded(ctx, dojo, corev1api.ReasonClusterHibernated)
		Expect(k8s.Delete(ctx, dojo)).To(Succeed())
		eventuallyGone(ctx, dojo)
		for _, kind := range []string{"Cluster", "Database", "DatabaseRole"} {
			Expect(k8s.Get(ctx, nameOf(ns, "tokyo-db"), ofKind(kind, ns, ""))).NotTo(Succeed(), kind)
		}
	})

	It("is not deleted while its Cluster has another Dojo's database, "+
		"and its status names the other Dojo, or the Database that the other Dojo left", func(ctx context.Context) {
		dojo := created(ctx, withCluster(), withPolicy(corev1api.ReclaimDelete))
		guest := newDojo(ns, "kyoto", inCluster)
		guest.Spec.Postgres.ClusterRef.Name = "tokyo-db"
		Expect(k8s.Create(ctx, guest)).To(Succeed())
		eventuallyReady(ctx, guest)
		Expect(k8s.Delete(ctx, dojo)).To(Succeed())
		Eventually(ctx, refetch(dojo)).Should(HaveCondition("Degraded", "True", corev1api.ReasonClusterInUse))
		Expect(message(dojo, "Degraded")).To(ContainSubstring("others use the Cluster: Dojo kyoto."))
		Expect(k8s.Delete(ctx, guest)).To(Succeed())
		Eventually(ctx, refetch(dojo)).
			Should(haveMessage("Degraded", ContainSubstring("Database kyoto-db.")), "the deletion of kyoto retains its Database")
		Expect(deletions(ns)).To(BeEmpty())
		Expect(k8s.Delete(ctx, ofKind("Database", ns, "kyoto-db"))).To(Succeed())
		eventuallyGone(ctx, dojo)
	})
})
