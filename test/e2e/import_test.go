// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"crypto/rand"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/test/e2e/internal/images"
)

var _ = Describe("An import from another Postgres", Label("database"), Ordered, Serial, func() {
	var w *world
	password := rand.Text()
	BeforeAll(func(ctx SpecContext) {
		w = newWorld(ctx, "import")
		w.apply(ctx, fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: legacy, labels: {app: legacy}}
spec:
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: 1
  securityContext: {runAsNonRoot: true, runAsUser: 26, fsGroup: 26, seccompProfile: {type: RuntimeDefault}}
  containers:
    - name: postgres
      image: %s
      command: [sh, -euc]
      args:
        - |
          cd /tmp
          echo "$PASSWORD" > password
          initdb -D data -U legacy -A scram-sha-256 --pwfile password --no-sync -E UTF8 --locale C
          echo "host all all all scram-sha-256" >> data/pg_hba.conf
          export PGPASSWORD="$PASSWORD"
          pg_ctl -D data -o "-k /tmp -c listen_addresses=" -w start
          createdb -h /tmp -U legacy weaponry
          psql -h /tmp -U legacy weaponry -v ON_ERROR_STOP=1 <<'SQL'
          CREATE TABLE weapons (id text PRIMARY KEY, name text NOT NULL);
          INSERT INTO weapons SELECT n, 'Cursed Tool' FROM generate_series(1, 1000) n;
          CREATE TABLE owners (name text);
          SQL
          pg_ctl -D data -w stop
          exec postgres -D data -k /tmp -c "listen_addresses=*"
      env: [{name: PASSWORD, value: %q}]
      ports: [{containerPort: 5432}]
      readinessProbe: {tcpSocket: {port: 5432}, periodSeconds: 1}
      securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
---
apiVersion: v1
kind: Service
metadata: {name: legacy}
spec: {selector: {app: legacy}, ports: [{port: 5432}]}
`, "ghcr.io/cloudnative-pg/postgresql:"+images.PostgresVersion, password))
	}, NodeTimeout(installing))

	It("fails when the host does not exist, and the Dojo starts no pods on an empty database", func(ctx SpecContext) {
		w.apply(ctx, `
apiVersion: v1
kind: Secret
metadata: {name: nowhere}
stringData: {host: nowhere, port: "5432", dbname: weaponry, user: legacy, password: x}
---
apiVersion: core.jutsu.com/v1
kind: Dojo
metadata: {name: nagoya}
spec:
  accountId: Mei Mei
  title: Nagoya Branch
  postgres:
    cluster: {storage: {size: 1Gi}, bootstrap: {import: {sourceSecretRef: {name: nowhere}}}}
    reclaimPolicy: Delete
`)
		began := time.Now()
		Eventually(ctx, w.condition).WithArguments("nagoya", "Degraded").WithTimeout(eventually).
			Should(HavePrefix("True " + corev1api.ReasonImportFailed))
		message, err := w.condition(ctx, "nagoya", "Degraded")
		Expect(err).NotTo(HaveOccurred())
		measured("an import from nowhere, after %s: %s", time.Since(began), message)
		Expect(w.podNames(ctx, "nagoya")).To(BeEmpty())
		Expect(w.existing(ctx, "nagoya-db")).To(ConsistOf("Cluster"))
		w.deleteDojo(ctx, "nagoya")
	}, SpecTimeout(10*time.Minute))

	It("copies all rows, and lets the Dojo write to the imported table", func(ctx SpecContext) {
		began := time.Now()
		for name, value := range map[string]string{
			"HOST": "legacy", "DATABASE": "weaponry", "LOGIN": "legacy", "PASSWORD": password, "SSLMODE": "disable",
		} {
			GinkgoT().Setenv(name, value)
		}
		w.runDocumented(ctx, "migrate-database.md", "How do I import a database?", "nagoya")
		measured("imported, and Ready: %s", time.Since(began))
		w.awaitReady(ctx, "nagoya")
		weapons, err := w.weapons(ctx, "nagoya")
		Expect(err).NotTo(HaveOccurred())
		Expect(weapons).To(And(HaveLen(1000), ContainElement(weapon{"1000", "Cursed Tool"})))
		Expect(w.addWeapon(ctx, "nagoya", "new", "Black Rope")).To(Succeed(), "the Dojo should own the table")
		cluster, err := w.postgres(ctx, "Cluster", "nagoya-db")
		Expect(err).NotTo(HaveOccurred())
		text, err := cluster.MarshalJSON()
		Expect(err).NotTo(HaveOccurred())
		Expect(string(text)).NotTo(ContainSubstring(password))
		origin, _, _ := unstructured.NestedString(cluster.Object, "metadata", "annotations", corev1api.OriginAnnotation)
		Expect(origin).To(Equal("Secret nagoya-source"))

		step("restart Postgres: CloudNativePG sets the owner's password at each start")
		Expect(w.runDocumented(ctx, "failover.md", "How do I rehearse a failover?", "nagoya")).
			To(ContainSubstring(`pod "nagoya-db-1" deleted`))
		Eventually(ctx, func() error { return w.addWeapon(ctx, "nagoya", rand.Text(), "Black Rope") }).
			WithTimeout(eventually).Should(Succeed())
		w.awaitReady(ctx, "nagoya")
		w.deleteDojo(ctx, "nagoya")
	}, SpecTimeout(15*time.Minute))
})
