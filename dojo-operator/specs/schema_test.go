// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
)

var _ = Describe("The schema of a Dojo's database", func() {
	var ns string
	BeforeEach(func(ctx context.Context) { ns = newNamespace(ctx) })

	withSQL := func(dojo *corev1api.Dojo) {
		dojo.Spec.Postgres.InitSQL = []corev1api.SQLSource{
			{ConfigMapKeyRef: &corev1api.KeyReference{Name: "sql", Key: "tables.sql"}},
			{SecretKeyRef: &corev1api.KeyReference{Name: "sql", Key: "users.sql"}},
		}
	}
	tables := func() *corev1.ConfigMap {
		return &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "sql"}, Data: map[string]string{"tables.sql": "SELECT 1"},
		}
	}
	users := func() *corev1.Secret {
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "sql"},
			StringData: map[string]string{"users.sql": newPassword()},
		}
	}

	It("is created by the SQL of initSQL before the first pod starts, "+
		"and updated when the SQL changes", func(ctx context.Context) {
		existingCluster(ctx, ns, "pg")
		dojo := newDojo(ns, "tokyo", inCluster, withSQL)
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		Eventually(ctx, refetch(dojo)).Should(HaveCondition("DatabaseReady", "False", corev1api.ReasonWaitingForSQL))
		Expect(message(dojo, "DatabaseReady")).
			To(Equal("Waiting for the ConfigMap " + ns + "/sql of spec.postgres.initSQL."))
		Expect(k8s.Create(ctx, tables())).To(Succeed())
		eventuallyDegraded(ctx, dojo, corev1api.ReasonSQLNotFound)
		Expect(message(dojo, "Degraded")).To(ContainSubstring("The Secret " + ns + "/sql"))
		Expect(k8s.Get(ctx, nameOf(ns, "tokyo"), deploymentOf(dojo))).NotTo(Succeed())
		Expect(k8s.Create(ctx, users())).To(Succeed())
		eventuallyReady(ctx, dojo)
		first := schemaJobs(ctx, dojo)
		Expect(first).To(HaveLen(1))

		edit(ctx, tables(), func(sql *corev1.ConfigMap) { sql.Data["tables.sql"] = "SELECT 2" })
		Eventually(ctx, func(ctx context.Context) []string {
			var names []string
			for _, job := range schemaJobs(ctx, dojo) {
				names = append(names, job.Name)
			}
			return names
		}).Should(And(HaveLen(1), Not(ContainElement(first[0].Name))), "only the Job for the new SQL should remain")
		eventuallyReady(ctx, dojo)
	})

	It("waits for a missing key of a ConfigMap, "+
		"and the condition names even the longest key in full", func(ctx context.Context) {
		name, key := strings.Repeat("n", 253), strings.Repeat("k", 253)
		Expect(k8s.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}})).To(Succeed())
		existingCluster(ctx, ns, "pg")
		dojo := newDojo(ns, "tokyo", inCluster, func(dojo *corev1api.Dojo) {
			dojo.Spec.Postgres.InitSQL = []corev1api.SQLSource{{ConfigMapKeyRef: &corev1api.KeyReference{Name: name, Key: key}}}
		})
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		Eventually(ctx, refetch(dojo)).Should(HaveCondition("DatabaseReady", "False", corev1api.ReasonWaitingForSQL))
		Expect(message(dojo, "DatabaseReady")).To(ContainSubstring("key " + key + " of the ConfigMap " + ns + "/" + name))
	})

	It("is not updated when a source of its SQL gets a label or an unused key, "+
		"or when the SQL Job is deleted", func(ctx context.Context) {
		sql, secret := tables(), users()
		Expect(k8s.Create(ctx, sql)).To(Succeed())
		Expect(k8s.Create(ctx, secret)).To(Succeed())
		dojo := dojoInCluster(ctx, ns, withSQL)
		job := schemaJobs(ctx, dojo)[0]
		edit(ctx, sql, func(sql *corev1.ConfigMap) { sql.Labels, sql.Data["more"] = map[string]string{"a": "b"}, "x" })
		edit(ctx, secret, func(secret *corev1.Secret) { secret.Labels = map[string]string{"a": "b"} })
		Expect(k8s.Delete(ctx, &job, client.PropagationPolicy("Background"))).To(Succeed(), "as a TTL does")
		Consistently(ctx, func(ctx context.Context) []batchv1.Job { return schemaJobs(ctx, dojo) }).
			WithTimeout(3 * time.Second).Should(BeEmpty())
		eventuallyReady(ctx, dojo)
		const digest = "core.jutsu.com/schema"
		database, ran := ofKind("Database", ns, "tokyo-db"), ""
		takeRecord := func(o *unstructured.Unstructured) {
			annotations := o.GetAnnotations()
			ran = annotations[digest]
			delete(annotations, digest)
			o.SetAnnotations(annotations)
		}
		edit(ctx, database, takeRecord)
		Eventually(ctx, func(ctx context.Context) []batchv1.Job { return schemaJobs(ctx, dojo) }).
			Should(HaveLen(1), "the SQL should run again after its record is removed")
		// Wait for the annotation that records the SQL: the status may be older than the Job.
		Eventually(ctx, refetch(database)).Should(HaveField("GetAnnotations()", HaveKeyWithValue(digest, ran)))
		eventuallyReady(ctx, dojo)
		again := schemaJobs(ctx, dojo)[0].UID
		edit(ctx, database, takeRecord)
		Eventually(ctx, func(ctx context.Context) []batchv1.Job { return schemaJobs(ctx, dojo) }).
			Should(HaveExactElements(Not(HaveField("UID", again))), "the SQL should run again although the ended Job exists")
		eventuallyReady(ctx, dojo)
	})

	It("makes the Dojo Degraded while the ConfigMap of the SQL lacks a key, "+
		"and is created after the key is added", func(ctx context.Context) {
		sql := tables()
		sql.Data = map[string]string{"table.sql": "SELECT 1"}
		Expect(k8s.Create(ctx, sql)).To(Succeed())
		Expect(k8s.Create(ctx, users())).To(Succeed())
		existingCluster(ctx, ns, "pg")
		dojo := newDojo(ns, "tokyo", inCluster, withSQL)
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		eventuallyDegraded(ctx, dojo, corev1api.ReasonSQLNotFound)
		Expect(message(dojo, "Degraded")).To(ContainSubstring("The key tables.sql of the ConfigMap " + ns + "/sql"))
		edit(ctx, sql, func(sql *corev1.ConfigMap) { sql.Data["tables.sql"] = "SELECT 1" })
		eventuallyReady(ctx, dojo)
	})

	It("is updated only after the pods of the former SQL Job have ended, "+
		"and before the new image starts", func(ctx context.Context) {
		sql := tables()
		Expect(k8s.Create(ctx, sql)).To(Succeed())
		// The Dojo has no SQL from a Secret, because hashing a Secret is slow: ten seconds after the
		// held pod's creation, the operator would report the pod as stalled.
		dojo := dojoInCluster(ctx, ns, withSQL, func(dojo *corev1api.Dojo) {
			dojo.Spec.Postgres.InitSQL = dojo.Spec.Postgres.InitSQL[:1]
		})
		// Copy the pod without a Job and a node, because kwok ends a Job's pod on a node at once.
		held := schemaPod(ctx, ns)
		labels := maps.Clone(held.Labels)
		maps.DeleteFunc(labels, func(key, _ string) bool { return !strings.HasPrefix(key, "app.kubernetes.io/") })
		held.ObjectMeta = metav1.ObjectMeta{Namespace: ns, Name: "held", Labels: labels}
		held.Spec.NodeName, held.Spec.SchedulerName, held.Status = "", "none", corev1.PodStatus{}
		Expect(k8s.Create(ctx, &held)).To(Succeed())
		deployment := deploymentOf(dojo)
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(deployment), deployment)).To(Succeed())
		image := deployment.Spec.Template.Spec.Containers[0].Image

		edit(ctx, sql, func(sql *corev1.ConfigMap) { sql.Data["tables.sql"] = "SELECT 2" })
		Eventually(ctx, refetch(dojo)).Should(haveMessage("DatabaseReady",
			HavePrefix("Waiting until the Jobs and pods of earlier SQL are gone: pod "+held.Name+".")))
		edit(ctx, dojo, func(dojo *corev1api.Dojo) {
			dojo.Spec.Image, dojo.Spec.Replicas = "registry.example.org/dojo:next", new(int32(2))
		})
		Eventually(ctx, refetch(deployment)).Should(HaveField("Spec.Replicas", HaveValue(BeEquivalentTo(2))))
		eventuallyDegraded(ctx, dojo, corev1api.ReasonSchemaStalled)
		Expect(schemaJobs(ctx, dojo)).To(BeEmpty())
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(deployment), deployment)).To(Succeed())
		Expect(deployment.Spec.Template.Spec.Containers[0].Image).To(Equal(image))

		Expect(k8s.Delete(ctx, &held, client.GracePeriodSeconds(0))).To(Succeed())
		Eventually(ctx, refetch(deployment)).
			Should(HaveField("Spec.Template.Spec.Containers", ContainElement(HaveField("Image", "registry.example.org/dojo:next"))),
				"the SQL has run")
		eventuallyReady(ctx, dojo)
	})

	It("is created again in a recreated database", func(ctx context.Context) {
		dojo := dojoInCluster(ctx, ns)
		first := schemaJobs(ctx, dojo)[0].Name
		Expect(k8s.Delete(ctx, ofKind("Database", ns, "tokyo-db"))).To(Succeed())
		Eventually(ctx, schemaJob(dojo)).ShouldNot(Or(BeEmpty(), Equal(first)))
		eventuallyReady(ctx, dojo)
	})

	It("keeps pods from starting when its SQL fails, and reports the message of psql", func(ctx context.Context) {
		pg := existingCluster(ctx, ns, "pg")
		edit(ctx, pg,
			func(o *unstructured.Unstructured) { // kwok leaves pods with this image in the phase that the spec sets
				Expect(unstructured.SetNestedField(o.Object, "registry.invalid/postgres:17", "spec", "imageName")).To(Succeed())
			})
		Eventually(ctx, refetch(pg)).Should(haveField("status.image", "registry.invalid/postgres:17"))
		dojo := newDojo(ns, "tokyo", inCluster)
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		eventuallyDegraded(ctx, dojo, corev1api.ReasonSchemaFailed)
		Expect(message(dojo, "Degraded")).To(ContainSubstring(`the image "registry.invalid/postgres:17" cannot be pulled`))

		endSchemaPod(ctx, ns, corev1.ContainerStateTerminated{
			ExitCode: 3, Reason: "Error", Message: "psql:/sql/00-sql.sql:7: ERROR:  relation \"dojos\" does not exist\n",
		})
		Eventually(ctx, refetch(dojo)).Should(haveMessage("Degraded",
			ContainSubstring(`psql:/sql/00-sql.sql:7: ERROR:  relation "dojos" does not exist. Fix the cause, such as the SQL`)))
		Expect(dojo).To(HaveCondition("DatabaseReady", "False", corev1api.ReasonSchemaFailed))
		Expect(k8s.Get(ctx, nameOf(ns, "tokyo"), deploymentOf(dojo))).NotTo(Succeed())

		By("changing the image of the Cluster, so that the operator replaces the Job")
		edit(ctx, pg, func(o *unstructured.Unstructured) {
			Expect(unstructured.SetNestedField(o.Object, "registry.example.org/postgres:17", "spec", "imageName")).To(Succeed())
		})
		Eventually(ctx, refetch(pg)).Should(haveField("status.image", "registry.example.org/postgres:17"))
		eventuallyReady(ctx, dojo)
	})
})

func schemaPod(ctx context.Context, namespace string) corev1.Pod {
	GinkgoHelper()
	var pods corev1.PodList
	Expect(k8s.List(ctx, &pods, client.InNamespace(namespace),
		client.MatchingLabels{"app.kubernetes.io/name": "dojo-schema"})).To(Succeed())
	Expect(pods.Items).To(HaveLen(1))
	return pods.Items[0]
}

func endSchemaPod(ctx context.Context, namespace string, state corev1.ContainerStateTerminated) {
	GinkgoHelper()
	Eventually(ctx, func(ctx context.Context) error {
		var pods corev1.PodList
		if err := k8s.List(ctx, &pods, client.InNamespace(namespace),
			client.MatchingLabels{"app.kubernetes.io/name": "dojo-schema"}); err != nil {
			return err
		}
		if len(pods.Items) == 0 {
			return errors.New("the Job has no pod yet")
		}
		pod := &pods.Items[0]
		pod.Status.Phase = corev1.PodFailed
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "dojo-schema", State: corev1.ContainerState{Terminated: &state},
		}}
		return k8s.Status().Update(ctx, pod)
	}).Should(Succeed())
}
