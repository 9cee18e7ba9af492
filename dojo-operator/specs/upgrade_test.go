// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/test/testcluster/cnpgtest"
)

var _ = Describe("An upgrade of Postgres to another major version", func() {
	const pg16, pg17 = "registry.example.org/postgresql:16", "registry.example.org/postgresql:17"
	var ns string
	var dojo *corev1api.Dojo
	var theCluster *unstructured.Unstructured
	BeforeEach(func(ctx context.Context) {
		ns = newNamespace(ctx)
		theCluster = ofKind("Cluster", ns, "tokyo-db")
	})
	created := func(ctx context.Context, change ...func(*corev1api.PostgresCluster)) {
		GinkgoHelper()
		change = append(change, func(pg *corev1api.PostgresCluster) { pg.ImageName = pg16 })
		dojo = newDojo(ns, "tokyo", replicas(2), withCluster(change...))
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		eventuallyReady(ctx, dojo)
	}
	upgrade := func(ctx context.Context, image string) {
		GinkgoHelper()
		edit(ctx, dojo, func(dojo *corev1api.Dojo) { dojo.Spec.Postgres.Cluster.ImageName = image })
	}
	eventuallyAt := func(ctx context.Context, step corev1api.UpgradeStep) {
		GinkgoHelper()
		Eventually(ctx, refetch(dojo)).Should(HaveField("Status.Database.Upgrade", HaveValue(HaveField("Step", step))))
	}
	stays := func(ctx context.Context, image string) {
		GinkgoHelper()
		Expect(refetch(theCluster)(ctx)).To(haveField("spec.imageName", image))
	}
	runs := func(ctx context.Context, replicas int32) {
		GinkgoHelper()
		Eventually(ctx, refetch(deploymentOf(dojo))).Should(HaveField("Status.ReadyReplicas", replicas))
	}
	backups := func(ctx context.Context) (names []string) {
		GinkgoHelper()
		var all unstructured.UnstructuredList
		all.SetGroupVersionKind(ofKind("BackupList", "", "").GroupVersionKind())
		Expect(k8s.List(ctx, &all, client.InNamespace(ns))).To(Succeed())
		for _, o := range all.Items {
			names = append(names, o.GetName()[:min(len(o.GetName()), len("tokyo-before"))])
		}
		slices.Sort(names)
		return names
	}
	upgradePods := func(ctx context.Context) ([]corev1.Pod, error) {
		var all corev1.PodList
		err := k8s.List(ctx, &all, client.InNamespace(ns), client.MatchingLabels{"cnpg.io/jobRole": "major-upgrade"})
		return all.Items, err
	}
	upgraded := func(ctx context.Context, version string) {
		GinkgoHelper()
		eventuallyReady(ctx, dojo)
		Expect(dojo.Status.Database).To(HaveValue(And(HaveField("Version", version), HaveField("Upgrade", BeNil()))))
		Expect(dojo.Status.ReadyReplicas).To(Equal(int32(2)))
		Expect(refetch(theCluster)(ctx)).To(HaveField("GetAnnotations()", Not(HaveKey("core.jutsu.com/upgrading-from"))))
	}

	It("takes a backup, stops the pods, upgrades, verifies and starts the pods, in this order", func(ctx context.Context) {
		created(ctx, nightly)
		cloudNativePG.SetBackups(ns, "tokyo-db", cnpgtest.BackupStarted)
		cloudNativePG.SetUpgrades(ns, "tokyo-db", cnpgtest.UpgradesRun)
		before := len(operator.WritesAtRest(ns))
		upgrade(ctx, pg17)
		eventuallyAt(ctx, corev1api.UpgradeBackingUp)
		Expect(dojo).To(And(HaveCondition("Progressing", "True", corev1api.ReasonUpgrading),
			HaveCondition("Available", "True", "")))
		stays(ctx, pg16)
		cloudNativePG.SetBackups(ns, "tokyo-db", cnpgtest.BackupCompleted)
		eventuallyAt(ctx, corev1api.UpgradeUpgrading)
		runs(ctx, 0)
		Expect(refetch(deploymentOf(dojo))(ctx)).To(HaveField("Spec.Replicas", HaveValue(BeZero())))
		Eventually(ctx, refetch(dojo)).Should(HaveCondition("Available", "False", corev1api.ReasonDatabaseUnreachable))
		Expect(message(dojo, "Available")).To(Equal("The application is stopped until the change of the Cluster " + ns +
			"/tokyo-db to Postgres 17 has ended."))
		operator.Restart(ctx) // the new process must continue the upgrade where the old process stopped
		cloudNativePG.SetUpgrades(ns, "tokyo-db", cnpgtest.UpgradesSucceed)
		upgraded(ctx, "17")
		Expect(backups(ctx)).To(Equal([]string{"tokyo-after-", "tokyo-before", "tokyo-db-202"}))
		Eventually(ctx, refetch(dojo)).Should(HaveField("Status.Database.LastBackup.Name", HavePrefix("tokyo-after-")))
		writes := operator.WritesAtRest(ns)
		Expect(slices.Compact(slices.DeleteFunc(slices.Clone(writes[before:]), func(write string) bool {
			return !strings.HasPrefix(write, "create backups/") && !strings.HasPrefix(write, "create jobs/") &&
				!strings.HasSuffix(write, " deployments/tokyo") && !strings.HasSuffix(write, " clusters/tokyo-db")
		}))).To(HaveExactElements(HavePrefix("create backups/tokyo-before"), Equal("patch deployments/tokyo"),
			Equal("patch clusters/tokyo-db"), HavePrefix("create jobs/tokyo-schema"), HavePrefix("create backups/tokyo-after"),
			HavePrefix("create jobs/tokyo-statistics"), Equal("patch clusters/tokyo-db"), Equal("patch deployments/tokyo")))
		Consistently(func() []string { return operator.Writes(ns)[len(writes):] }).Should(BeEmpty())
	})

	It("changes nothing when the backup fails, and can be reverted", func(ctx context.Context) {
		created(ctx, nightly)
		cloudNativePG.SetBackups(ns, "tokyo-db", cnpgtest.BackupFailed)
		upgrade(ctx, pg17)
		eventuallyDegraded(ctx, dojo, corev1api.ReasonUpgradeBackupFailed)
		Expect(message(dojo, "DatabaseReady")).To(And(ContainSubstring("has failed: rpc error"),
			ContainSubstring("Nothing is upgraded."),
			ContainSubstring("set the version to 16 again"), HaveSuffix(", then upgrade.")))
		Expect(dojo).To(HaveCondition("Available", "True", ""))
		stays(ctx, pg16)
		upgrade(ctx, pg16)
		upgraded(ctx, "16")
		stays(ctx, pg16)
	})

	It("takes another backup when a user reverts the upgrade and then requests it again", func(ctx context.Context) {
		created(ctx, nightly)
		// No Deployment controls this pod, so it stays, and the upgrade remains in Stopping.
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "stuck", Labels: map[string]string{
				"app.kubernetes.io/name": "dojo", "app.kubernetes.io/instance": "tokyo",
				"app.kubernetes.io/managed-by": "dojo-operator",
			}},
			Spec: corev1.PodSpec{
				SecurityContext: &corev1.PodSecurityContext{
					RunAsNonRoot: new(true), RunAsUser: new(int64(1000)),
					SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
				},
				Containers: []corev1.Container{{
					Name: "dojo", Image: "registry.example.org/dojo:1", SecurityContext: &corev1.SecurityContext{
						AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
					},
				}},
			},
		}
		Expect(k8s.Create(ctx, pod)).To(Succeed())
		upgrade(ctx, pg17)
		eventuallyAt(ctx, corev1api.UpgradeStopping)
		first := dojo.Status.Database.Upgrade.Backup
		upgrade(ctx, pg16)
		upgraded(ctx, "16")
		upgrade(ctx, pg17)
		eventuallyAt(ctx, corev1api.UpgradeStopping)
		Expect(dojo.Status.Database.Upgrade.Backup).To(And(HavePrefix("tokyo-before-"), Not(Equal(first))))
		Expect(k8s.Delete(ctx, pod, client.GracePeriodSeconds(0))).To(Succeed())
		upgraded(ctx, "17")
	})

	It("begins without a backup only if a user allows this for the new version", func(ctx context.Context) {
		created(ctx)
		upgrade(ctx, pg17)
		eventuallyDegraded(ctx, dojo, corev1api.ReasonUpgradeNeedsBackup)
		Expect(dojo).To(HaveCondition("Available", "True", ""))
		stays(ctx, pg16)
		allow := func(version string) {
			edit(ctx, dojo, func(dojo *corev1api.Dojo) {
				metav1.SetMetaDataAnnotation(&dojo.ObjectMeta, corev1api.UpgradeWithoutBackupAnnotation, version)
			})
		}
		allow("16")
		Consistently(ctx, refetch(dojo)).Should(HaveCondition("Degraded", "True", corev1api.ReasonUpgradeNeedsBackup))
		allow("17")
		upgraded(ctx, "17")
		Expect(backups(ctx)).To(BeEmpty())
	})

	It("serves the former version again if a user reverts it "+
		"while the new image cannot be pulled", func(ctx context.Context) {
		created(ctx, nightly)
		cloudNativePG.SetUpgrades(ns, "tokyo-db", cnpgtest.UpgradesPend)
		upgrade(ctx, pg17)
		Eventually(ctx, upgradePods).Should(ConsistOf(HaveField("Status.ContainerStatuses", Not(BeEmpty()))))
		eventuallyAt(ctx, corev1api.UpgradeUpgrading)
		upgrade(ctx, pg16)
		upgraded(ctx, "16")
		stays(ctx, pg16)
	})

	It("ignores a reversal while pg_upgrade runs, "+
		"and completes after a user sets the new version again", func(ctx context.Context) {
		created(ctx, nightly)
		cloudNativePG.SetUpgrades(ns, "tokyo-db", cnpgtest.UpgradesRun)
		upgrade(ctx, pg17)
		Eventually(ctx, upgradePods).Should(ConsistOf(
			HaveField("Status.ContainerStatuses", ContainElement(HaveField("State.Running", Not(BeNil()))))))
		upgrade(ctx, pg16)
		Eventually(ctx, refetch(dojo)).Should(And(HaveField("Status.ObservedGeneration", dojo.Generation),
			haveMessage("DatabaseReady", ContainSubstring("Postgres 16 cannot start before pg_upgrade has ended"))))
		Consistently(ctx, refetch(theCluster)).Should(haveField("spec.imageName", pg17), "the former version would not start")
		cloudNativePG.SetUpgrades(ns, "tokyo-db", cnpgtest.UpgradesSucceed)
		Eventually(ctx, refetch(dojo)).Should(HaveCondition("Degraded", "True", corev1api.ReasonVersionTooLow))
		upgrade(ctx, pg17)
		upgraded(ctx, "17")
	})

	It("reports how to revert it when pg_upgrade fails, "+
		"and serves the former version after the reversal", func(ctx context.Context) {
		created(ctx, nightly)
		cloudNativePG.SetUpgrades(ns, "tokyo-db", cnpgtest.UpgradesFail)
		upgrade(ctx, pg17)
		// The reason is the same after a deadline: only the message shows that pg_upgrade failed.
		Eventually(ctx, refetch(dojo)).Should(And(HaveCondition("Degraded", "True", corev1api.ReasonUpgradeFailed),
			haveMessage("DatabaseReady", And(ContainSubstring("from Postgres 16 to 17 has failed. Neither the application "+
				"nor Postgres runs. See `kubectl logs job/tokyo-db-1-major-upgrade -n "+ns+"`. "), ContainSubstring("set the version to 16 again"),
				ContainSubstring("The data has not changed, so Postgres 16 starts. If the log names pg_control.old, or if there is no log any more,")))))
		runs(ctx, 0)
		Expect(dojo).To(HaveCondition("Available", "False", corev1api.ReasonDatabaseUnreachable))
		upgrade(ctx, pg16)
		upgraded(ctx, "16")
		runs(ctx, 2)
		cloudNativePG.SetUpgrades(ns, "tokyo-db", cnpgtest.UpgradesSucceed)
		upgrade(ctx, pg17)
		upgraded(ctx, "17")
		Expect(backups(ctx)).To(Equal([]string{"tokyo-after-", "tokyo-before", "tokyo-before", "tokyo-db-202"}),
			"a Backup should precede each attempt")
	})

	It("names the archive and the Backup to restore "+
		"when pg_upgrade fails after it has begun to link files", func(ctx context.Context) {
		created(ctx, nightly)
		cloudNativePG.SetUpgrades(ns, "tokyo-db", cnpgtest.UpgradesFailLinked)
		upgrade(ctx, pg17)
		eventuallyAt(ctx, corev1api.UpgradeUpgrading)
		Eventually(ctx, refetch(dojo)).Should(haveMessage("DatabaseReady", And(
			ContainSubstring("has failed. Neither the application nor Postgres runs."),
			ContainSubstring("If the log names pg_control.old, or if there is no log any more, Postgres 16 possibly cannot use the data any more. "+
				"To go back, restore the archive of Postgres 16"))))
		Expect(dojo.Status.Database.Upgrade.Backup).To(HavePrefix("tokyo-before-"))
	})

	It("completes if the former version no longer starts "+
		"and a user requests the upgrade again", func(ctx context.Context) {
		created(ctx, nightly)
		cloudNativePG.SetUpgrades(ns, "tokyo-db", cnpgtest.UpgradesFailMoved)
		upgrade(ctx, pg17)
		Eventually(ctx, refetch(dojo)).Should(haveMessage("DatabaseReady",
			ContainSubstring("has failed. Neither the application nor Postgres runs.")))
		upgrade(ctx, pg16)
		Eventually(ctx, refetch(theCluster)).Should(And(
			haveField("spec.imageName", pg16), haveField("status.phase", "Waiting for the instances to become active")))
		cloudNativePG.SetUpgrades(ns, "tokyo-db", cnpgtest.UpgradesSucceed)
		upgrade(ctx, pg17)
		upgraded(ctx, "17")
	})

	It("starts no pod when the query that verifies the upgrade fails, "+
		"and repeats the query when a user deletes its Job", func(ctx context.Context) {
		created(ctx, nightly)
		// Pods with this image stay in the phase that the spec sets.
		upgrade(ctx, "registry.invalid/postgresql:17")
		eventuallyAt(ctx, corev1api.UpgradeVerifying)
		endJob := func(ctx context.Context, phase corev1.PodPhase, state corev1.ContainerStateTerminated) batchv1.Job {
			GinkgoHelper()
			var pod corev1.Pod
			Eventually(ctx, func(ctx context.Context) bool {
				var all corev1.PodList
				labels := client.MatchingLabels{"app.kubernetes.io/name": "dojo-schema"}
				Expect(k8s.List(ctx, &all, client.InNamespace(ns), labels)).To(Succeed())
				for _, pod = range all.Items {
					if pod.Status.Phase == corev1.PodPending && pod.Status.PodIP != "" {
						pod.Status.Phase = phase
						pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &state}
						return k8s.Status().Update(ctx, &pod) == nil
					}
				}
				return false
			}).Should(BeTrue())
			return schemaJobs(ctx, dojo)[0]
		}
		job := endJob(ctx, corev1.PodFailed, corev1.ContainerStateTerminated{
			ExitCode: 3, Message: `ERROR:  relation "weapons" does not exist`,
		})
		Eventually(ctx, refetch(dojo)).Should(haveMessage("DatabaseReady", And(
			HavePrefix("Postgres 17 runs. No pod of the application starts, because the query that verifies the upgrade fails: "+
				`ERROR:  relation "weapons" does not exist. To repeat the query, delete its Job: `),
			ContainSubstring("--backup tokyo-before-"))))
		Expect(dojo).To(HaveCondition("Degraded", "True", corev1api.ReasonUpgradeFailed))
		runs(ctx, 0)
		Expect(k8s.Delete(ctx, &job, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
		eventuallyAt(ctx, corev1api.UpgradeVerifying)
		Eventually(ctx, schemaJobUID(dojo)).ShouldNot(Or(BeEmpty(), BeEquivalentTo(job.UID)))
		endJob(ctx, corev1.PodSucceeded, corev1.ContainerStateTerminated{})
		upgraded(ctx, "17")
	})

	It("runs before new SQL and a new application image when all three change at once", func(ctx context.Context) {
		created(ctx, nightly)
		sql := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "sql"}, Data: map[string]string{"all": "SELECT 2"},
		}
		Expect(k8s.Create(ctx, sql)).To(Succeed())
		cloudNativePG.SetBackups(ns, "tokyo-db", cnpgtest.BackupStarted)
		cloudNativePG.SetUpgrades(ns, "tokyo-db", cnpgtest.UpgradesRun)
		former := refetchedImage(ctx, dojo)
		edit(ctx, dojo, func(dojo *corev1api.Dojo) {
			dojo.Spec.Postgres.Cluster.ImageName, dojo.Spec.Image = pg17, "registry.example.org/dojo:next"
			dojo.Spec.Postgres.InitSQL = []corev1api.SQLSource{{ConfigMapKeyRef: &corev1api.KeyReference{Name: "sql", Key: "all"}}}
		})
		eventuallyAt(ctx, corev1api.UpgradeBackingUp)
		before := len(operator.WritesAtRest(ns))
		Consistently(func() []string { return operator.Writes(ns)[before:] }).
			ShouldNot(ContainElement(Not(Equal("patch dojos/tokyo/status"))), "the new SQL should wait for the backup")
		Expect(refetchedImage(ctx, dojo)).To(Equal(former))
		cloudNativePG.SetBackups(ns, "tokyo-db", cnpgtest.BackupCompleted)
		eventuallyAt(ctx, corev1api.UpgradeUpgrading)
		runs(ctx, 0)
		Expect(refetchedImage(ctx, dojo)).To(Equal(former))
		cloudNativePG.SetUpgrades(ns, "tokyo-db", cnpgtest.UpgradesSucceed)
		upgraded(ctx, "17")
		Expect(refetchedImage(ctx, dojo)).To(Equal("registry.example.org/dojo:next"))
		order := slices.DeleteFunc(operator.WritesAtRest(ns), func(write string) bool {
			return !strings.HasPrefix(write, "create jobs/") && !strings.HasSuffix(write, " deployments/tokyo")
		})
		order = slices.Compact(order)
		Expect(order[len(order)-2:]).To(HaveExactElements(HavePrefix("create jobs/"), Equal("patch deployments/tokyo")), "%v", order)
	})

	It("completes although a new serverName of the archive "+
		"makes the plugin delete the Backup from before the upgrade", func(ctx context.Context) {
		created(ctx, nightly)
		cloudNativePG.SetUpgrades(ns, "tokyo-db", cnpgtest.UpgradesRun)
		edit(ctx, dojo, func(dojo *corev1api.Dojo) {
			pg := dojo.Spec.Postgres.Cluster
			pg.ImageName, pg.Backup.Plugin.Parameters = pg17, map[string]string{
				"barmanObjectName": "store", "serverName": "tokyo-db-17",
			}
		})
		eventuallyAt(ctx, corev1api.UpgradeUpgrading)
		before := dojo.Status.Database.Upgrade.Backup
		Expect(before).To(HavePrefix("tokyo-before-"))
		place, _, _ := unstructured.NestedMap(fetchedBackup(ctx, ns, before).Object, "spec", "pluginConfiguration")
		Expect(place).To(HaveKeyWithValue("parameters", Equal(map[string]any{"barmanObjectName": "store"})),
			"the Backup should name the current archive")
		Expect(k8s.Delete(ctx, ofKind("Backup", ns, before))).To(Succeed(), "as the plugin does on the new primary")
		Consistently(ctx, refetch(dojo)).Should(
			HaveField("Status.Database.Upgrade", HaveValue(HaveField("Backup", before))), "the object store still has its data")
		cloudNativePG.SetUpgrades(ns, "tokyo-db", cnpgtest.UpgradesSucceed)
		upgraded(ctx, "17")
		Eventually(ctx, backups).Should(Equal([]string{"tokyo-after-"}), "all other Backups were in the former archive")
		Eventually(ctx, refetch(dojo)).Should(HaveField("Status.Database.LastBackup.Name", HavePrefix("tokyo-after-")))
	})

	It("completes although a user deletes the login's Secret while pg_upgrade runs", func(ctx context.Context) {
		created(ctx, nightly)
		cloudNativePG.SetUpgrades(ns, "tokyo-db", cnpgtest.UpgradesRun)
		upgrade(ctx, pg17)
		eventuallyAt(ctx, corev1api.UpgradeUpgrading)
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "tokyo-db"}}
		Expect(k8s.Delete(ctx, secret)).To(Succeed())
		cloudNativePG.SetUpgrades(ns, "tokyo-db", cnpgtest.UpgradesSucceed)
		upgraded(ctx, "17")
	})

	It("waits until a suspended Dojo is resumed", func(ctx context.Context) {
		created(ctx, nightly)
		edit(ctx, dojo, func(dojo *corev1api.Dojo) { dojo.Spec.Suspend = true })
		Eventually(ctx, refetch(dojo)).Should(HaveCondition("Ready", "True", corev1api.ReasonSuspended))
		upgrade(ctx, pg17)
		eventuallyAt(ctx, corev1api.UpgradeWaiting)
		stays(ctx, pg16)
		edit(ctx, dojo, func(dojo *corev1api.Dojo) { dojo.Spec.Suspend = false })
		upgraded(ctx, "17")
		Expect(backups(ctx)).To(ContainElement("tokyo-before"))
	})
})

func refetchedImage(ctx context.Context, dojo *corev1api.Dojo) string {
	GinkgoHelper()
	deployment, err := refetch(deploymentOf(dojo))(ctx)
	Expect(err).NotTo(HaveOccurred())
	return deployment.Spec.Template.Spec.Containers[0].Image
}

func schemaJobUID(dojo *corev1api.Dojo) func(context.Context) string {
	return func(ctx context.Context) string {
		for _, job := range schemaJobs(ctx, dojo) {
			return string(job.UID)
		}
		return ""
	}
}

func fetchedBackup(ctx context.Context, ns, name string) *unstructured.Unstructured {
	GinkgoHelper()
	backup := ofKind("Backup", ns, name)
	Expect(k8s.Get(ctx, client.ObjectKeyFromObject(backup), backup)).To(Succeed())
	return backup
}
