// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/test/testcluster/manifests"
)

//go:embed testdata/backup.yaml
var objectStore []byte

// The plugin barman-cloud writes backups to an object store, from which the specs restore Dojos.
var _ = Describe("A database with backups in an object store", Label("database"), Ordered, Serial, func() {
	var (
		w     *world
		kept  []weapon // the application's rows at the time of the final backup
		final *unstructured.Unstructured
	)
	const sapporo = `
apiVersion: core.jutsu.com/v1
kind: Dojo
metadata: {name: sapporo}
spec:
  accountId: Mei Mei
  title: Sapporo Branch
  monitoring: {enabled: true}
  postgres:
    cluster:
      storage: {size: 1Gi}
      backup:
        schedule: "* * * * *"
        method: Plugin
        plugin:
          name: barman-cloud.cloudnative-pg.io
          parameters: {barmanObjectName: store}
        finalBackup: true
    reclaimPolicy: Delete
`
	BeforeAll(func(ctx SpecContext) {
		image, err := installed.InstallBackups(ctx)
		Expect(err).NotTo(HaveOccurred())
		w = newWorld(ctx, "backup")
		w.startStore(ctx, image)
		w.apply(ctx, sapporo)
		w.awaitReady(ctx, "sapporo")
	}, NodeTimeout(installing))

	It("archives its WAL, and takes a backup at once and then by the schedule", func(ctx SpecContext) {
		began := time.Now()
		Eventually(ctx, w.backupSucceeded).WithArguments("sapporo").WithTimeout(eventually).
			Should(HavePrefix("True " + corev1api.ReasonBackupSucceeded))
		first := w.lastBackup(ctx)
		immediate, err := w.postgres(ctx, "Backup", first)
		Expect(err).NotTo(HaveOccurred())
		Expect(immediate.GetLabels()).To(HaveKeyWithValue("cnpg.io/immediateBackup", "true"))
		Expect(w.runDocumented(ctx, "backups.md", "What can I restore, and how do I take a backup now?", "sapporo")).
			To(And(ContainSubstring(first), MatchRegexp(`Backup sapporo-\d+: completed`)))
		measured("the first backup has completed %s after the Dojo is Ready", time.Since(began))
		Eventually(ctx, w.lastBackup).WithTimeout(eventually).ShouldNot(Equal(first),
			"a Backup of the schedule should follow")
		d, err := w.dojo(ctx, "sapporo")
		Expect(err).NotTo(HaveOccurred())
		last, next := d.Status.Database.LastBackup, d.Status.Database.NextBackup
		Expect(last.Time.Time).To(BeTemporally("~", time.Now(), time.Minute))
		Expect(next.Time).To(BeTemporally("~", time.Now(), 2*time.Minute))
		backup, err := w.postgres(ctx, "Backup", last.Name)
		Expect(err).NotTo(HaveOccurred())
		Expect(backup.GetLabels()).NotTo(HaveKeyWithValue("cnpg.io/immediateBackup", "true"))
		Expect(w.clusterCondition(ctx, "ContinuousArchiving")).To(HavePrefix("True "))
		w.awaitReady(ctx, "sapporo")
	}, SpecTimeout(10*time.Minute))

	It("reports failing backups while the object store is down, "+
		"and success once the store is back", func(ctx SpecContext) {
		w.scaleStore(ctx, 0)
		began := time.Now()
		Eventually(ctx, w.backupSucceeded).WithArguments("sapporo").WithTimeout(eventually).
			Should(HavePrefix("False " + corev1api.ReasonBackupFailed))
		message, err := w.backupSucceeded(ctx, "sapporo")
		Expect(err).NotTo(HaveOccurred())
		measured("after %s without the object store: %s", time.Since(began), message)
		last := w.lastBackup(ctx)
		Expect(last).NotTo(BeEmpty(), "the status should keep the last completed Backup")
		w.awaitReady(ctx, "sapporo")
		Eventually(ctx, w.firing).WithTimeout(eventually).Should(ConsistOf("DojoBackupFailed"))
		measured("the alert fires %s after the object store has gone", time.Since(began))

		w.scaleStore(ctx, 1)
		began = time.Now()
		Eventually(ctx, w.backupSucceeded).WithArguments("sapporo").WithTimeout(eventually).Should(HavePrefix("True "))
		measured("a backup has succeeded %s after the object store is back", time.Since(began))
		Expect(w.lastBackup(ctx)).NotTo(Equal(last))
		Eventually(ctx, w.firing).WithTimeout(eventually).Should(BeEmpty())
	}, SpecTimeout(15*time.Minute))

	It("reports ArchivingFailed when the path in the object store holds another Cluster's WAL", func(ctx SpecContext) {
		otaru := strings.NewReplacer("sapporo", "otaru", "Sapporo", "Otaru", "barmanObjectName: store",
			"barmanObjectName: store, serverName: sapporo-db").Replace(sapporo)
		w.apply(ctx, otaru)
		Eventually(ctx, w.backupSucceeded).WithArguments("otaru").WithTimeout(eventually).
			Should(HavePrefix("False " + corev1api.ReasonArchivingFailed))
		message, err := w.backupSucceeded(ctx, "otaru")
		Expect(err).NotTo(HaveOccurred())
		measured("a path with the log of another Cluster: %s", message)
		w.patch(ctx, "otaru",
			`{"spec":{"postgres":{"cluster":{"backup":{"finalBackup":false,"plugin":{"parameters":{"serverName":null}}}}}}}`)
		Eventually(ctx, w.backupSucceeded).WithArguments("otaru").WithTimeout(eventually).Should(HavePrefix("True "))
		w.deleteDojo(ctx, "otaru")
	}, SpecTimeout(15*time.Minute))

	It("is restored by a second Dojo to a point in time between two writes", func(ctx SpecContext) {
		Expect(w.addWeapon(ctx, "sapporo", "before", "Inverted Spear of Heaven")).To(Succeed())
		moment := time.Now().UTC()
		then, err := w.weapons(ctx, "sapporo")
		Expect(err).NotTo(HaveOccurred())
		Expect(w.addWeapon(ctx, "sapporo", "after", "Split Soul Katana")).To(Succeed())
		written := time.Now()
		Eventually(ctx, func(g Gomega) {
			d, err := w.dojo(ctx, "sapporo")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(d.Status.Database.LastBackup.Time.Time).To(BeTemporally(">", written))
		}).WithTimeout(eventually).Should(Succeed(),
			"a Backup should complete after the write, because it archives the WAL of the write")
		began := time.Now()
		w.runDocumented(ctx, "restore.md", "Beside the Dojo (point-in-time recovery)", "sapporo",
			"02:45", moment.Format("2006-01-02T15:04:05.000000Z07:00"))
		measured("restored to a moment in a second Dojo, and Ready: %s", time.Since(began))
		w.awaitReady(ctx, "sapporo-past")
		Expect(w.weapons(ctx, "sapporo-past")).To(ConsistOf(then))
		now, err := w.weapons(ctx, "sapporo")
		Expect(err).NotTo(HaveOccurred())
		Expect(now).To(HaveLen(len(then)+1), "the first Dojo should keep both rows")
		past, err := w.dojo(ctx, "sapporo-past")
		Expect(err).NotTo(HaveOccurred())
		first, err := w.dojo(ctx, "sapporo")
		Expect(err).NotTo(HaveOccurred())
		Expect(past.Status.Database.Name).To(Equal(first.Status.Database.Name))
		Expect(w.addWeapon(ctx, "sapporo-past", "new", "Festering Life Sword")).To(Succeed())
		w.patch(ctx, "sapporo-past", `{"spec":{"postgres":{"reclaimPolicy":"Delete"}}}`)
		w.awaitReady(ctx, "sapporo-past")
		w.deleteDojo(ctx, "sapporo-past")
		Expect(w.existing(ctx, "sapporo-past-db")).To(BeEmpty())
	}, SpecTimeout(15*time.Minute))

	It("is restored in place by kubectl dojo after the Cluster's loss, "+
		"and then to a point in time", func(ctx SpecContext) {
		w.apply(ctx, strings.NewReplacer("sapporo", "nayoro", "Sapporo", "Nayoro", `schedule: "* * * * *"`,
			`schedule: "0 0 1 1 *"`, "finalBackup: true", "finalBackup: false").Replace(sapporo))
		w.awaitReady(ctx, "nayoro")
		w.expectRestored(ctx, "nayoro")
		w.deleteDojo(ctx, "nayoro")
		Expect(w.existing(ctx, "nayoro-db")).To(BeEmpty())
	}, SpecTimeout(20*time.Minute))

	It("reports why a restore fails, and starts no pods of the Dojo", func(ctx SpecContext) {
		restoring := func(name, recovery string) {
			w.apply(ctx, fmt.Sprintf(`
apiVersion: core.jutsu.com/v1
kind: Dojo
metadata: {name: %s}
spec:
  accountId: Mei Mei
  title: Not restored
  postgres:
    cluster: {storage: {size: 1Gi}, bootstrap: {recovery: {%s}}}
    reclaimPolicy: Delete
`, name, recovery))
		}
		fails := func(name, reason string) string {
			GinkgoHelper()
			began := time.Now()
			Eventually(ctx, w.condition).WithArguments(name, "Degraded").WithTimeout(eventually).
				Should(HavePrefix("True " + reason))
			message, err := w.condition(ctx, name, "Degraded")
			Expect(err).NotTo(HaveOccurred())
			measured("%s after %s: %s", reason, time.Since(began), message)
			Expect(w.podNames(ctx, name)).To(BeEmpty())
			return message
		}
		const store = `objectStore: {plugin: {name: barman-cloud.cloudnative-pg.io, parameters: {barmanObjectName: store}}, ` +
			`serverName: sapporo-db}`
		restoring("future", store+fmt.Sprintf(", targetTime: %q", time.Now().Add(time.Hour).UTC().Format(time.RFC3339)))
		restoring("nameless", store)
		restoring("backupless", "backup: {name: none}")
		Expect(fails("future", corev1api.ReasonRestoreFailed)).To(ContainSubstring("kubectl logs job/future-db-1-full-recovery"))
		d, err := w.dojo(ctx, "sapporo")
		Expect(err).NotTo(HaveOccurred())
		Expect(fails("nameless", corev1api.ReasonDatabaseNotRestored)).To(ContainSubstring(d.Status.Database.Name))
		Expect(w.existing(ctx, "nameless-db")).To(ConsistOf("Cluster", "DatabaseRole"), "no Database should exist")
		fails("backupless", corev1api.ReasonBackupNotUsable)
		Expect(w.existing(ctx, "backupless-db")).To(BeEmpty())
		for _, name := range []string{"future", "nameless", "backupless"} {
			w.deleteDojo(ctx, name)
			Expect(w.existing(ctx, name+"-db")).To(BeEmpty())
		}
	}, SpecTimeout(15*time.Minute))

	It("keeps the data of a deleted Dojo until a final backup has completed", func(ctx SpecContext) {
		for n := range 20 {
			Expect(w.addWeapon(ctx, "sapporo", strconv.Itoa(n), "Cursed Tool")).To(Succeed())
		}
		w.scaleStore(ctx, 0)
		Expect(w.addWeapon(ctx, "sapporo", "last", "Black Rope")).To(Succeed())
		var err error
		kept, err = w.weapons(ctx, "sapporo")
		Expect(err).NotTo(HaveOccurred())
		Expect(kept).To(HaveLen(23)) // 20 rows from the loop, and the rows "last", "before" and "after"
		d, err := w.dojo(ctx, "sapporo")
		Expect(err).NotTo(HaveOccurred())
		Expect(k8s.Delete(ctx, d)).To(Succeed())
		Eventually(ctx, w.condition).WithArguments("sapporo", "Degraded").WithTimeout(eventually).
			Should(HavePrefix("True " + corev1api.ReasonFinalBackupFailed))
		message, err := w.condition(ctx, "sapporo", "Degraded")
		Expect(err).NotTo(HaveOccurred())
		measured("a final backup without the object store: %s", message)
		Expect(w.existing(ctx, "sapporo-db")).To(ConsistOf("Cluster", "Database", "DatabaseRole"))

		step("bring the object store back, and follow the message")
		w.scaleStore(ctx, 1)
		began := time.Now()
		failed := w.finalBackup(ctx)
		Expect(message).To(ContainSubstring("kubectl delete backups.postgresql.cnpg.io " + failed.GetName()))
		Expect(k8s.Delete(ctx, failed)).To(Succeed())
		Eventually(ctx, gone).WithArguments(d).WithTimeout(eventually).Should(Succeed())
		measured("a final backup and the deletion of the database: %s", time.Since(began))
		Expect(w.existing(ctx, "sapporo-db")).To(BeEmpty())
		final = w.finalBackup(ctx)
		phase, _, _ := unstructured.NestedString(final.Object, "status", "phase")
		Expect(phase).To(Equal("completed"))
	}, SpecTimeout(15*time.Minute))

	It("is restored with every row from its final backup when a Dojo of the same name is created", func(ctx SpecContext) {
		began := time.Now()
		Expect(w.runDocumented(ctx, "restore.md", "A Dojo that was deleted", "sapporo")).
			To(ContainSubstring("Backup " + final.GetName()))
		measured("restored from the final backup, and Ready again: %s", time.Since(began))
		w.awaitReady(ctx, "sapporo")
		Expect(w.weapons(ctx, "sapporo")).To(ConsistOf(kept))
		Expect(w.addWeapon(ctx, "sapporo", "new", "Playful Cloud")).To(Succeed(), "the restored database accepts writes")
		Eventually(ctx, w.backupSucceeded).WithArguments("sapporo").WithTimeout(eventually).Should(HavePrefix("True "))
		Expect(w.clusterCondition(ctx, "ContinuousArchiving")).To(HavePrefix("True "), "the WAL should go to a new path")
	}, SpecTimeout(10*time.Minute))
})

func (w *world) startStore(ctx context.Context, image string) {
	GinkgoHelper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "store"},
		StringData: map[string]string{"id": "jutsu", "secret": rand.Text(), "region": "us-east-1"},
	}
	Expect(k8s.Create(ctx, secret)).To(Succeed())
	objects, err := manifests.Parse(objectStore)
	Expect(err).NotTo(HaveOccurred())
	setImage(objects, image)
	for _, o := range objects {
		o.SetNamespace(w.namespace)
	}
	Expect(manifests.Apply(ctx, k8s, objects)).To(Succeed())
	w.awaitStore(ctx, 1)
}

func (w *world) scaleStore(ctx context.Context, replicas int32) {
	GinkgoHelper()
	store := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "store"}}
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	Expect(k8s.Patch(ctx, store, client.RawPatch(types.MergePatchType, patch))).To(Succeed())
	w.awaitStore(ctx, replicas)
}

func (w *world) awaitStore(ctx context.Context, replicas int32) {
	GinkgoHelper()
	Eventually(ctx, func() (appsv1.DeploymentStatus, error) {
		store := &appsv1.Deployment{}
		err := k8s.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "store"}, store)
		return store.Status, err
	}).Should(And(HaveField("Replicas", replicas), HaveField("ReadyReplicas", replicas)), "replicas of the object store")
}

func (w *world) backupSucceeded(ctx context.Context, dojo string) (string, error) {
	return w.condition(ctx, dojo, corev1api.ConditionBackupSucceeded)
}

func (w *world) lastBackup(ctx context.Context) string {
	d, err := w.dojo(ctx, "sapporo")
	if err != nil || d.Status.Database == nil || d.Status.Database.LastBackup == nil {
		return ""
	}
	return d.Status.Database.LastBackup.Name
}

func (w *world) finalBackup(ctx context.Context) *unstructured.Unstructured {
	GinkgoHelper()
	var backups unstructured.UnstructuredList
	backups.SetAPIVersion("postgresql.cnpg.io/v1")
	backups.SetKind("BackupList")
	Expect(k8s.List(ctx, &backups, client.InNamespace(w.namespace))).To(Succeed())
	for i := range backups.Items {
		if strings.HasPrefix(backups.Items[i].GetName(), "sapporo-db-final-") {
			return &backups.Items[i]
		}
	}
	Fail("there is no final backup")
	return nil
}

func (w *world) clusterCondition(ctx context.Context, kind string) (string, error) {
	cluster, err := w.postgres(ctx, "Cluster", "sapporo-db")
	if err != nil {
		return "", err
	}
	var status struct {
		Status struct{ Conditions []metav1.Condition }
	}
	text, err := json.Marshal(cluster.Object)
	if err == nil {
		err = json.Unmarshal(text, &status)
	}
	c := meta.FindStatusCondition(status.Status.Conditions, kind)
	if err != nil || c == nil {
		return "", err
	}
	return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message), nil
}

func (w *world) firing(ctx context.Context) (alerts []string, err error) {
	query := fmt.Sprintf(`ALERTS{alertstate="firing",namespace=%q,dojo="sapporo"}`, w.namespace)
	text, err := typed.CoreV1().RESTClient().Get().Namespace("monitoring").Resource("services").
		Name("prometheus-operated:web").SubResource("proxy").Suffix("api/v1/query").Param("query", query).DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, text)
	}
	var answer struct {
		Data struct {
			Result []struct{ Metric map[string]string }
		}
	}
	err = json.Unmarshal(text, &answer)
	for _, r := range answer.Data.Result {
		alerts = append(alerts, r.Metric["alertname"])
	}
	return alerts, err
}
