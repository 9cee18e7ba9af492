package main_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/testcluster"
	"jutsu.com/operators/libs/testcluster/cnpgtest"
)

// cloudNativePG stands in for the real one, which needs containers.
var (
	cloudNativePG *cnpgtest.StandIn
	// failingBackups are the namespaces in which backups fail.
	failingBackups sync.Map
)

func foldersOfOptionalCRDs(ctx context.Context) []string {
	GinkgoHelper()
	postgres, err := testcluster.CloudNativePGCRDs(ctx)
	Expect(err).NotTo(HaveOccurred())
	prometheus, err := testcluster.PrometheusOperatorCRDs(ctx)
	Expect(err).NotTo(HaveOccurred())
	return []string{postgres, prometheus, "../deploy/discord-operator/crds"}
}

func playCloudNativePG() {
	GinkgoHelper()
	var err error
	cloudNativePG, err = cnpgtest.Start(context.Background(), cluster.Config(), cnpgtest.Options{
		RetryInterval: 2 * time.Second,
		Sessions: func(ctx context.Context, namespace, _ string) int {
			var pods corev1.PodList
			if k8s.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{"app.kubernetes.io/name": "dojo"}) != nil {
				return 1
			}
			return len(pods.Items)
		},
		FailBackups: func(namespace, _ string) bool {
			_, fails := failingBackups.Load(namespace)
			return fails
		},
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(cloudNativePG.Stop)
}

// ofKind is an empty object of an optional kind, to be fetched.
func ofKind(kind, namespace, name string) *unstructured.Unstructured {
	group, version := "postgresql.cnpg.io", "v1"
	switch kind {
	case "ServiceMonitor", "PrometheusRule":
		group = "monitoring.coreos.com"
	case "AlertmanagerConfig":
		group, version = "monitoring.coreos.com", "v1alpha1"
	case "DiscordChannel":
		group, version = "discord.jutsu.com", "v1alpha1"
	}
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: version, Kind: kind})
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

// field reads a field of a custom resource, for HaveField is for structs.
func field(o *unstructured.Unstructured, path string) any {
	value, _, _ := unstructured.NestedFieldCopy(o.Object, strings.Split(path, ".")...)
	return value
}

// standingCluster creates a Cluster that belongs to somebody else.
func standingCluster(ctx context.Context, namespace, name string) *unstructured.Unstructured {
	GinkgoHelper()
	o := ofKind("Cluster", namespace, name)
	o.Object["spec"] = map[string]any{"instances": int64(2), "storage": map[string]any{"size": "1Gi"}, "imageName": "registry.example.org/postgres:17"}
	Expect(k8s.Create(ctx, o)).To(Succeed())
	return o
}

// inCluster gives a Dojo a database in the standing Cluster "pg".
func inCluster(d *corev1api.Dojo) {
	d.Spec.CredentialsRef = nil
	d.Spec.Postgres = &corev1api.Postgres{ClusterRef: &corev1api.ClusterReference{Name: "pg"}}
}

func withPolicy(policy corev1api.ReclaimPolicy) func(*corev1api.Dojo) {
	return func(d *corev1api.Dojo) { d.Spec.Postgres.ReclaimPolicy = policy }
}

// dojoInCluster creates a Cluster and a Dojo in it and waits until that is Ready.
func dojoInCluster(ctx context.Context, namespace string, change ...func(*corev1api.Dojo)) *corev1api.Dojo {
	GinkgoHelper()
	pg := standingCluster(ctx, namespace, "pg")
	Eventually(ctx, refetch(pg)).Should(WithTransform(func(o *unstructured.Unstructured) any { return field(o, "status.readyInstances") }, Equal(int64(2))))
	d := newDojo(namespace, "tokyo", append([]func(*corev1api.Dojo){inCluster}, change...)...)
	Expect(k8s.Create(ctx, d)).To(Succeed())
	eventuallyReady(ctx, d)
	return d
}

// databasePassword is what was generated for the Dojo's database, noted as one that must not be told.
func databasePassword(ctx context.Context, d *corev1api.Dojo) string {
	GinkgoHelper()
	secret := passwordSecretOf(d)
	Expect(k8s.Get(ctx, client.ObjectKeyFromObject(secret), secret)).To(Succeed())
	password := string(secret.Data["password"])
	Expect(len(password)).To(BeNumerically(">=", 20))
	secrets.Add(password)
	return password
}

func passwordSecretOf(d *corev1api.Dojo) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name + "-db"}}
}

// schemaJobs are the Jobs that bring the Dojo's schema up to date.
func schemaJobs(ctx context.Context, d *corev1api.Dojo) []batchv1.Job {
	GinkgoHelper()
	var jobs batchv1.JobList
	Expect(k8s.List(ctx, &jobs, client.InNamespace(d.Namespace), client.MatchingLabels{"app.kubernetes.io/name": "dojo-schema"})).To(Succeed())
	return jobs.Items
}

// passedOn is the password that the Dojo's pods read.
func passedOn(d *corev1api.Dojo) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		secret := secretOf(d)
		err := k8s.Get(ctx, client.ObjectKeyFromObject(secret), secret)
		return passwordOf(secret), err
	}
}

// stepsOf collects what DatabaseReady and Ready tell about the Dojos of a namespace, each status once, until the context ends.
func stepsOf(ctx context.Context, namespace string) func() []string {
	GinkgoHelper()
	watcher, err := client.NewWithWatch(cluster.Config(), client.Options{Scheme: k8s.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	events, err := watcher.Watch(ctx, &corev1api.DojoList{}, client.InNamespace(namespace))
	Expect(err).NotTo(HaveOccurred())
	var mu sync.Mutex
	var steps []string
	go func() {
		for e := range events.ResultChan() {
			d, ok := e.Object.(*corev1api.Dojo)
			if !ok || len(d.Status.Conditions) == 0 {
				continue
			}
			mu.Lock()
			told := meta.FindStatusCondition(d.Status.Conditions, "DatabaseReady").Reason + " / " + meta.FindStatusCondition(d.Status.Conditions, "Ready").Reason
			GinkgoWriter.Println(told, message(d, "Ready"), d.Status.ReadyStatus)
			if !slices.Contains(steps, told) {
				steps = append(steps, told)
			}
			mu.Unlock()
		}
	}()
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(steps)
	}
}
