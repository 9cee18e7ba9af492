// SPDX-License-Identifier: Apache-2.0

package specs_test

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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/test/testcluster/cnpgtest"
)

var cloudNativePG *cnpgtest.StandIn

func postgres(admin client.Client) cnpgtest.Options {
	return cnpgtest.Options{
		RetryInterval: 2 * time.Second,
		Sessions: func(ctx context.Context, namespace, _ string) int {
			var pods corev1.PodList
			if admin.List(ctx, &pods, client.InNamespace(namespace),
				client.MatchingLabels{"app.kubernetes.io/name": "dojo"}) != nil {
				return 1
			}
			return len(pods.Items)
		},
	}
}

func ofKind(kind, namespace, name string) *unstructured.Unstructured {
	group, version := "postgresql.cnpg.io", "v1"
	switch kind {
	case "Secret", "Service":
		group = ""
	case "Deployment":
		group = "apps"
	case "Job":
		group = "batch"
	case "Ingress":
		group = "networking.k8s.io"
	case "HTTPRoute":
		group = "gateway.networking.k8s.io"
	case "HorizontalPodAutoscaler":
		group, version = "autoscaling", "v2"
	case "PodDisruptionBudget":
		group = "policy"
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

func field(o *unstructured.Unstructured, path string) any {
	value, _, _ := unstructured.NestedFieldCopy(o.Object, strings.Split(path, ".")...)
	return value
}

func existingCluster(ctx context.Context, namespace, name string) *unstructured.Unstructured {
	GinkgoHelper()
	o := ofKind("Cluster", namespace, name)
	o.Object["spec"] = map[string]any{
		"instances": int64(2), "storage": map[string]any{"size": "1Gi"}, "imageName": "registry.example.org/postgres:17",
	}
	Expect(k8s.Create(ctx, o)).To(Succeed())
	return o
}

func inCluster(dojo *corev1api.Dojo) {
	dojo.Spec.CredentialsRef = nil
	dojo.Spec.Postgres = &corev1api.Postgres{ClusterRef: &corev1api.ClusterReference{Name: "pg"}}
}

func withPolicy(policy corev1api.ReclaimPolicy) func(*corev1api.Dojo) {
	return func(dojo *corev1api.Dojo) { dojo.Spec.Postgres.ReclaimPolicy = policy }
}

func dojoInCluster(ctx context.Context, namespace string, change ...func(*corev1api.Dojo)) *corev1api.Dojo {
	GinkgoHelper()
	pg := existingCluster(ctx, namespace, "pg")
	Eventually(ctx, refetch(pg)).Should(
		haveField("status.readyInstances", Equal(int64(2))))
	dojo := newDojo(namespace, "tokyo", append([]func(*corev1api.Dojo){inCluster}, change...)...)
	Expect(k8s.Create(ctx, dojo)).To(Succeed())
	eventuallyReady(ctx, dojo)
	return dojo
}

// operatorSeesClusters waits until the operator's cache contains all existing Clusters. Events are
// ordered, so a status that shows a new Cluster proves this.
func operatorSeesClusters(ctx context.Context) {
	GinkgoHelper()
	ns := newNamespace(ctx)
	cloudNativePG.Pause(ns, "pg")
	existingCluster(ctx, ns, "pg")
	dojo := newDojo(ns, "tokyo", inCluster)
	Expect(k8s.Create(ctx, dojo)).To(Succeed())
	Eventually(ctx, refetch(dojo)).Should(haveMessage("DatabaseReady", ContainSubstring("0 of 2 instances")))
}

func databasePassword(ctx context.Context, dojo *corev1api.Dojo) string {
	GinkgoHelper()
	secret := passwordSecretOf(dojo)
	Expect(k8s.Get(ctx, client.ObjectKeyFromObject(secret), secret)).To(Succeed())
	password := string(secret.Data["password"])
	Expect(len(password)).To(BeNumerically(">=", 20))
	secrets.Add(password)
	return password
}

func passwordSecretOf(dojo *corev1api.Dojo) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: dojo.Namespace, Name: dojo.Name + "-db"}}
}

func schemaJobs(ctx context.Context, dojo *corev1api.Dojo) []batchv1.Job {
	GinkgoHelper()
	var jobs batchv1.JobList
	labels := client.MatchingLabels{"app.kubernetes.io/name": "dojo-schema", "app.kubernetes.io/instance": dojo.Name}
	Expect(k8s.List(ctx, &jobs, client.InNamespace(dojo.Namespace), labels)).To(Succeed())
	return jobs.Items
}

func schemaJob(dojo *corev1api.Dojo) func(context.Context) string {
	return func(ctx context.Context) string {
		for _, job := range schemaJobs(ctx, dojo) {
			return job.Name
		}
		return ""
	}
}

func podPassword(dojo *corev1api.Dojo) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		secret := secretOf(dojo)
		err := k8s.Get(ctx, client.ObjectKeyFromObject(secret), secret)
		return passwordOf(secret), err
	}
}

// stepsOf returns a function that lists the reasons of DatabaseReady and Ready, each pair once.
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
			dojo, ok := e.Object.(*corev1api.Dojo)
			if !ok || len(dojo.Status.Conditions) == 0 {
				continue
			}
			mu.Lock()
			step := reason(dojo, "DatabaseReady") + " / " + reason(dojo, "Ready")
			GinkgoWriter.Println(step, message(dojo, "Ready"), dojo.Status.ReadyStatus)
			if !slices.Contains(steps, step) {
				steps = append(steps, step)
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
