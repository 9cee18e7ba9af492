// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"encoding/json"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
)

var _ = Describe("A Dojo with a bootstrap", func() {
	var ns string
	var theCluster *unstructured.Unstructured
	BeforeEach(func(ctx context.Context) {
		ns = newNamespace(ctx)
		theCluster = ofKind("Cluster", ns, "tokyo-db")
	})
	created := func(ctx context.Context, b corev1api.Bootstrap, change ...func(*corev1api.PostgresCluster)) *corev1api.Dojo {
		GinkgoHelper()
		from := func(pg *corev1api.PostgresCluster) { pg.Bootstrap = &b }
		dojo := newDojo(ns, "tokyo", withCluster(append(change, from)...))
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		return dojo
	}
	store := func() *corev1api.Recovery {
		return &corev1api.Recovery{ObjectStore: &corev1api.RecoveryObjectStore{
			Plugin: corev1api.RecoveryPlugin{
				Name: "barman-cloud.cloudnative-pg.io", Parameters: map[string]string{"barmanObjectName": "store"},
			},
			ServerName: "kyoto-db",
		}}
	}
	haveSource := func(parameters map[string]any) OmegaMatcher {
		return haveField("spec.externalClusters", HaveExactElements(And(HaveKeyWithValue("name", "origin"),
			HaveKeyWithValue("plugin", And(HaveKeyWithValue("name", "barman-cloud.cloudnative-pg.io"),
				HaveKeyWithValue("parameters", parameters))))))
	}
	absent := func(ctx context.Context, kind, name string) {
		GinkgoHelper()
		Consistently(ctx, func(ctx context.Context) error {
			return k8s.Get(ctx, nameOf(ns, name), ofKind(kind, ns, ""))
		}).ShouldNot(Succeed(), "the %s %s should not exist", kind, name)
	}

	It("starts its pods only after the restore to a targetTime, "+
		"and uses the name that the database has in the backup", func(ctx context.Context) {
		cloudNativePG.SetReadyInstances(ns, "tokyo-db", 0)
		recovery := store()
		recovery.TargetTime, recovery.Database = "2026-11-21T10:00:00.5Z", "dojo_school_kyoto"
		dojo := created(ctx, corev1api.Bootstrap{Recovery: recovery}, nightly, func(pg *corev1api.PostgresCluster) {
			pg.Backup.Plugin.Parameters["serverName"] = "tokyo-db-2"
		})
		Eventually(ctx, refetch(dojo)).Should(HaveCondition("DatabaseReady", "False", corev1api.ReasonRestoring))
		Eventually(ctx, refetch(dojo)).Should(haveMessage("DatabaseReady", ContainSubstring("is being restored from kyoto-db in "+
			"barman-cloud.cloudnative-pg.io, barmanObjectName store, at 2026-11-21T10:00:00.5Z: Setting up primary.")))
		Expect(refetch(theCluster)(ctx)).To(And(haveField("spec.bootstrap.initdb", nil),
			haveField("spec.bootstrap.recovery.source", "origin"),
			haveField("spec.bootstrap.recovery.recoveryTarget", map[string]any{"targetTime": "2026-11-21T10:00:00.5Z"}),
			haveSource(map[string]any{"barmanObjectName": "store", "serverName": "kyoto-db"}),
			haveField("spec.plugins", HaveExactElements(HaveKeyWithValue("parameters",
				map[string]any{"barmanObjectName": "store", "serverName": "tokyo-db-2"})))))
		for _, kind := range []string{"Database", "DatabaseRole", "ScheduledBackup"} {
			absent(ctx, kind, "tokyo-db")
		}
		Expect(k8s.Get(ctx, nameOf(ns, "tokyo"), ofKind("Deployment", ns, ""))).NotTo(Succeed())

		By("completing the restore")
		cloudNativePG.SetReadyInstances(ns, "tokyo-db", -1)
		eventuallyReady(ctx, dojo)
		Expect(dojo.Status.Database).To(HaveValue(And(HaveField("Name", "dojo_school_kyoto"),
			HaveField("Login", "dojo_school_kyoto"), HaveField("Origin", HaveSuffix("at 2026-11-21T10:00:00.5Z")))))
		for _, kind := range []string{"Database", "DatabaseRole"} {
			Expect(refetch(ofKind(kind, ns, "tokyo-db"))(ctx)).To(haveField("spec.name", "dojo_school_kyoto"))
		}
		secret := secretOf(dojo)
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(secret), secret)).To(Succeed())
		Expect(secret.Data).To(And(HaveKeyWithValue("DB_NAME", []byte("dojo_school_kyoto")),
			HaveKeyWithValue("DB_USER", []byte("dojo_school_kyoto")), HaveKeyWithValue("DB_ENDPOINT", []byte("tokyo-db-rw"))))
		writes := operator.WritesAtRest(ns)
		Expect(withoutStatus(writes)).To(ContainElement("create clusters/tokyo-db"))
		Expect(withoutStatus(writes)).NotTo(ContainElement("patch clusters/tokyo-db"))
		operator.Restart(ctx)
		eventuallyReady(ctx, dojo)
		Consistently(func() []string { return operator.Writes(ns)[len(writes):] }).Should(BeEmpty())

		By("losing the Cluster")
		lost := dojo.Status.Database.ClusterUID
		Expect(k8s.Delete(ctx, theCluster)).To(Succeed())
		eventuallyDegraded(ctx, dojo, corev1api.ReasonDatabaseLost)
		absent(ctx, "Cluster", "tokyo-db")
		Expect(message(dojo, "Degraded")).To(And(ContainSubstring("it is not created again from kyoto-db in"),
			ContainSubstring("If nothing can be restored, begin with the data of kyoto-db in"),
			HaveSuffix("core.jutsu.com/recreate-database="+lost+"` and set another serverName in "+
				"spec.postgres.cluster.backup.plugin.parameters. All newer data is then lost.")))
		was := ofKind("Database", ns, "tokyo-db")
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(was), was)).To(Succeed())
		edit(ctx, dojo, func(dojo *corev1api.Dojo) {
			metav1.SetMetaDataAnnotation(&dojo.ObjectMeta, corev1api.RecreateDatabaseAnnotation, lost)
		})
		Eventually(ctx, refetch(theCluster)).Should(haveField("spec.bootstrap.recovery.source", "origin"))
		eventuallyReady(ctx, dojo)
		now := ofKind("Database", ns, "tokyo-db")
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(now), now)).To(Succeed())
		Expect(now.GetUID()).
			NotTo(Equal(was.GetUID()), "the operator checks the restored data before it creates a new Database")
	})

	It("restores from the Backup of a deleted Dojo, "+
		"and creates no Cluster before the Backup exists", func(ctx context.Context) {
		kyoto := newDojo(ns, "kyoto", withCluster(nightly), withPolicy(corev1api.ReclaimDelete))
		Expect(k8s.Create(ctx, kyoto)).To(Succeed())
		eventuallyReady(ctx, kyoto)
		Expect(k8s.Delete(ctx, kyoto)).To(Succeed())
		eventuallyGone(ctx, kyoto)
		var backups unstructured.UnstructuredList
		backups.SetGroupVersionKind(ofKind("BackupList", "", "").GroupVersionKind())
		Expect(k8s.List(ctx, &backups, client.InNamespace(ns))).To(Succeed())
		var final *unstructured.Unstructured
		for i := range backups.Items {
			if strings.HasPrefix(backups.Items[i].GetName(), "kyoto-db-final-") {
				final = &backups.Items[i]
			}
		}
		Expect(final).NotTo(BeNil())

		By("requesting a Backup that does not exist")
		dojo := created(ctx, corev1api.Bootstrap{Recovery: &corev1api.Recovery{
			Backup: &corev1api.BackupReference{Name: "nightly"}, Database: kyoto.Status.Database.Name,
		}})
		Eventually(ctx, refetch(dojo)).Should(HaveCondition("DatabaseReady", "False", corev1api.ReasonWaitingForBackup))
		eventuallyDegraded(ctx, dojo, corev1api.ReasonBackupNotUsable)
		Expect(message(dojo, "Degraded")).To(ContainSubstring("The Backup " + ns + "/nightly does not exist, so no Cluster"))
		absent(ctx, "Cluster", "tokyo-db")
		By("creating the missing Backup as a copy of the final Backup")
		nightly := ofKind("Backup", ns, "nightly")
		nightly.Object["spec"] = map[string]any{
			"cluster": map[string]any{"name": "kyoto-db"}, "method": "plugin",
			"pluginConfiguration": field(final, "spec.pluginConfiguration"),
		}
		Expect(field(final, "spec.pluginConfiguration.parameters")).To(Equal(map[string]any{"barmanObjectName": "store"}))
		Expect(k8s.Create(ctx, nightly)).To(Succeed())
		Eventually(ctx, refetch(nightly)).Should(haveField("status.phase", "pending"), "no Cluster kyoto-db exists")
		nightly.Object["status"] = final.Object["status"]
		Expect(k8s.Status().Update(ctx, nightly)).To(Succeed())
		eventuallyReady(ctx, dojo)
		Expect(refetch(theCluster)(ctx)).To(And(
			haveSource(map[string]any{"barmanObjectName": "store", "serverName": "kyoto-db"}),
			haveField("spec.bootstrap.recovery.recoveryTarget", map[string]any{
				"backupID": field(final, "status.backupId"), "targetImmediate": true,
			})))
		Expect(dojo.Status.Database).To(HaveValue(And(HaveField("Name", kyoto.Status.Database.Name),
			HaveField("Origin", "Backup nightly"))))
		By("deleting the Backup, which the Cluster no longer needs")
		Expect(k8s.Delete(ctx, nightly)).To(Succeed())
		edit(ctx, dojo, func(dojo *corev1api.Dojo) { dojo.Spec.Postgres.Cluster.Instances = new(int32(2)) })
		Eventually(ctx, refetch(theCluster)).Should(haveField("spec.instances", int64(2)))
		Expect(theCluster).To(haveField("spec.bootstrap.recovery.recoveryTarget.backupID", field(final, "status.backupId")))
		eventuallyReady(ctx, dojo)
	})

	It("is Degraded while the restore fails, "+
		"and restores again when a user deletes the Cluster", func(ctx context.Context) {
		cloudNativePG.FailBootstrap(ns, "tokyo-db", 1)
		dojo := created(ctx, corev1api.Bootstrap{Recovery: store()})
		eventuallyDegraded(ctx, dojo, corev1api.ReasonRestoreFailed)
		Expect(message(dojo, "Degraded")).To(And(
			ContainSubstring("pods of the Job tokyo-db-1-full-recovery have failed (1)"),
			ContainSubstring("`kubectl logs job/tokyo-db-1-full-recovery -n "+ns+" --all-containers`"),
			ContainSubstring("which has no complete data yet: `kubectl delete clusters.postgresql.cnpg.io tokyo-db -n "+ns+"`.")))
		absent(ctx, "Database", "tokyo-db")
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(theCluster), theCluster)).To(Succeed())
		failed := theCluster.GetUID()
		cloudNativePG.FailBootstrap(ns, "tokyo-db", 0)
		Expect(k8s.Delete(ctx, theCluster)).To(Succeed())
		eventuallyReady(ctx, dojo)
		Expect(refetch(theCluster)(ctx)).To(And(HaveField("GetUID()", Not(Equal(failed))),
			haveField("spec.bootstrap.recovery.source", "origin")))
	})

	It("is Degraded while the restore from a volume snapshot fails", func(ctx context.Context) {
		cloudNativePG.SetReadyInstances(ns, "tokyo-db", 0)
		dojo := created(ctx, corev1api.Bootstrap{Recovery: &corev1api.Recovery{
			VolumeSnapshot: &corev1api.RecoverySnapshots{Storage: "data", WALStorage: "log"},
		}}, func(pg *corev1api.PostgresCluster) { pg.WALStorage = &corev1api.PostgresStorage{Size: pg.Storage.Size} })
		Eventually(ctx, refetch(theCluster)).Should(haveField("spec.bootstrap.recovery.volumeSnapshots.walStorage.name", "log"))
		cloudNativePG.FailBootstrap(ns, "tokyo-db", 1)
		eventuallyDegraded(ctx, dojo, corev1api.ReasonRestoreFailed)
		Expect(message(dojo, "Degraded")).To(ContainSubstring("Job tokyo-db-1-snapshot-recovery"))
		cloudNativePG.FailBootstrap(ns, "tokyo-db", 0)
		cloudNativePG.SetReadyInstances(ns, "tokyo-db", -1)
		eventuallyReady(ctx, dojo)
	})

	It("starts no pods on an existing Cluster whose data is not from the bootstrap", func(ctx context.Context) {
		former := newDojo(ns, "tokyo", withCluster())
		Expect(k8s.Create(ctx, former)).To(Succeed())
		eventuallyReady(ctx, former)
		Expect(k8s.Delete(ctx, former)).To(Succeed())
		eventuallyGone(ctx, former)
		dojo := created(ctx, corev1api.Bootstrap{Recovery: store()})
		eventuallyDegraded(ctx, dojo, corev1api.ReasonOriginMismatch)
		absent(ctx, "Deployment", "tokyo")
		By("deleting the Dojo, which keeps that data")
		edit(ctx, dojo, withPolicy(corev1api.ReclaimDelete))
		Expect(k8s.Delete(ctx, dojo)).To(Succeed())
		eventuallyGone(ctx, dojo)
		for _, kind := range []string{"Cluster", "Database", "DatabaseRole"} {
			Expect(refetch(ofKind(kind, ns, "tokyo-db"))(ctx)).To(HaveField("GetDeletionTimestamp()", BeNil()))
		}
		dojo = created(ctx, corev1api.Bootstrap{Recovery: store()})
		eventuallyDegraded(ctx, dojo, corev1api.ReasonOriginMismatch)
		By("deleting that Cluster, without its Database")
		Expect(k8s.Delete(ctx, theCluster)).To(Succeed())
		eventuallyReady(ctx, dojo)
		Expect(refetch(theCluster)(ctx)).To(haveField("spec.bootstrap.recovery.source", "origin"))
	})

	It("imports a database once, and does not write the source's password into the Cluster", func(ctx context.Context) {
		cloudNativePG.FailBootstrap(ns, "tokyo-db", 2)
		dojo := created(ctx, corev1api.Bootstrap{
			Import: &corev1api.Import{SourceSecretRef: corev1api.ImportSource{Name: "legacy"}},
		})
		Eventually(ctx, refetch(dojo)).Should(HaveCondition("DatabaseReady", "False", corev1api.ReasonWaitingForCredentials))
		eventuallyDegraded(ctx, dojo, corev1api.ReasonCredentialsNotFound)
		absent(ctx, "Cluster", "tokyo-db")
		By("creating the Secret with an invalid port")
		password := newPassword()
		legacy := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "legacy"}, StringData: map[string]string{
				"host": "pg.example.org", "port": "pg", "dbname": "dojo", "user": "reader", "password": password, "sslmode": "require",
			},
		}
		Expect(k8s.Create(ctx, legacy)).To(Succeed())
		eventuallyDegraded(ctx, dojo, corev1api.ReasonCredentialsIncomplete)
		Expect(message(dojo, "Degraded")).To(ContainSubstring(`has no port number (1 to 65535) under the key "port"`))
		absent(ctx, "Cluster", "tokyo-db")
		By("correcting the port, while the source does not answer")
		legacy.StringData = map[string]string{"port": "5432"}
		Expect(k8s.Update(ctx, legacy)).To(Succeed())
		eventuallyDegraded(ctx, dojo, corev1api.ReasonImportFailed)
		Expect(message(dojo, "Degraded")).To(ContainSubstring("cannot be imported from Secret legacy: pods of the Job " +
			"tokyo-db-1-import have failed (2)"))
		absent(ctx, "Database", "tokyo-db")
		Expect(refetch(theCluster)(ctx)).To(And(
			haveField("spec.bootstrap.initdb.database", "dojo_"+strings.ReplaceAll(ns, "-", "_")+"_tokyo"),
			haveField("spec.bootstrap.initdb.secret", map[string]any{"name": "tokyo-db"}),
			haveField("spec.bootstrap.initdb.import", And(HaveKeyWithValue("type", "microservice"),
				HaveKeyWithValue("databases", []any{"dojo"}))),
			haveField("spec.externalClusters", HaveExactElements(map[string]any{
				"name": "origin", "connectionParameters": map[string]any{
					"host": "pg.example.org", "port": "5432", "dbname": "dojo", "user": "reader", "sslmode": "require",
				},
				"password": map[string]any{"name": "legacy", "key": "password"},
			}))))
		text, err := json.Marshal(theCluster.Object)
		Expect(err).NotTo(HaveOccurred())
		secrets.ExpectNotIn(string(text))
		By("letting the source answer, and deleting the Secret")
		cloudNativePG.FailBootstrap(ns, "tokyo-db", 0)
		eventuallyReady(ctx, dojo)
		Expect(dojo.Status.Database.Origin).To(Equal("Secret legacy"))
		Expect(k8s.Delete(ctx, legacy)).To(Succeed())
		writes := operator.WritesAtRest(ns)
		Consistently(func() []string { return operator.Writes(ns)[len(writes):] }).Should(BeEmpty())
		Expect(refetch(theCluster)(ctx)).To(haveField("spec.bootstrap.initdb.import.databases", []any{"dojo"}))
	})

	It("gets no empty database if the backup does not contain the Dojo's database", func(ctx context.Context) {
		// No pod with this image runs, because the registry does not exist.
		image := func(pg *corev1api.PostgresCluster) { pg.ImageName = "registry.invalid/postgres:17" }
		dojo := created(ctx, corev1api.Bootstrap{Recovery: store()}, image)
		Eventually(ctx, schemaJob(dojo)).ShouldNot(BeEmpty())
		endSchemaPod(ctx, ns, corev1.ContainerStateTerminated{
			ExitCode: 3, Reason: "Error",
			Message: `it has the databases "app", "dojo_x_kyoto", "postgres", but not "dojo_x_tokyo"` + "\n",
		})
		Eventually(ctx, refetch(dojo)).Should(HaveCondition("Degraded", "True", corev1api.ReasonDatabaseNotRestored))
		Expect(message(dojo, "Degraded")).To(ContainSubstring(
			`it has the databases "app", "dojo_x_kyoto", "postgres", but not "dojo_x_tokyo". No empty database ` +
				"is created instead."))
		absent(ctx, "Database", "tokyo-db")
		By("deleting the Dojo and its Cluster, and restoring a database that the backup contains")
		Expect(k8s.Delete(ctx, dojo)).To(Succeed())
		eventuallyGone(ctx, dojo)
		Expect(k8s.Delete(ctx, theCluster)).To(Succeed())
		Eventually(ctx, func(ctx context.Context) error {
			return k8s.Get(ctx, client.ObjectKeyFromObject(theCluster), theCluster)
		}).ShouldNot(Succeed())
		recovery := store()
		recovery.Database = "dojo_x_kyoto"
		dojo = created(ctx, corev1api.Bootstrap{Recovery: recovery})
		eventuallyReady(ctx, dojo)
		Expect(refetch(ofKind("DatabaseRole", ns, "tokyo-db"))(ctx)).To(haveField("spec.name", "dojo_x_kyoto"))
		Expect(refetch(passwordSecretOf(dojo))(ctx)).To(HaveField("Data", And(
			HaveKeyWithValue("user", []byte("dojo_x_kyoto")), HaveKeyWithValue("dbname", []byte("dojo_x_kyoto")))))
		Expect(accepted(dojo, credentialsOf(ctx, dojo))).To(BeTrue())
	})
})
