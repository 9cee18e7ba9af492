// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/test/e2e/internal/images"
)

// The upgrade is from the Postgres of Debian 12 to the Postgres of Debian 13.
var _ = Describe("A major version upgrade of Postgres", Label("database"), Ordered, Serial, func() {
	const maki = `
apiVersion: core.jutsu.com/v1
kind: Dojo
metadata: {name: maki}
spec:
  accountId: Maki Zenin
  title: Cursed Tools
  replicas: 2
  postgres:
    cluster: {version: "15", instances: 2, storage: {size: 1Gi}}
    reclaimPolicy: Delete
`
	var w *world
	BeforeAll(func(ctx SpecContext) {
		pushNewPostgres(ctx)
		w = newWorld(ctx, "upgrade")
		w.apply(ctx, maki)
		w.awaitReady(ctx, "maki")
		Expect(w.addWeapon(ctx, "maki", "1", "Playful Cloud")).To(Succeed())
	}, NodeTimeout(15*time.Minute))

	setVersion := func(ctx context.Context, version string) {
		GinkgoHelper()
		w.patch(ctx, "maki", `{"spec":{"postgres":{"cluster":{"version":"`+version+`"}}}}`)
	}
	version := func(ctx context.Context) (string, error) {
		GinkgoHelper()
		return w.psql(ctx, "maki", "maki-db-rw", "SELECT current_setting('server_version_num')::int / 10000, id FROM weapons")
	}

	It("is refused without a backup, and a user can revert the version in the spec", func(ctx SpecContext) {
		setVersion(ctx, "17")
		Eventually(ctx, w.condition).WithArguments("maki", "DatabaseReady").
			Should(HavePrefix("False " + corev1api.ReasonUpgradeNeedsBackup))
		Expect(w.condition(ctx, "maki", "Available")).To(HavePrefix("True "))
		setVersion(ctx, "15")
		w.awaitReady(ctx, "maki")
		Expect(version(ctx)).To(Equal("15|1"))
	}, SpecTimeout(20*time.Minute)) // includes BeforeAll, which may build the image of Postgres 17

	It("serves the former version if a user reverts to it while the new image cannot be pulled", func(ctx SpecContext) {
		Expect(w.kubectl(ctx, "annotate", "dojo", "maki", corev1api.UpgradeWithoutBackupAnnotation+"=16")).
			Error().NotTo(HaveOccurred())
		setVersion(ctx, "16") // there is no image of Postgres 16
		Eventually(ctx, func(ctx context.Context) (string, error) {
			return w.kubectl(ctx, "get", "pods", "-l", "batch.kubernetes.io/job-name=maki-db-1-major-upgrade", "-o",
				"jsonpath={.items[*].status.containerStatuses[*].state.waiting.reason}"+
					"{.items[*].status.initContainerStatuses[*].state.waiting.reason}")
		}).WithTimeout(eventually).Should(Or(ContainSubstring("ImagePullBackOff"), ContainSubstring("ErrImagePull")))
		Expect(w.dojo(ctx, "maki")).To(HaveField("Status.Database.Upgrade", HaveValue(And(
			HaveField("From", "15"), HaveField("To", "16"), HaveField("Step", corev1api.UpgradeUpgrading)))))
		Expect(w.podsOf(ctx, "maki")).To(BeEmpty())
		began := time.Now()
		setVersion(ctx, "15")
		Eventually(ctx, w.condition).WithArguments("maki", "Ready").WithTimeout(2 * eventually).Should(HavePrefix("True "))
		measured("a reverted upgrade: pods run again after %s", time.Since(began))
		Expect(version(ctx)).To(Equal("15|1"))
	}, SpecTimeout(15*time.Minute))

	// If the operator wrote the former version to the Cluster after pg_upgrade has begun,
	// CloudNativePG would delete the Job and leave data that the former version cannot read.
	It("completes even if a user reverts the version during or after pg_upgrade", func(ctx SpecContext) {
		for _, name := range []string{"mai", "naoya"} {
			w.apply(ctx, strings.NewReplacer("maki", name, "instances: 2", "instances: 1").Replace(maki))
		}
		for name, taken := range map[string]func(*batchv1.Job) bool{
			"mai":   func(job *batchv1.Job) bool { return job.Status.Ready != nil && *job.Status.Ready > 0 },
			"naoya": func(job *batchv1.Job) bool { return job.Status.Succeeded > 0 },
		} {
			w.awaitReady(ctx, name)
			Expect(w.addWeapon(ctx, name, "1", "Playful Cloud")).To(Succeed())
			Expect(w.kubectl(ctx, "annotate", "dojo", name, corev1api.UpgradeWithoutBackupAnnotation+"=17")).
				Error().NotTo(HaveOccurred())
			began := time.Now()
			w.patch(ctx, name, `{"spec":{"postgres":{"cluster":{"version":"17"}}}}`)
			Eventually(ctx, w.upgradeJob).WithArguments(name+"-db").WithTimeout(eventually).WithPolling(50*time.Millisecond).
				Should(Satisfy(taken), "of %s", name)
			w.patch(ctx, name, `{"spec":{"postgres":{"cluster":{"version":"15"}}}}`)
			Eventually(ctx, w.condition).WithArguments(name, "DatabaseReady").WithTimeout(2 * eventually).
				Should(HavePrefix("False " + corev1api.ReasonVersionTooLow))
			measured("reverted during or after pg_upgrade: the data is of Postgres 17 after %s", time.Since(began))
			w.patch(ctx, name, `{"spec":{"postgres":{"cluster":{"version":"17"}}}}`)
			w.awaitReady(ctx, name)
			Expect(w.weapons(ctx, name)).To(ConsistOf(weapon{"1", "Playful Cloud"}))
			Expect(w.psql(ctx, name, name+"-db-rw", "SELECT current_setting('server_version_num')::int / 10000, id FROM weapons")).
				To(Equal("17|1"))
			w.deleteDojo(ctx, name)
		}
	}, SpecTimeout(25*time.Minute))

	It("keeps all data when a user runs the documented commands", func(ctx SpecContext) {
		began := time.Now()
		w.runDocumented(ctx, "upgrade-postgres.md", "Without backups", "maki")
		measured("an upgrade of two instances from Postgres 15 to 17: %s", time.Since(began))
		Expect(version(ctx)).To(Equal("17|1"))
		Expect(w.weapons(ctx, "maki")).To(ConsistOf(weapon{"1", "Playful Cloud"}))
		Expect(w.addWeapon(ctx, "maki", "2", "Dragon-Bone")).To(Succeed())
		Expect(w.dojo(ctx, "maki")).To(HaveField("Status.Database.Upgrade", BeNil()))
	}, SpecTimeout(20*time.Minute))
})

var _ = Describe("A major version upgrade of Postgres with backups", Label("database"), Ordered, Serial, func() {
	const toji = `
apiVersion: core.jutsu.com/v1
kind: Dojo
metadata: {name: NAME}
spec:
  accountId: Toji Fushiguro
  title: Heavenly Restriction
  postgres:
    cluster:
      version: "15"
      storage: {size: 1Gi}
      backup:
        schedule: "0 2 * * *"
        method: Plugin
        plugin:
          name: barman-cloud.cloudnative-pg.io
          parameters: {barmanObjectName: store, serverName: NAME-db-15}
      bootstrap: {FROM}
    reclaimPolicy: Delete
`
	var w *world
	BeforeAll(func(ctx SpecContext) {
		pushNewPostgres(ctx)
		store, err := installed.InstallBackups(ctx)
		Expect(err).NotTo(HaveOccurred())
		w = newWorld(ctx, "upgrade-backup")
		w.startStore(ctx, store)
		w.apply(ctx, strings.NewReplacer("NAME", "toji", "\n      bootstrap: {FROM}", "").Replace(toji))
		w.awaitReady(ctx, "toji")
		Expect(w.addWeapon(ctx, "toji", "1", "Playful Cloud")).To(Succeed())
	}, NodeTimeout(installing))

	It("is preceded and followed by a backup, "+
		"and a second Dojo restores the data of the former version", func(ctx SpecContext) {
		began := time.Now()
		w.patch(ctx, "toji", `{"spec":{"postgres":{"cluster":{"version":"17",
			"backup":{"plugin":{"parameters":{"serverName":"toji-db-17"}}}}}}}`)
		var before string
		Eventually(ctx, func(ctx context.Context) string {
			d, err := w.dojo(ctx, "toji")
			if err == nil && d.Status.Database.Upgrade != nil {
				before = d.Status.Database.Upgrade.Backup
			}
			return before
		}).WithTimeout(eventually).Should(HavePrefix("toji-before-"))
		Eventually(ctx, w.condition).WithArguments("toji", "Ready").WithTimeout(2 * eventually).Should(HavePrefix("True "))
		measured("an upgrade of one instance from Postgres 15 to 17, with a backup before: %s", time.Since(began))
		Expect(w.weapons(ctx, "toji")).To(ConsistOf(weapon{"1", "Playful Cloud"}))
		Expect(w.addWeapon(ctx, "toji", "2", "Dragon-Bone")).To(Succeed())
		Eventually(ctx, w.dojo).WithArguments("toji").WithTimeout(eventually).
			Should(HaveField("Status.Database.LastBackup.Name", HavePrefix("toji-after-")))

		Eventually(ctx, func(ctx context.Context) bool {
			_, err := w.postgres(ctx, "Backup", before)
			return apierrors.IsNotFound(err)
		}).WithTimeout(eventually).Should(BeTrue(), "the plugin should delete Backups of the former serverName")
		upgraded, err := w.dojo(ctx, "toji")
		Expect(err).NotTo(HaveOccurred())
		began = time.Now()
		recovery := fmt.Sprintf("{recovery: {database: %s, objectStore: {serverName: toji-db-15, plugin: {name: "+
			"barman-cloud.cloudnative-pg.io, parameters: {barmanObjectName: store}}}}}", upgraded.Status.Database.Name)
		w.apply(ctx, strings.NewReplacer("NAME", "toji-past", "{FROM}", recovery).Replace(toji))
		w.awaitReady(ctx, "toji-past")
		measured("restored as it was before an upgrade, to Postgres 15: %s", time.Since(began))
		Expect(w.weapons(ctx, "toji-past")).To(ConsistOf(weapon{"1", "Playful Cloud"}))
		Expect(w.dojo(ctx, "toji-past")).To(HaveField("Status.Database.Version", "15"))
		Expect(w.dojo(ctx, "toji")).To(HaveField("Status.Database.Version", "17"))

		step("upgrade the restored database")
		w.patch(ctx, "toji-past", `{"spec":{"postgres":{"cluster":{"version":"17",
			"backup":{"plugin":{"parameters":{"serverName":"toji-past-db-17"}}}}}}}`)
		Eventually(ctx, w.dojo).WithArguments("toji-past").WithTimeout(2 * eventually).
			Should(HaveField("Status.Database.Version", "17"))
		w.awaitReady(ctx, "toji-past")
		Expect(w.weapons(ctx, "toji-past")).To(ConsistOf(weapon{"1", "Playful Cloud"}))
		for _, name := range []string{"toji-past", "toji"} {
			w.deleteDojo(ctx, name)
			Expect(w.existing(ctx, name+"-db")).To(BeEmpty())
		}
	}, SpecTimeout(30*time.Minute))
})

func (w *world) upgradeJob(ctx context.Context, cluster string) (*batchv1.Job, error) {
	var jobs batchv1.JobList
	err := k8s.List(ctx, &jobs, client.InNamespace(w.namespace))
	for i := range jobs.Items {
		if strings.HasPrefix(jobs.Items[i].Name, cluster+"-") && strings.HasSuffix(jobs.Items[i].Name, "-major-upgrade") {
			return &jobs.Items[i], err
		}
	}
	return &batchv1.Job{}, err
}

func pushNewPostgres(ctx context.Context) {
	GinkgoHelper()
	archive, err := images.NewPostgresArchive(ctx, os.Stderr)
	Expect(err).NotTo(HaveOccurred())
	_, err = images.Image{
		Name: "ghcr.io/cloudnative-pg/postgresql:" + images.NewPostgresVersion, Archive: archive, User: "26",
	}.Push(installed.Registry)
	Expect(err).NotTo(HaveOccurred())
}
