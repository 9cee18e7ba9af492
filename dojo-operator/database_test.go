package main_test

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

var _ = Describe("A Dojo with a database in a standing Cluster", func() {
	var ns string
	BeforeEach(func(ctx context.Context) { ns = newNamespace(ctx) })

	It("gets a role, a database and a schema, and its pods the credentials", func(ctx context.Context) {
		d := dojoInCluster(ctx, ns, replicas(2))
		name := strings.ReplaceAll("dojo_"+ns+"_tokyo", "-", "_")
		Expect(d.Status.Database).To(HaveValue(Equal(corev1api.DatabaseStatus{ClusterName: "pg", Name: name, Host: "pg-rw"})))
		Expect(d).To(HaveCondition("DatabaseReady", "True", "Ready"))

		secret := secretOf(d)
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(secret), secret)).To(Succeed())
		Expect(secret.Data).To(Equal(map[string][]byte{
			"DB_ENDPOINT": []byte("pg-rw"), "DB_PORT": []byte("5432"), "DB_NAME": []byte(name), "DB_USER": []byte(name),
			"DB_PASS": []byte(databasePassword(ctx, d)),
		}))
		role, database := ofKind("DatabaseRole", ns, "tokyo-db"), ofKind("Database", ns, "tokyo-db")
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(role), role)).To(Succeed())
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(database), database)).To(Succeed())
		Expect(field(role, "spec.databaseRoleReclaimPolicy")).To(Equal("retain"))
		Expect(field(role, "spec.superuser")).To(BeNil(), "the owner of a database is nobody's superuser")
		Expect(field(database, "spec.databaseReclaimPolicy")).To(Equal("retain"))
		Expect(field(database, "spec.owner")).To(Equal(name))

		jobs := schemaJobs(ctx, d)
		Expect(jobs).To(HaveLen(1))
		Expect(jobs[0].Spec.Template.Spec.Containers[0].Image).To(Equal("registry.example.org/postgres:17"), "psql is that of the Cluster")
	})

	It("costs each write once, touches no Cluster that is not its own, and costs nothing once it is settled", func(ctx context.Context) {
		told := stepsOf(ctx, ns)
		d := dojoInCluster(ctx, ns, replicas(2))
		Eventually(told).Should(Equal([]string{
			"CreatingRole / CreatingRole", "CreatingDatabase / CreatingDatabase",
			"ApplyingSchema / ApplyingSchema", "Ready / RollingOut", "Ready / Settled",
		}))
		job := schemaJobs(ctx, d)[0].Name
		writes := operator.WritesAtRest(ns)
		AddReportEntry("writes of a Dojo with postgres.clusterRef", writes)
		Expect(withoutStatus(writes)).To(ConsistOf(
			"patch secrets/tokyo-db", "patch databaseroles/tokyo-db", "patch databases/tokyo-db", "patch jobs/"+job,
			"patch secrets/tokyo-credentials", "patch deployments/tokyo", "patch services/tokyo", "patch poddisruptionbudgets/tokyo"))
		Expect(len(writes)-len(withoutStatus(writes))).To(BeNumerically("<=", 6), "one status for each step, and Ready")

		By("restarting the operator")
		operator.Restart(ctx)
		eventuallyReady(ctx, d)
		Consistently(func() []string { return operator.Writes(ns)[len(writes):] }).Should(BeEmpty(), "a restart is no reason to write")
	})

	It("waits for a Cluster that comes late, tells each step, and needs somebody when it never comes", func(ctx context.Context) {
		cloudNativePG.Pause(ns, "pg")
		d := newDojo(ns, "tokyo", inCluster)
		Expect(k8s.Create(ctx, d)).To(Succeed())
		Eventually(ctx, refetch(d)).Should(HaveCondition("DatabaseReady", "False", corev1api.ReasonWaitingForCluster))
		Expect(d).To(HaveCondition("Progressing", "True", corev1api.ReasonWaitingForCluster))
		eventuallyDegraded(ctx, d, corev1api.ReasonClusterNotFound)
		Expect(d).To(HaveCondition("DatabaseReady", "False", corev1api.ReasonClusterNotFound))
		Expect(message(d, "Degraded")).To(ContainSubstring("The Cluster " + ns + "/pg of CloudNativePG does not exist"))

		pg := standingCluster(ctx, ns, "pg")
		Eventually(ctx, refetch(d)).Should(HaveCondition("DatabaseReady", "False", corev1api.ReasonWaitingForCluster))
		Expect(message(d, "DatabaseReady")).To(ContainSubstring("0 of 2 instances"))
		Expect(k8s.Get(ctx, nameOf(ns, "tokyo"), deploymentOf(d))).NotTo(Succeed(), "pods without a database would only fail")

		setClusterStatus(ctx, pg, map[string]any{
			"phase": "Waiting for the instances to become active", "readyInstances": int64(1), "currentPrimary": "pg-1", "image": "postgres:17",
		})
		Eventually(ctx, refetch(d)).Should(HaveCondition("DatabaseReady", "False", corev1api.ReasonCreatingRole))
		cloudNativePG.Resume(ns, "pg")
		eventuallyReady(ctx, d)
	})

	It("finds no Cluster of another namespace", func(ctx context.Context) {
		standingCluster(ctx, newNamespace(ctx), "pg")
		d := newDojo(ns, "tokyo", inCluster)
		Expect(k8s.Create(ctx, d)).To(Succeed())
		eventuallyDegraded(ctx, d, corev1api.ReasonClusterNotFound)
	})

	It("leaves a stranger's objects alone", func(ctx context.Context) {
		standingCluster(ctx, ns, "pg")
		theirs := ofKind("Database", ns, "tokyo-db")
		theirs.Object["spec"] = map[string]any{"cluster": map[string]any{"name": "pg"}, "name": "theirs", "owner": "app"}
		Expect(k8s.Create(ctx, theirs)).To(Succeed())
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "kyoto-db"}, StringData: map[string]string{"a": "b"}}
		Expect(k8s.Create(ctx, secret)).To(Succeed())
		for _, name := range []string{"tokyo", "kyoto"} {
			d := newDojo(ns, name, inCluster)
			Expect(k8s.Create(ctx, d)).To(Succeed())
			eventuallyDegraded(ctx, d, corev1api.ReasonNameTaken)
		}
		Expect(slices.DeleteFunc(operator.Writes(ns), func(write string) bool { return strings.HasSuffix(write, "/status") })).To(BeEmpty())
		By("going on once the name is free")
		Expect(k8s.Delete(ctx, theirs)).To(Succeed())
		eventuallyReady(ctx, newDojo(ns, "tokyo"))
	})

	It("says what CloudNativePG cannot do, after a grace", func(ctx context.Context) {
		d, _ := refusedRole(ctx, ns, `"tokyo" is already managed by object "other"`)
		Eventually(ctx, func(ctx context.Context) string {
			_, _ = refetch(d)(ctx)
			return message(d, "DatabaseReady")
		}).Should(ContainSubstring("is already managed by object"))
		Expect(d).To(HaveCondition("Progressing", "True", corev1api.ReasonCreatingRole), "it may pass")
		eventuallyDegraded(ctx, d, corev1api.ReasonDatabaseFailed)
		Expect(message(d, "Degraded")).To(ContainSubstring(`"tokyo" is already managed by object "other"`))
		cloudNativePG.Resume(ns, "pg")
		eventuallyReady(ctx, d)
	})

	It("goes back to what it was when somebody edits it", func(ctx context.Context) {
		d := dojoInCluster(ctx, ns)
		role, database := ofKind("DatabaseRole", ns, "tokyo-db"), ofKind("Database", ns, "tokyo-db")
		edit(ctx, role, func(o *unstructured.Unstructured) {
			Expect(unstructured.SetNestedField(o.Object, false, "spec", "login")).To(Succeed())
			Expect(unstructured.SetNestedField(o.Object, int64(5), "spec", "connectionLimit")).To(Succeed())
		})
		edit(ctx, database, func(o *unstructured.Unstructured) {
			Expect(unstructured.SetNestedField(o.Object, "delete", "spec", "databaseReclaimPolicy")).To(Succeed())
		})
		Eventually(ctx, refetch(role)).Should(WithTransform(func(o *unstructured.Unstructured) any { return field(o, "spec.login") }, BeTrue()))
		Expect(field(role, "spec.connectionLimit")).To(Equal(int64(5)), "what others add stays")
		Eventually(ctx, refetch(database)).Should(
			WithTransform(func(o *unstructured.Unstructured) any { return field(o, "spec.databaseReclaimPolicy") }, Equal("retain")))
		eventuallyReady(ctx, d)
		Eventually(ctx, eventsOf(d)).Should(ContainElement("Normal Corrected"))
	})

	It("does not wait for CloudNativePG's next try when that could not read the password of a new role yet", func(ctx context.Context) {
		d, role := refusedRole(ctx, ns, `secrets "tokyo-db" is forbidden: User "pg" cannot get resource "secrets"`)
		Eventually(ctx, refetch(role)).Should(HaveField("GetAnnotations()", HaveKey("core.jutsu.com/asked-again")))
		cloudNativePG.Resume(ns, "pg")
		eventuallyReady(ctx, d)
		Expect(eventsOf(d)(ctx)).NotTo(ContainElement("Normal Corrected"))
		Expect(refetch(role)(ctx)).To(HaveField("GetAnnotations()", HaveKey("core.jutsu.com/asked-again")), "the mark stays")
		asked := role.GetAnnotations()
		Consistently(ctx, refetch(role)).Should(HaveField("GetAnnotations()", asked), "it is not asked again")
	})

	It("goes on serving while the Cluster is away, and says so", func(ctx context.Context) {
		d := dojoInCluster(ctx, ns)
		pg := ofKind("Cluster", ns, "pg")
		edit(ctx, pg, func(o *unstructured.Unstructured) { o.SetAnnotations(map[string]string{"cnpg.io/hibernation": "on"}) })
		eventuallyDegraded(ctx, d, corev1api.ReasonClusterHibernated)
		Expect(d).To(HaveCondition("Available", "True", ""))
		edit(ctx, d, replicas(3))
		Eventually(ctx, refetch(deploymentOf(d))).Should(HaveField("Spec.Replicas", HaveValue(Equal(int32(3)))), "what runs is still looked after")
		edit(ctx, pg, func(o *unstructured.Unstructured) { o.SetAnnotations(nil) })
		eventuallyReady(ctx, d)
	})
})

var _ = Describe("The password of a Dojo's database", func() {
	var ns string
	BeforeEach(func(ctx context.Context) { ns = newNamespace(ctx) })

	rotations := map[string]func(context.Context, *corev1api.Dojo){
		"its Secret is deleted": func(ctx context.Context, d *corev1api.Dojo) {
			Expect(k8s.Delete(ctx, passwordSecretOf(d))).To(Succeed())
		},
		"the Dojo asks for it": func(ctx context.Context, d *corev1api.Dojo) {
			edit(ctx, d, func(d *corev1api.Dojo) {
				metav1.SetMetaDataAnnotation(&d.ObjectMeta, corev1api.RotatePasswordAnnotation, "1")
			})
		},
		"somebody writes another": func(ctx context.Context, d *corev1api.Dojo) {
			edit(ctx, passwordSecretOf(d), func(s *corev1.Secret) { s.Data["password"] = []byte(newPassword()) })
		},
	}
	for when, rotate := range rotations {
		It("changes when "+when+", and the pods follow once Postgres has it", func(ctx context.Context) {
			d := dojoInCluster(ctx, ns, replicas(2))
			old := databasePassword(ctx, d)
			before, err := runningPods(d)(ctx)
			Expect(err).NotTo(HaveOccurred())
			cloudNativePG.Pause(ns, "pg")
			rotate(ctx, d)
			Eventually(ctx, refetch(d)).Should(HaveCondition("DatabaseReady", "False", corev1api.ReasonCreatingRole))
			fresh := databasePassword(ctx, d)
			Expect(fresh).NotTo(Equal(old))
			Consistently(ctx, passedOn(d)).Should(Equal(old), "Postgres does not know the new one yet")

			cloudNativePG.Resume(ns, "pg")
			Eventually(ctx, passedOn(d)).Should(Equal(fresh))
			Eventually(ctx, runningPods(d)).Should(And(HaveLen(2), Not(ContainElement(before[0])), Not(ContainElement(before[1]))))
			eventuallyReady(ctx, d)
			Eventually(ctx, eventsOf(d)).Should(ContainElement("Normal CredentialsRotated"))
			Expect(schemaJobs(ctx, d)).To(HaveLen(1), "the schema has nothing to do with it")
		})
	}

	It("does not change when the wish is taken back or something else is edited", func(ctx context.Context) {
		d := dojoInCluster(ctx, ns, func(d *corev1api.Dojo) {
			d.Annotations = map[string]string{corev1api.RotatePasswordAnnotation: "1"}
		})
		password := databasePassword(ctx, d)
		edit(ctx, d, func(d *corev1api.Dojo) { d.Annotations = nil })
		edit(ctx, passwordSecretOf(d), func(s *corev1.Secret) { delete(s.Labels, "cnpg.io/reload"); s.Data["note"] = []byte("theirs") })
		Eventually(ctx, refetch(passwordSecretOf(d))).Should(HaveField("Labels", HaveKeyWithValue("cnpg.io/reload", "true")))
		eventuallyReady(ctx, d)
		edit(ctx, d, func(d *corev1api.Dojo) { d.Annotations = map[string]string{corev1api.RotatePasswordAnnotation: "1"} })
		Consistently(ctx, passedOn(d)).Should(Equal(password))
		Expect(databasePassword(ctx, d)).To(Equal(password))
	})
})

// setClusterStatus writes a Cluster's status where the stand-in is paused.
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

// refusedRole is a new Dojo whose role CloudNativePG cannot bring into Postgres, as it says; and it does nothing more until it is resumed.
func refusedRole(ctx context.Context, namespace, says string) (*corev1api.Dojo, *unstructured.Unstructured) {
	GinkgoHelper()
	pg := standingCluster(ctx, namespace, "pg")
	cloudNativePG.Pause(namespace, "pg")
	setClusterStatus(ctx, pg, map[string]any{"readyInstances": int64(2), "currentPrimary": "pg-1", "image": "postgres:17"})
	d := newDojo(namespace, "tokyo", inCluster)
	Expect(k8s.Create(ctx, d)).To(Succeed())
	role := ofKind("DatabaseRole", namespace, "tokyo-db")
	Eventually(ctx, func(ctx context.Context) error {
		if err := k8s.Get(ctx, client.ObjectKeyFromObject(role), role); err != nil {
			return err
		}
		role.Object["status"] = map[string]any{"applied": false, "message": says}
		return k8s.Status().Update(ctx, role)
	}).Should(Succeed())
	return d, role
}
