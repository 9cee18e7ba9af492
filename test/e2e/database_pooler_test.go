// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
)

var _ = Describe("A database behind PgBouncer", Label("database"), Ordered, Serial, func() {
	const kadic = `
apiVersion: core.jutsu.com/v1
kind: Dojo
metadata: {name: kadic}
spec:
  accountId: Atsuya Kusakabe
  title: Kadic Branch
  replicas: 2
  postgres:
    cluster:
      instances: 2
      storage: {size: 1Gi}
      pooler: {instances: 2, mode: Transaction}
    reclaimPolicy: Delete
`
	const bouncer = "kadic-db-pooler-rw"
	var w *world
	BeforeAll(func(ctx SpecContext) {
		w = newWorld(ctx, "pooler")
		began := time.Now()
		w.apply(ctx, kadic)
		w.awaitReady(ctx, "kadic")
		measured("two instances behind two of PgBouncer are ready after %s", time.Since(began))
	}, NodeTimeout(10*time.Minute))

	It("accepts writes through PgBouncer, and only reads at the read-only endpoint", func(ctx SpecContext) {
		d, err := w.dojo(ctx, "kadic")
		Expect(err).NotTo(HaveOccurred())
		Expect(d.Status.Database.Pooler).To(HaveValue(Equal(
			corev1api.PoolerStatus{Host: bouncer, InUse: true, Instances: "2/2"})))
		Expect(w.credential(ctx, "kadic", "DB_ENDPOINT")).To(Equal(bouncer))
		Expect(w.addWeapon(ctx, "kadic", "1", "Split Soul Katana")).To(Succeed())
		Expect(w.psql(ctx, "kadic", bouncer, "SELECT current_user, pg_is_in_recovery()")).To(Equal(d.Status.Database.Name + "|f"))
		standbys := w.credential(ctx, "kadic", "DB_READONLY_ENDPOINT")
		Expect(standbys).To(Equal(d.Status.Database.ReadOnlyHost))
		Eventually(ctx, w.psql).WithArguments("kadic", standbys, "SELECT pg_is_in_recovery(), id FROM weapons").
			Should(Equal("t|1"))
		_, err = w.psql(ctx, "kadic", standbys, "DELETE FROM weapons")
		Expect(err).To(MatchError(ContainSubstring("read-only transaction")))
	}, SpecTimeout(5*time.Minute))

	It("accepts writes again within 30 seconds when the primary's pod is deleted", func(ctx SpecContext) {
		primary := w.primary(ctx, "kadic-db")
		writer := w.write("kadic", "pooled")
		Eventually(ctx, writer.added).Should(BeNumerically(">", 10))
		pod := &corev1.Pod{}
		pod.Namespace, pod.Name = w.namespace, primary
		Expect(k8s.Delete(ctx, pod)).To(Succeed())
		Eventually(ctx, w.primary).WithArguments("kadic-db").WithTimeout(eventually).
			Should(And(Not(BeEmpty()), Not(Equal(primary)), Not(Equal("pending"))), "another instance takes over")
		before := writer.added()
		Eventually(ctx, writer.added).WithTimeout(eventually).Should(BeNumerically(">", before+20), "writes should continue")
		acknowledged, outage := writer.stop()
		measured("behind PgBouncer, the primary's pod deleted: writes waited for %s, %d were acknowledged", outage,
			len(acknowledged))
		Expect(outage).To(BeNumerically("<", maxOutage))
		w.awaitReady(ctx, "kadic")
		Expect(w.credential(ctx, "kadic", "DB_ENDPOINT")).To(Equal(bouncer))
	}, SpecTimeout(10*time.Minute))

	It("rotates its password and drops PgBouncer without a failed request", func(ctx SpecContext) {
		w.visit(ctx, "kadic")
		d, err := w.dojo(ctx, "kadic")
		Expect(err).NotTo(HaveOccurred())
		second := "dojo2" + strings.TrimPrefix(d.Status.Database.Name, "dojo")
		w.runDocumented(ctx, "rotate.md", "Rotate the password of a database", "kadic")
		Eventually(ctx, w.dojo).WithArguments("kadic").WithTimeout(eventually).
			Should(HaveField("Status.Database", HaveValue(HaveField("Login", second))))
		w.awaitReady(ctx, "kadic")
		Expect(w.psql(ctx, "kadic", bouncer, "SELECT session_user, current_user")).
			To(Equal(second + "|" + d.Status.Database.Name))
		began := time.Now()
		w.patch(ctx, "kadic", `{"spec":{"postgres":{"cluster":{"pooler":null}}}}`)
		pooler, err := w.postgres(ctx, "Pooler", bouncer)
		Expect(err).NotTo(HaveOccurred())
		Eventually(ctx, gone).WithArguments(pooler).WithTimeout(eventually).Should(Succeed())
		w.awaitReady(ctx, "kadic")
		measured("the Pooler is gone after %s", time.Since(began))
		Expect(w.credential(ctx, "kadic", "DB_ENDPOINT")).To(Equal("kadic-db-rw"))
		Expect(w.addWeapon(ctx, "kadic", "2", "Dragon-Bone")).To(Succeed())
		visits, err := w.visits(ctx, "kadic")
		Expect(err).NotTo(HaveOccurred())
		measured("a rotation and no PgBouncer: %d of %d requests failed", visits.Failures, visits.Failures+visits.Answers)
		Expect(visits).To(HaveField("Failures", 0), "the field Last has the last failure")
	}, SpecTimeout(10*time.Minute))
})

func (w *world) credential(ctx context.Context, dojo, key string) string {
	GinkgoHelper()
	var secret corev1.Secret
	Expect(k8s.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: dojo + "-credentials"}, &secret)).To(Succeed())
	return string(secret.Data[key])
}

func (w *world) psql(ctx context.Context, dojo, host, statement string) (string, error) {
	GinkgoHelper()
	value := func(key string) string { return w.credential(ctx, dojo, key) }
	return w.kubectl(ctx, "exec", w.primary(ctx, dojo+"-db"), "-c", "postgres", "--", "env", "PGPASSWORD="+value("DB_PASS"),
		"psql", "-XAtq", "-h", host, "-U", value("DB_USER"), "-d", value("DB_NAME"), "-c", statement)
}
