// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
)

var _ = Describe("A Dojo with a database in an existing Cluster", func() {
	var ns string
	BeforeEach(func(ctx context.Context) { ns = newNamespace(ctx) })

	It("gets a role, a database, a schema, and a Secret with the credentials of the database", func(ctx context.Context) {
		dojo := dojoInCluster(ctx, ns, replicas(2))
		name := strings.ReplaceAll("dojo_"+ns+"_tokyo", "-", "_")
		Expect(dojo.Status.Database).To(HaveValue(Equal(corev1api.DatabaseStatus{
			ClusterName: "pg", Name: name, Host: "pg-rw", ReadOnlyHost: "pg-ro", Login: name,
			Version: "17", Instances: "2/2", Primary: "pg-1",
		})))
		Expect(dojo).To(HaveCondition("DatabaseReady", "True", "Ready"))

		secret := secretOf(dojo)
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(secret), secret)).To(Succeed())
		Expect(secret.Data).To(Equal(map[string][]byte{
			"DB_ENDPOINT": []byte("pg-rw"), "DB_PORT": []byte("5432"), "DB_NAME": []byte(name), "DB_USER": []byte(name),
			"DB_READONLY_ENDPOINT": []byte("pg-ro"),
			"DB_PASS":              []byte(databasePassword(ctx, dojo)),
		}))
		role, database := ofKind("DatabaseRole", ns, "tokyo-db"), ofKind("Database", ns, "tokyo-db")
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(role), role)).To(Succeed())
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(database), database)).To(Succeed())
		Expect(field(role, "spec.databaseRoleReclaimPolicy")).To(Equal("retain"))
		Expect(field(role, "spec.superuser")).To(BeNil(), "the owner of a database is no superuser")
		Expect(field(database, "spec.databaseReclaimPolicy")).To(Equal("retain"))
		Expect(field(database, "spec.owner")).To(Equal(name))

		jobs := schemaJobs(ctx, dojo)
		Expect(jobs).To(HaveLen(1))
		Expect(jobs[0].Spec.Template.Spec.Containers[0].Image).
			To(Equal("registry.example.org/postgres:17"), "the Job uses the image of the Cluster")
	})

	It("is created without a repeated write and without a write to the Cluster, "+
		"and causes no write after a restart of the operator", func(ctx context.Context) {
		pg := existingCluster(ctx, ns, "pg")
		Eventually(ctx, refetch(pg)).Should(haveField("status.readyInstances", Equal(int64(2))))
		operatorSeesClusters(ctx) // otherwise the first step could be the wait for the Cluster
		steps := stepsOf(ctx, ns)
		dojo := newDojo(ns, "tokyo", inCluster, replicas(2))
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		eventuallyReady(ctx, dojo)
		Eventually(steps).Should(Equal([]string{
			"CreatingRole / CreatingRole", "CreatingDatabase / CreatingDatabase",
			"ApplyingSchema / ApplyingSchema", "Ready / RollingOut", "Ready / Reconciled",
		}))
		job := schemaJobs(ctx, dojo)[0].Name
		writes := operator.WritesAtRest(ns)
		AddReportEntry("writes of a Dojo with postgres.clusterRef", writes)
		Expect(withoutStatus(writes)).To(ConsistOf(
			"create secrets/tokyo-db", "create databaseroles/tokyo-db",
			"create databases/tokyo-db", "patch databases/tokyo-db", "create jobs/"+job,
			"create secrets/tokyo-credentials", "create deployments/tokyo", "create services/tokyo",
			"create poddisruptionbudgets/tokyo"))
		// A rollout may write three statuses: with no, with some and with all pods ready.
		Expect(len(writes)-len(withoutStatus(writes))).To(BeNumerically("<=", 7), "one status for each step, and Ready")

		By("restarting the operator")
		operator.Restart(ctx)
		eventuallyReady(ctx, dojo)
		Consistently(func() []string { return operator.Writes(ns)[len(writes):] }).
			Should(BeEmpty(), "a restart should not cause a write")
	})

	It("waits for the Cluster, and is Degraded "+
		"if the Cluster is still missing after the deadline", func(ctx context.Context) {
		cloudNativePG.Pause(ns, "pg")
		dojo := newDojo(ns, "tokyo", inCluster)
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		Eventually(ctx, refetch(dojo)).Should(HaveCondition("DatabaseReady", "False", corev1api.ReasonWaitingForCluster))
		Expect(dojo).To(HaveCondition("Progressing", "True", corev1api.ReasonWaitingForCluster))
		eventuallyDegraded(ctx, dojo, corev1api.ReasonClusterNotFound)
		Expect(dojo).To(HaveCondition("DatabaseReady", "False", corev1api.ReasonClusterNotFound))
		Expect(message(dojo, "Degraded")).To(ContainSubstring("The Cluster " + ns + "/pg of CloudNativePG does not exist"))

		pg := existingCluster(ctx, ns, "pg")
		Eventually(ctx, refetch(dojo)).Should(HaveCondition("DatabaseReady", "False", corev1api.ReasonWaitingForCluster))
		Expect(message(dojo, "DatabaseReady")).To(ContainSubstring("0 of 2 instances"))
		Expect(k8s.Get(ctx, nameOf(ns, "tokyo"), deploymentOf(dojo))).NotTo(Succeed(), "pods would fail without a database")

		setClusterStatus(ctx, pg, map[string]any{
			"phase": "Waiting for the instances to become active", "readyInstances": int64(1),
			"currentPrimary": "pg-1", "targetPrimary": "pg-1", "instancesStatus": map[string]any{"healthy": []any{"pg-1"}},
			"image": "postgres:17",
		})
		Eventually(ctx, refetch(dojo)).Should(HaveCondition("DatabaseReady", "False", corev1api.ReasonCreatingRole))
		cloudNativePG.Resume(ns, "pg")
		eventuallyReady(ctx, dojo)
	})

	It("uses no Cluster of another namespace", func(ctx context.Context) {
		existingCluster(ctx, newNamespace(ctx), "pg")
		dojo := newDojo(ns, "tokyo", inCluster)
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		eventuallyDegraded(ctx, dojo, corev1api.ReasonClusterNotFound)
	})

	It("does not adopt another client's Database or Secret of the expected name", func(ctx context.Context) {
		existingCluster(ctx, ns, "pg")
		theirs := ofKind("Database", ns, "tokyo-db")
		theirs.Object["spec"] = map[string]any{"cluster": map[string]any{"name": "pg"}, "name": "theirs", "owner": "app"}
		Expect(k8s.Create(ctx, theirs)).To(Succeed())
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "kyoto-db"}, StringData: map[string]string{"a": "b"},
		}
		Expect(k8s.Create(ctx, secret)).To(Succeed())
		for _, name := range []string{"tokyo", "kyoto"} {
			dojo := newDojo(ns, name, inCluster)
			Expect(k8s.Create(ctx, dojo)).To(Succeed())
			eventuallyDegraded(ctx, dojo, corev1api.ReasonNameConflict)
		}
		Expect(slices.DeleteFunc(operator.Writes(ns),
			func(write string) bool { return strings.HasSuffix(write, "/status") })).To(BeEmpty())
		By("deleting the other client's Database")
		Expect(k8s.Delete(ctx, theirs)).To(Succeed())
		eventuallyReady(ctx, newDojo(ns, "tokyo"))
	})

	It("reports an error of CloudNativePG, "+
		"and is Degraded if the error persists after the deadline", func(ctx context.Context) {
		dojo, _ := refusedRole(ctx, ns, `"tokyo" is already managed by object "other"`)
		Eventually(ctx, refetch(dojo)).Should(haveMessage("DatabaseReady", ContainSubstring("is already managed by object")))
		Expect(dojo).To(HaveCondition("Progressing", "True", corev1api.ReasonCreatingRole), "it may still succeed")
		eventuallyDegraded(ctx, dojo, corev1api.ReasonDatabaseFailed)
		Expect(message(dojo, "Degraded")).To(ContainSubstring(`"tokyo" is already managed by object "other"`))
		cloudNativePG.Resume(ns, "pg")
		eventuallyReady(ctx, dojo)
	})

	It("corrects its objects when another client edits them", func(ctx context.Context) {
		dojo := dojoInCluster(ctx, ns)
		role, database := ofKind("DatabaseRole", ns, "tokyo-db"), ofKind("Database", ns, "tokyo-db")
		edit(ctx, role, func(o *unstructured.Unstructured) {
			Expect(unstructured.SetNestedField(o.Object, false, "spec", "login")).To(Succeed())
			Expect(unstructured.SetNestedField(o.Object, int64(5), "spec", "connectionLimit")).To(Succeed())
		})
		edit(ctx, database, func(o *unstructured.Unstructured) {
			Expect(unstructured.SetNestedField(o.Object, "delete", "spec", "databaseReclaimPolicy")).To(Succeed())
		})
		Eventually(ctx, refetch(role)).
			Should(haveField("spec.login", BeTrue()))
		Expect(field(role, "spec.connectionLimit")).To(Equal(int64(5)), "a field of another client should stay")
		Eventually(ctx, refetch(database)).Should(
			haveField("spec.databaseReclaimPolicy", Equal("retain")))
		eventuallyReady(ctx, dojo)
		Eventually(ctx, eventsOf(dojo)).Should(ContainElement("Normal DriftCorrected"))
	})

	It("annotates the DatabaseRole once, so that CloudNativePG retries, "+
		"if CloudNativePG could not read the password", func(ctx context.Context) {
		dojo, role := refusedRole(ctx, ns, `secrets "tokyo-db" is forbidden: User "pg" cannot get resource "secrets"`)
		Eventually(ctx, refetch(role)).Should(HaveField("GetAnnotations()", HaveKey("core.jutsu.com/asked-again")))
		cloudNativePG.Resume(ns, "pg")
		eventuallyReady(ctx, dojo)
		Expect(eventsOf(dojo)(ctx)).NotTo(ContainElement("Normal DriftCorrected"))
		Expect(refetch(role)(ctx)).
			To(HaveField("GetAnnotations()", HaveKey("core.jutsu.com/asked-again")), "the annotation stays")
		before := role.GetAnnotations()
		Consistently(ctx, refetch(role)).Should(HaveField("GetAnnotations()", before), "one write is enough")
	})

	It("is Degraded and not Available while the Cluster hibernates, and keeps its Deployment", func(ctx context.Context) {
		dojo := dojoInCluster(ctx, ns)
		pg := ofKind("Cluster", ns, "pg")
		edit(ctx, pg,
			func(o *unstructured.Unstructured) { o.SetAnnotations(map[string]string{"cnpg.io/hibernation": "on"}) })
		eventuallyDegraded(ctx, dojo, corev1api.ReasonClusterHibernated)
		Expect(dojo).To(And(HaveCondition("Available", "False", corev1api.ReasonDatabaseUnreachable),
			haveMessage("Available", Equal("Requests cannot reach Postgres: the Cluster "+ns+"/pg is hibernated."))))
		edit(ctx, dojo, replicas(3))
		Eventually(ctx, refetch(deploymentOf(dojo))).
			Should(HaveField("Spec.Replicas", HaveValue(Equal(int32(3)))), "the Deployment is still reconciled")
		edit(ctx, pg, func(o *unstructured.Unstructured) { o.SetAnnotations(nil) })
		eventuallyReady(ctx, dojo)
	})
})

var _ = Describe("The password of a Dojo's database", func() {
	var ns string
	BeforeEach(func(ctx context.Context) { ns = newNamespace(ctx) })

	rotations := map[string]func(context.Context, *corev1api.Dojo){
		"its Secret is deleted": func(ctx context.Context, dojo *corev1api.Dojo) {
			Expect(k8s.Delete(ctx, passwordSecretOf(dojo))).To(Succeed())
		},
		"another client writes a password into its Secret": func(ctx context.Context, dojo *corev1api.Dojo) {
			edit(ctx, passwordSecretOf(dojo), func(s *corev1.Secret) { s.Data["password"] = []byte(newPassword()) })
		},
	}
	for when, rotate := range rotations {
		It("changes when "+when+", and the pods get the new password once Postgres has it", func(ctx context.Context) {
			dojo := dojoInCluster(ctx, ns, replicas(2))
			old := databasePassword(ctx, dojo)
			before, err := runningPods(dojo)(ctx)
			Expect(err).NotTo(HaveOccurred())
			cloudNativePG.Pause(ns, "pg")
			rotate(ctx, dojo)
			Eventually(ctx, refetch(dojo)).Should(HaveCondition("DatabaseReady", "False", corev1api.ReasonCreatingRole))
			fresh := databasePassword(ctx, dojo)
			Expect(fresh).NotTo(Equal(old))
			Consistently(ctx, podPassword(dojo)).Should(Equal(old), "Postgres does not have the new one yet")

			cloudNativePG.Resume(ns, "pg")
			Eventually(ctx, podPassword(dojo)).Should(Equal(fresh))
			Eventually(ctx, runningPods(dojo)).
				Should(And(HaveLen(2), Not(ContainElement(before[0])), Not(ContainElement(before[1]))))
			eventuallyReady(ctx, dojo)
			Eventually(ctx, eventsOf(dojo)).Should(ContainElement("Normal CredentialsRotated"))
			Expect(schemaJobs(ctx, dojo)).To(HaveLen(1), "the schema does not depend on the password")
		})
	}

	It("does not change when the rotation annotation is removed "+
		"or other fields of its Secret are edited", func(ctx context.Context) {
		dojo := dojoInCluster(ctx, ns, func(dojo *corev1api.Dojo) {
			dojo.Annotations = map[string]string{corev1api.RotatePasswordAnnotation: "1"}
		})
		password := databasePassword(ctx, dojo)
		edit(ctx, dojo, func(dojo *corev1api.Dojo) { dojo.Annotations = nil })
		edit(ctx, passwordSecretOf(dojo),
			func(s *corev1.Secret) { delete(s.Labels, "cnpg.io/reload"); s.Data["note"] = []byte("theirs") })
		Eventually(ctx, refetch(passwordSecretOf(dojo))).
			Should(HaveField("Labels", HaveKeyWithValue("cnpg.io/reload", "true")))
		eventuallyReady(ctx, dojo)
		edit(ctx, dojo, func(dojo *corev1api.Dojo) {
			dojo.Annotations = map[string]string{corev1api.RotatePasswordAnnotation: "1"}
		})
		Consistently(ctx, podPassword(dojo)).Should(Equal(password))
		Expect(databasePassword(ctx, dojo)).To(Equal(password))
	})
})

func setClusterStatus(ctx context.Context, o *unstructured.Unstructured, status map[string]any) {
	GinkgoHelper()
	Eventually(ctx, func(ctx context.Context) error {
		if err := k8s.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		o.Object["status"] = status
		return k8s.Status().Update(ctx, o)
	}).Should(Succeed())
}

func refusedRole(ctx context.Context, namespace, message string) (*corev1api.Dojo, *unstructured.Unstructured) {
	GinkgoHelper()
	pg := existingCluster(ctx, namespace, "pg")
	cloudNativePG.Pause(namespace, "pg")
	setClusterStatus(ctx, pg, map[string]any{
		"readyInstances": int64(2), "currentPrimary": "pg-1", "targetPrimary": "pg-1",
		"instancesStatus": map[string]any{"healthy": []any{"pg-1", "pg-2"}}, "image": "postgres:17",
	})
	dojo := newDojo(namespace, "tokyo", inCluster)
	Expect(k8s.Create(ctx, dojo)).To(Succeed())
	role := ofKind("DatabaseRole", namespace, "tokyo-db")
	Eventually(ctx, func(ctx context.Context) error {
		if err := k8s.Get(ctx, client.ObjectKeyFromObject(role), role); err != nil {
			return err
		}
		role.Object["status"] = map[string]any{"applied": false, "message": message}
		return k8s.Status().Update(ctx, role)
	}).Should(Succeed())
	return dojo, role
}
