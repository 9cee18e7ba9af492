package main_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
)

var _ = Describe("The schema of a Dojo's database", func() {
	var ns string
	BeforeEach(func(ctx context.Context) { ns = newNamespace(ctx) })

	withSQL := func(d *corev1api.Dojo) {
		d.Spec.Postgres.InitSQL = []corev1api.SQLSource{
			{ConfigMapKeyRef: &corev1api.KeyReference{Name: "sql", Key: "tables.sql"}},
			{SecretKeyRef: &corev1api.KeyReference{Name: "sql", Key: "users.sql"}},
		}
	}
	tables := func() *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "sql"}, Data: map[string]string{"tables.sql": "SELECT 1"}}
	}
	users := func() *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "sql"}, StringData: map[string]string{"users.sql": newPassword()}}
	}

	It("waits for the SQL, runs it before the first pod starts, and again when it changes", func(ctx context.Context) {
		standingCluster(ctx, ns, "pg")
		d := newDojo(ns, "tokyo", inCluster, withSQL)
		Expect(k8s.Create(ctx, d)).To(Succeed())
		Eventually(ctx, refetch(d)).Should(HaveCondition("DatabaseReady", "False", corev1api.ReasonWaitingForSQL))
		Expect(message(d, "DatabaseReady")).To(Equal("Waiting for the ConfigMap " + ns + "/sql that spec.postgres.initSQL names."))
		Expect(k8s.Create(ctx, tables())).To(Succeed())
		eventuallyDegraded(ctx, d, corev1api.ReasonSQLNotFound)
		Expect(message(d, "Degraded")).To(ContainSubstring("The Secret " + ns + "/sql"))
		Expect(k8s.Get(ctx, nameOf(ns, "tokyo"), deploymentOf(d))).NotTo(Succeed())
		Expect(k8s.Create(ctx, users())).To(Succeed())
		eventuallyReady(ctx, d)
		first := schemaJobs(ctx, d)
		Expect(first).To(HaveLen(1))

		edit(ctx, tables(), func(c *corev1.ConfigMap) { c.Data["tables.sql"] = "SELECT 2" })
		Eventually(ctx, func(ctx context.Context) []string {
			var names []string
			for _, job := range schemaJobs(ctx, d) {
				names = append(names, job.Name)
			}
			return names
		}).Should(And(HaveLen(1), Not(ContainElement(first[0].Name))), "one Job for the new SQL, and the former one gone")
		eventuallyReady(ctx, d)
	})

	It("runs again in a database that was made again", func(ctx context.Context) {
		d := dojoInCluster(ctx, ns)
		first := schemaJobs(ctx, d)[0].Name
		Expect(k8s.Delete(ctx, ofKind("Database", ns, "tokyo-db"))).To(Succeed())
		Eventually(ctx, func(ctx context.Context) string { return schemaJobs(ctx, d)[0].Name }).ShouldNot(Equal(first))
		eventuallyReady(ctx, d)
	})

	It("that fails keeps the pods from starting, and says what psql says", func(ctx context.Context) {
		pg := standingCluster(ctx, ns, "pg")
		edit(ctx, pg, func(o *unstructured.Unstructured) { // pods with such an image stay, so that the test can tell how they end
			Expect(unstructured.SetNestedField(o.Object, "registry.invalid/postgres:17", "spec", "imageName")).To(Succeed())
		})
		Eventually(ctx, refetch(pg)).Should(haveField("status.image", "registry.invalid/postgres:17"))
		d := newDojo(ns, "tokyo", inCluster)
		Expect(k8s.Create(ctx, d)).To(Succeed())
		eventuallyDegraded(ctx, d, corev1api.ReasonSchemaFailed)
		Expect(message(d, "Degraded")).To(ContainSubstring(`the image "registry.invalid/postgres:17" cannot be pulled`))

		endSchemaPod(ctx, ns, corev1.ContainerStateTerminated{
			ExitCode: 3, Reason: "Error", Message: "psql:/sql/00-sql.sql:7: ERROR:  relation \"dojos\" does not exist\n",
		})
		Eventually(ctx, func(ctx context.Context) string {
			_, _ = refetch(d)(ctx)
			return message(d, "Degraded")
		}).Should(ContainSubstring(`psql:/sql/00-sql.sql:7: ERROR:  relation "dojos" does not exist. Mend the SQL`))
		Expect(d).To(HaveCondition("DatabaseReady", "False", corev1api.ReasonSchemaFailed))
		Expect(k8s.Get(ctx, nameOf(ns, "tokyo"), deploymentOf(d))).NotTo(Succeed())

		By("having it tried again")
		edit(ctx, pg, func(o *unstructured.Unstructured) {
			Expect(unstructured.SetNestedField(o.Object, "registry.example.org/postgres:17", "spec", "imageName")).To(Succeed())
		})
		Eventually(ctx, refetch(pg)).Should(haveField("status.image", "registry.example.org/postgres:17"))
		job := schemaJobs(ctx, d)[0]
		Expect(k8s.Delete(ctx, &job, client.PropagationPolicy("Background"))).To(Succeed())
		eventuallyReady(ctx, d)
	})
})

// endSchemaPod ends the pod of the schema's Job.
func endSchemaPod(ctx context.Context, namespace string, how corev1.ContainerStateTerminated) {
	GinkgoHelper()
	Eventually(ctx, func(ctx context.Context) error {
		var pods corev1.PodList
		if err := k8s.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{"app.kubernetes.io/name": "dojo-schema"}); err != nil {
			return err
		}
		pod := &pods.Items[0]
		pod.Status.Phase = corev1.PodFailed
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "dojo-schema", State: corev1.ContainerState{Terminated: &how}}}
		return k8s.Status().Update(ctx, pod)
	}).Should(Succeed())
}
