// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/test/testcluster/cnpgtest"
)

// kwok simulates the nodes. It ends a Job's pods at once, except with a registry.invalid image.
const (
	imageOne, imageTwo    = "registry.example.org/dojo:1", "registry.example.org/dojo:2"
	heldImage, heldImage2 = "registry.invalid/dojo:2", "registry.invalid/dojo:3"
	migrateImage          = "registry.example.org/dojo-migrate:1"
)

func withImage(image string) func(*corev1api.Dojo) {
	return func(dojo *corev1api.Dojo) { dojo.Spec.Image = image }
}

func withRelease(dojo *corev1api.Dojo) {
	dojo.Spec.Image = imageOne
	dojo.Spec.Release = &corev1api.Release{Command: []string{"/app/migrate", "up"}}
}

func withMigrations(dojo *corev1api.Dojo) {
	dojo.Spec.Image = imageOne
	dojo.Spec.Release = &corev1api.Release{Migrations: &corev1api.Migrations{
		ConfigMapRefs: []corev1api.ConfigMapReference{{Name: "tables"}, {Name: "indexes"}},
	}}
}

func retried(value string) func(*corev1api.Dojo) {
	return func(dojo *corev1api.Dojo) {
		metav1.SetMetaDataAnnotation(&dojo.ObjectMeta, corev1api.RetryReleaseAnnotation, value)
	}
}

func releaseJobs(ctx context.Context, namespace string) []batchv1.Job {
	GinkgoHelper()
	var jobs batchv1.JobList
	Expect(k8s.List(ctx, &jobs, client.InNamespace(namespace),
		client.MatchingLabels{"app.kubernetes.io/name": "dojo-release"})).To(Succeed())
	return jobs.Items
}

func eventuallyOneRelease(ctx context.Context, namespace, image string) *batchv1.Job {
	GinkgoHelper()
	var job *batchv1.Job
	Eventually(ctx, func(ctx context.Context) []batchv1.Job {
		jobs := releaseJobs(ctx, namespace)
		if len(jobs) == 1 {
			job = &jobs[0]
		}
		return jobs
	}).WithTimeout(untilReady).Should(HaveExactElements(HaveField("Spec.Template.Spec.Containers", HaveExactElements(HaveField("Image", image)))))
	return job
}

func releasePods(ctx context.Context, namespace string) []corev1.Pod {
	GinkgoHelper()
	var pods corev1.PodList
	Expect(k8s.List(ctx, &pods, client.InNamespace(namespace),
		client.MatchingLabels{"app.kubernetes.io/name": "dojo-release"})).To(Succeed())
	return pods.Items
}

func playRelease(ctx context.Context, job *batchv1.Job, phase corev1.PodPhase, state corev1.ContainerState) {
	GinkgoHelper()
	Eventually(ctx, func(ctx context.Context) error {
		for _, pod := range releasePods(ctx, job.Namespace) {
			if !metav1.IsControlledBy(&pod, job) || pod.Status.PodIP == "" {
				continue // kwok has not written the pod's status yet
			}
			pod.Status.Phase = phase
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "release", Image: "x", State: state}}
			return k8s.Status().Update(ctx, &pod)
		}
		return errors.New("the Job has no pod yet")
	}).Should(Succeed())
}

// runRelease leaves the pod Pending, because kwok would end a running pod.
func runRelease(ctx context.Context, job *batchv1.Job) {
	GinkgoHelper()
	playRelease(ctx, job, corev1.PodPending, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}})
}

func endRelease(ctx context.Context, job *batchv1.Job, code int32, message string) {
	GinkgoHelper()
	phase := corev1.PodSucceeded
	if code != 0 {
		phase = corev1.PodFailed
	}
	playRelease(ctx, job, phase, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: code, Message: message, StartedAt: metav1.Now(), FinishedAt: metav1.Now(),
	}})
}

func imageOf(dojo *corev1api.Dojo) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		live, err := refetch(deploymentOf(dojo))(ctx)
		if err != nil {
			return "", err
		}
		return live.Spec.Template.Spec.Containers[0].Image, nil
	}
}

func releasesCreated(namespace string) (names []string) {
	for _, write := range operator.Writes(namespace) {
		if name, found := strings.CutPrefix(write, "create jobs/"); found && strings.Contains(name, "-release-") {
			names = append(names, name)
		}
	}
	return names
}

var _ = Describe("The release step of a Dojo", func() {
	var ns string
	BeforeEach(func(ctx context.Context) { ns = newNamespace(ctx) })

	succeededBefore := func(ctx context.Context, change ...func(*corev1api.Dojo)) *corev1api.Dojo {
		GinkgoHelper()
		dojo := runningDojo(ctx, ns, append([]func(*corev1api.Dojo){withRelease}, change...)...)
		Expect(dojo.Status.Release).To(HaveValue(HaveField("Image", imageOne)))
		return dojo
	}

	It("runs once for each image, before the image's first pod, "+
		"and not again after a return to that image", func(ctx context.Context) {
		dojo := succeededBefore(ctx, func(dojo *corev1api.Dojo) {
			dojo.Spec.Env = []corev1.EnvVar{{Name: "MOOD", Value: "calm"}}
		})
		job := eventuallyOneRelease(ctx, ns, imageOne)
		c := job.Spec.Template.Spec.Containers[0]
		Expect(c.Command).To(Equal([]string{"/app/migrate", "up"}))
		Expect(c.Env).To(ContainElements(HaveField("Name", "MOOD"), HaveField("Name", "DB_PASS")))
		Expect(dojo.Status.Release.FinishedAt).NotTo(BeNil())
		Expect(deploymentOf(dojo)).To(Satisfy(func(o client.Object) bool {
			return k8s.Get(ctx, client.ObjectKeyFromObject(o), o) == nil &&
				!o.GetCreationTimestamp().Time.Before(job.CreationTimestamp.Time)
		}), "the Deployment comes after the step")

		By("setting another image")
		edit(ctx, dojo, withImage(imageTwo))
		Eventually(ctx, imageOf(dojo)).Should(Equal(imageTwo))
		eventuallyReady(ctx, dojo)
		Expect(releasesCreated(ns)).To(HaveLen(2))
		eventuallyOneRelease(ctx, ns, imageTwo)

		By("scaling, restarting the operator and deleting the Job")
		edit(ctx, dojo, replicas(3))
		eventuallyReady(ctx, dojo)
		operator.Restart(ctx)
		Expect(k8s.DeleteAllOf(ctx, &batchv1.Job{}, client.InNamespace(ns), client.PropagationPolicy("Background"))).To(Succeed())
		Eventually(ctx, func(ctx context.Context) []batchv1.Job { return releaseJobs(ctx, ns) }).Should(BeEmpty())
		eventuallyReady(ctx, dojo)

		By("setting the first image again")
		edit(ctx, dojo, withImage(imageOne))
		Eventually(ctx, imageOf(dojo)).Should(Equal(imageOne))
		eventuallyReady(ctx, dojo)
		Expect(dojo.Status.Release.Message).To(ContainSubstring("Nothing migrates the database down"))
		Eventually(ctx, eventsOf(dojo)).Should(ContainElement("Normal NotMigratedDown"))
		edit(ctx, dojo, retried("after a success"))
		writes := len(operator.WritesAtRest(ns))
		Consistently(func() []string { return operator.Writes(ns)[writes:] }).Should(BeEmpty())
		Expect(releasesCreated(ns)).To(HaveLen(2))
	})

	It("keeps the old pods if it fails, reports the last line of its log without Secret values, "+
		"and can be retried", func(ctx context.Context) {
		Expect(k8s.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "tokens"},
			StringData: map[string]string{"token": secrets.Add("infinity-of-gojo")}})).To(Succeed())
		dojo := succeededBefore(ctx, func(dojo *corev1api.Dojo) {
			dojo.Spec.EnvFrom = []corev1api.EnvFromSource{{SecretRef: &corev1api.VolumeSource{Name: "tokens"}}}
		})
		own := secretOf(dojo)
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(own), own)).To(Succeed())
		before := deploymentOf(dojo)
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(before), before)).To(Succeed())
		edit(ctx, dojo, func(dojo *corev1api.Dojo) {
			dojo.Spec.Image, dojo.Spec.Env = heldImage, []corev1.EnvVar{{Name: "MOOD", Value: "angry"}}
		})
		job := eventuallyOneRelease(ctx, ns, heldImage)
		runRelease(ctx, job)
		Eventually(ctx, refetch(dojo)).Should(HaveCondition("Progressing", "True", corev1api.ReasonReleasing))
		Expect(message(dojo, "Progressing")).To(ContainSubstring("The Deployment keeps the image " + imageOne))
		endRelease(ctx, job, 1, "migrating\ncolumn kind does not exist; I had "+passwordOf(own)+" and infinity-of-gojo\n")
		eventuallyDegraded(ctx, dojo, corev1api.ReasonReleaseFailed)
		Expect(message(dojo, "Degraded")).To(And(ContainSubstring("has failed: column kind does not exist; I had *** and ***. "),
			Not(ContainSubstring("migrating")), ContainSubstring("core.jutsu.com/retry-release")))

		By("scaling, and deleting the Job")
		edit(ctx, dojo, replicas(2))
		Eventually(ctx, refetch(deploymentOf(dojo))).Should(HaveField("Spec.Replicas", HaveValue(BeEquivalentTo(2))))
		Expect(k8s.Delete(ctx, job, client.PropagationPolicy("Background"))).To(Succeed())
		eventuallyGone(ctx, job)
		operator.WritesAtRest(ns)
		Expect(releasesCreated(ns)).To(HaveLen(2), "a failed step does not run again by itself")
		Expect(refetch(dojo)(ctx)).To(haveMessage("Degraded", ContainSubstring("column kind does not exist")))
		after := deploymentOf(dojo)
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(after), after)).To(Succeed())
		Expect(after.Spec.Template).To(Equal(before.Spec.Template), "no pod should be replaced")

		By("retrying the step")
		edit(ctx, dojo, retried("1"))
		again := eventuallyOneRelease(ctx, ns, heldImage)
		Expect(again.UID).NotTo(Equal(job.UID))
		Expect(again.Name).To(Equal(job.Name))
		endRelease(ctx, again, 0, "")
		Eventually(ctx, imageOf(dojo)).Should(Equal(heldImage))
		Eventually(ctx, refetch(dojo)).Should(HaveField("Status.Release", HaveValue(And(
			HaveField("Image", heldImage), HaveField("Failure", BeNil())))))
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(after), after)).To(Succeed())
		Expect(after.Spec.Template.Spec.Containers[0].Env).To(ContainElement(HaveField("Value", "angry")))
	})

	It("makes the Dojo Degraded if the step fails without a log or exceeds its timeout", func(ctx context.Context) {
		dojo := succeededBefore(ctx)
		edit(ctx, dojo, withImage(heldImage))
		endRelease(ctx, eventuallyOneRelease(ctx, ns, heldImage), 1, "")
		eventuallyDegraded(ctx, dojo, corev1api.ReasonReleaseFailed)
		Expect(message(dojo, "Degraded")).To(ContainSubstring("the operator cannot show the last line of the step's log; see `kubectl logs job/tokyo-release-"))
		edit(ctx, dojo, func(dojo *corev1api.Dojo) {
			dojo.Spec.Image, dojo.Spec.Release.Timeout = heldImage2, &metav1.Duration{Duration: 10 * time.Second}
		})
		runRelease(ctx, eventuallyOneRelease(ctx, ns, heldImage2))
		Eventually(ctx, refetch(dojo)).Should(haveMessage("Degraded",
			ContainSubstring("The release step of the image "+heldImage2+" has failed: it has not ended within 10s.")))
		Expect(imageOf(dojo)(ctx)).To(Equal(imageOne))

		By("setting the former image again")
		edit(ctx, dojo, withImage(imageOne))
		eventuallyReady(ctx, dojo)
		Expect(releasesCreated(ns)).To(HaveLen(3))
	})

	It("does not run twice at the same time "+
		"when the operator is killed, the Job is deleted or the image changes", func(ctx context.Context) {
		dojo := succeededBefore(ctx)
		edit(ctx, dojo, withImage(heldImage))
		job := eventuallyOneRelease(ctx, ns, heldImage)
		runRelease(ctx, job)
		operator.Kill(ctx)
		edit(ctx, dojo, func(dojo *corev1api.Dojo) { dojo.Spec.Image, dojo.Spec.Replicas = heldImage2, new(int32(2)) })
		operator.Start(ctx)
		Eventually(ctx, refetch(dojo)).Should(haveMessage("Progressing",
			ContainSubstring("waits until an earlier step has ended: Job "+job.Name)))
		operator.WritesAtRest(ns)
		Expect(releaseJobs(ctx, ns)).To(HaveExactElements(HaveField("UID", job.UID)))
		Expect(refetch(deploymentOf(dojo))(ctx)).To(HaveField("Spec.Replicas", HaveValue(BeEquivalentTo(2))))
		endRelease(ctx, job, 0, "")
		second := eventuallyOneRelease(ctx, ns, heldImage2)
		Eventually(ctx, refetch(dojo)).Should(HaveField("Status.Release.Succeeded", HaveLen(2)),
			"the earlier step has succeeded, though no pod got its image")
		Expect(imageOf(dojo)(ctx)).To(Equal(imageOne))

		By("deleting the Job while its pod stays and succeeds later")
		held := second.Spec.Template
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: ns, Name: "held", Labels: held.Labels, Annotations: held.Annotations,
			Finalizers:      []string{"example.org/held"},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(second, batchv1.SchemeGroupVersion.WithKind("Job"))},
		}, Spec: held.Spec}
		// The node does not exist, because kwok would end a pod on a fake node. PodGC, which runs
		// every 20 s, would set a deleted pod without a node to Failed.
		pod.Spec.NodeName = "lost"
		Expect(k8s.Create(ctx, pod)).To(Succeed())
		DeferCleanup(func(ctx context.Context) {
			edit(ctx, pod, func(pod *corev1.Pod) { pod.Finalizers = nil })
		})
		Expect(k8s.Delete(ctx, second, client.PropagationPolicy("Background"))).To(Succeed())
		eventuallyGone(ctx, second)
		Eventually(ctx, refetch(dojo)).Should(haveMessage("Progressing", ContainSubstring("has ended: pod held")))
		created := len(releasesCreated(ns))
		operator.Kill(ctx)
		operator.Start(ctx)
		operator.WritesAtRest(ns)
		Expect(releasesCreated(ns)).To(HaveLen(created))
		changeStatus(ctx, pod, func(pod *corev1.Pod) {
			pod.Status.Phase = corev1.PodSucceeded
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "release", State: corev1.ContainerState{
				Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.Now()}}}}
		})
		Eventually(ctx, imageOf(dojo)).Should(Equal(heldImage2))
		operator.WritesAtRest(ns)
		Expect(releasesCreated(ns)).To(HaveLen(created), "a step that has succeeded should not run again")
	})

	It("runs migrations from ConfigMaps once for each set of files", func(ctx context.Context) {
		operator.Restart(ctx, "--migrate-image="+migrateImage)
		DeferCleanup(func(ctx context.Context) { operator.Restart(ctx) })
		files := func(name string, data map[string]string) *corev1.ConfigMap {
			return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Data: data}
		}
		Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
		dojo := newDojo(ns, "tokyo", withMigrations)
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		Eventually(ctx, refetch(dojo)).Should(HaveCondition("Progressing", "True", corev1api.ReasonWaitingForMigrations))
		eventuallyDegraded(ctx, dojo, corev1api.ReasonMigrationsNotFound)
		Expect(k8s.Create(ctx, files("tables", map[string]string{"1_tables.sql": "SELECT 1"}))).To(Succeed())
		indexes := files("indexes", map[string]string{"001_indexes.sql": "SELECT 2"})
		Expect(k8s.Create(ctx, indexes)).To(Succeed())
		eventuallyDegraded(ctx, dojo, corev1api.ReasonMigrationsInvalid)
		Expect(message(dojo, "Degraded")).To(ContainSubstring("have the same number"))
		Expect(k8s.Get(ctx, nameOf(ns, "tokyo"), deploymentOf(dojo))).NotTo(Succeed())
		edit(ctx, indexes, func(cm *corev1.ConfigMap) { cm.Data = map[string]string{"2_indexes.sql": "SELECT 2"} })
		eventuallyReady(ctx, dojo)
		job := eventuallyOneRelease(ctx, ns, migrateImage)
		Expect(job.Spec.Template.Spec.Containers[0].Args).To(ContainElement(HavePrefix("--digest=")))

		By("changing the image, and a label of a ConfigMap")
		edit(ctx, dojo, withImage(imageTwo))
		edit(ctx, indexes, func(cm *corev1.ConfigMap) { cm.Labels = map[string]string{"a": "b"} })
		Eventually(ctx, imageOf(dojo)).Should(Equal(imageTwo))
		eventuallyReady(ctx, dojo)
		Expect(releasesCreated(ns)).To(HaveLen(1))

		By("adding a file, whose migration the status reports")
		operator.Restart(ctx, "--migrate-image=registry.invalid/dojo-migrate:1")
		edit(ctx, indexes, func(cm *corev1.ConfigMap) { cm.Data["3_more.sql"] = "SELECT 3" })
		edit(ctx, dojo, withImage(imageOne))
		second := eventuallyOneRelease(ctx, ns, "registry.invalid/dojo-migrate:1")
		Expect(imageOf(dojo)(ctx)).To(Equal(imageTwo))
		endRelease(ctx, second, 0, "3 3_more")
		Eventually(ctx, imageOf(dojo)).Should(Equal(imageOne))
		eventuallyReady(ctx, dojo)
		Expect(dojo.Status.Release).To(HaveValue(And(HaveField("Migration", "3_more"), HaveField("Migrations", int32(3)))))
	})

	It("with migrations makes the Dojo Degraded "+
		"if the operator runs without the flag --migrate-image", func(ctx context.Context) {
		Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
		for _, name := range []string{"tables", "indexes"} {
			Expect(k8s.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
				Data: map[string]string{fmt.Sprintf("%d_%s.sql", len(name), name): "SELECT 1"}})).To(Succeed())
		}
		dojo := newDojo(ns, "tokyo", withMigrations)
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		eventuallyDegraded(ctx, dojo, corev1api.ReasonMigrationsInvalid)
		Expect(message(dojo, "Degraded")).To(ContainSubstring("--migrate-image"))
	})

	It("does not start while the Dojo is suspended, "+
		"and the suspension waits until a running step has ended", func(ctx context.Context) {
		dojo := newDojo(ns, "tokyo", withCluster(), withRelease)
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		eventuallyReady(ctx, dojo)
		edit(ctx, dojo, withImage(heldImage))
		job := eventuallyOneRelease(ctx, ns, heldImage)
		runRelease(ctx, job)
		edit(ctx, dojo, func(dojo *corev1api.Dojo) { dojo.Spec.Image, dojo.Spec.Suspend = imageTwo, true })
		Eventually(ctx, refetch(dojo)).Should(HaveCondition("Progressing", "True", corev1api.ReasonSuspending))
		theCluster := ofKind("Cluster", ns, "tokyo-db")
		Expect(refetch(theCluster)(ctx)).NotTo(HaveField("GetAnnotations()", HaveKeyWithValue("cnpg.io/hibernation", "on")))
		endRelease(ctx, job, 0, "")
		Eventually(ctx, refetch(dojo)).Should(HaveCondition("Ready", "True", corev1api.ReasonSuspended))
		Expect(releasesCreated(ns)).To(HaveLen(2))
		edit(ctx, dojo, func(dojo *corev1api.Dojo) { dojo.Spec.Suspend = false })
		eventuallyReady(ctx, dojo)
		Expect(releasesCreated(ns)).To(HaveLen(3))
		Expect(imageOf(dojo)(ctx)).To(Equal(imageTwo))
	})

	It("runs only after the upgrade of Postgres "+
		"if the spec changes both the image and the Postgres version", func(ctx context.Context) {
		dojo := newDojo(ns, "tokyo", withRelease, withCluster(nightly, func(pg *corev1api.PostgresCluster) {
			pg.ImageName = "registry.example.org/postgresql:16"
		}))
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		eventuallyReady(ctx, dojo)
		cloudNativePG.SetUpgrades(ns, "tokyo-db", cnpgtest.UpgradesRun)
		edit(ctx, dojo, func(dojo *corev1api.Dojo) {
			dojo.Spec.Image = imageTwo
			dojo.Spec.Postgres.Cluster.ImageName = "registry.example.org/postgresql:17"
		})
		Eventually(ctx, refetch(dojo)).Should(HaveField("Status.Database.Upgrade",
			HaveValue(HaveField("Step", corev1api.UpgradeUpgrading))))
		Expect(releasesCreated(ns)).To(HaveLen(1))
		cloudNativePG.SetUpgrades(ns, "tokyo-db", cnpgtest.UpgradesSucceed)
		eventuallyReady(ctx, dojo)
		Expect(imageOf(dojo)(ctx)).To(Equal(imageTwo))
		var order []string
		for _, write := range operator.WritesAtRest(ns) {
			if strings.Contains(write, "create jobs/tokyo-statistics") || strings.Contains(write, "create jobs/tokyo-release") {
				order = append(order, write[:len("create jobs/tokyo-release")])
			}
		}
		Expect(order).To(Equal([]string{"create jobs/tokyo-release", "create jobs/tokyo-statist", "create jobs/tokyo-release"}))
	})

	It("keeps its login valid until the step has ended, "+
		"even if the password is rotated meanwhile", func(ctx context.Context) {
		dojo := dojoInCluster(ctx, ns, withRelease)
		former := credentialsOf(ctx, dojo)
		edit(ctx, dojo, withImage(heldImage))
		job := eventuallyOneRelease(ctx, ns, heldImage)
		runRelease(ctx, job)
		request(ctx, dojo, "1")
		Eventually(ctx, refetch(dojo)).Should(haveMessage("DatabaseReady", ContainSubstring("a release step has yet to end")))
		Expect(accepted(dojo, former)).To(BeTrue())
		Expect(imageOf(dojo)(ctx)).To(Equal(imageOne), "the pods should get the new login only with the new image")
		endRelease(ctx, job, 0, "")
		Eventually(ctx, func() bool { return accepted(dojo, former) }).Should(BeFalse())
	})

	It("runs before the first pod of a new Dojo, "+
		"and runs again after the Database is recreated", func(ctx context.Context) {
		dojo := newDojo(ns, "tokyo", withCluster(), withRelease, withImage(heldImage))
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		job := eventuallyOneRelease(ctx, ns, heldImage)
		for _, v := range job.Spec.Template.Spec.Containers[0].Env {
			if v.Name == "DB_ENDPOINT" {
				Expect(v.Value).To(Equal("tokyo-db-rw"))
			}
		}
		operator.WritesAtRest(ns)
		Expect(k8s.Get(ctx, nameOf(ns, "tokyo"), deploymentOf(dojo))).NotTo(Succeed())
		Expect(k8s.Get(ctx, nameOf(ns, "tokyo"), serviceOf(dojo))).To(Succeed())
		endRelease(ctx, job, 0, "")
		Eventually(ctx, imageOf(dojo)).Should(Equal(heldImage))

		By("replacing the database")
		Expect(k8s.Delete(ctx, ofKind("Database", ns, "tokyo-db"))).To(Succeed())
		Eventually(ctx, func() []string { return slices.Compact(releasesCreated(ns)) }).Should(HaveLen(2))
	})

	It("lets a tenant set no securityContext, no ServiceAccount and no ConfigMap of another namespace, "+
		"and does not trust a forged Job", func(ctx context.Context) {
		Expect(k8s.Create(ctx, source(ns, "pg-app"))).To(Succeed())
		object := func(release map[string]any) error {
			fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(newDojo(ns, "refused"))
			Expect(err).NotTo(HaveOccurred())
			dojo := &unstructured.Unstructured{Object: fields}
			dojo.SetGroupVersionKind(corev1api.GroupVersion.WithKind("Dojo"))
			delete(dojo.Object, "status")
			Expect(unstructured.SetNestedMap(dojo.Object, release, "spec", "release")).To(Succeed())
			return k8s.Create(ctx, dojo, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
		}
		one := []any{map[string]any{"name": "files"}}
		for want, release := range map[string]map[string]any{
			"exactly one of command and migrations": {},
			"exactly one":                           {"command": []any{"x"}, "migrations": map[string]any{"configMapRefs": one}},
			`unknown field "spec.release.migrations.configMapRefs[0].namespace"`: {"migrations": map[string]any{
				"configMapRefs": []any{map[string]any{"name": "files", "namespace": "kube-system"}}}},
			`unknown field "spec.release.securityContext"`:    {"command": []any{"x"}, "securityContext": map[string]any{}},
			`unknown field "spec.release.serviceAccountName"`: {"command": []any{"x"}, "serviceAccountName": "admin"},
			"must be the name of a ConfigMap": {"migrations": map[string]any{
				"configMapRefs": []any{map[string]any{"name": "../kube-system/files"}}}},
			"may not be more than 4096 bytes":  {"command": []any{strings.Repeat("x", 4097)}},
			"must be at least 1s":              {"command": []any{"x"}, "timeout": "0s"},
			"must be a duration":               {"command": []any{"x"}, "timeout": "-1s"},
			"must be at least 1s and at most ": {"command": []any{"x"}, "timeout": "25h"},
		} {
			Expect(object(release)).To(MatchError(ContainSubstring(want)))
		}

		By("occupying the name of the next Job")
		dojo := newDojo(ns, "tokyo", withRelease)
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		eventuallyReady(ctx, dojo)
		job := eventuallyOneRelease(ctx, ns, imageOne)
		pod := job.Spec.Template.Spec
		Expect(pod.AutomountServiceAccountToken).To(HaveValue(BeFalse()))
		Expect(pod.ServiceAccountName).To(BeEmpty())
		Expect(pod.SecurityContext.RunAsNonRoot).To(HaveValue(BeTrue()))
		Expect(k8s.Delete(ctx, dojo)).To(Succeed())
		eventuallyGone(ctx, dojo)
		dojo = newDojo(ns, "tokyo", withRelease, func(dojo *corev1api.Dojo) {
			metav1.SetMetaDataAnnotation(&dojo.ObjectMeta, corev1api.PausedAnnotation, "true")
		})
		Expect(k8s.Create(ctx, dojo)).To(Succeed())
		Eventually(ctx, refetch(dojo)).Should(haveMessage("Ready", ContainSubstring("Job tokyo-release-")))
		name := regexp.MustCompile("tokyo-release-[0-9a-f]+").FindString(message(dojo, "Ready"))
		forged := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: batchv1.JobSpec{
			Suspend: new(true), Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever,
				Containers: []corev1.Container{{Name: "release", Image: "x"}}}}}}
		Expect(k8s.Create(ctx, forged)).To(Succeed())
		edit(ctx, dojo, func(dojo *corev1api.Dojo) { delete(dojo.Annotations, corev1api.PausedAnnotation) })
		eventuallyDegraded(ctx, dojo, corev1api.ReasonNameConflict)
		Expect(k8s.Get(ctx, nameOf(ns, "tokyo"), deploymentOf(dojo))).NotTo(Succeed())
		Expect(k8s.Delete(ctx, forged, client.PropagationPolicy("Background"))).To(Succeed())
		eventuallyReady(ctx, dojo)
	})
})
