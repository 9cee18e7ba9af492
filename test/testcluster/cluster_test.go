// SPDX-License-Identifier: Apache-2.0

package testcluster

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/onsi/gomega"

	"jutsu.com/operators/test/testcluster/auditlog"
	"jutsu.com/operators/test/testcluster/binaries"
)

// TestEverything uses one cluster for all subtests, because a cluster takes seconds to start.
func TestEverything(t *testing.T) {
	t.Parallel()
	var said output
	cluster := start(t, Options{
		ControllerManager: true, Nodes: 3, Audit: true, CRDs: []string{"testdata"}, Progress: &said,
	})
	t.Logf("%s", said.String())
	client := clientFor(t, cluster)

	t.Run("the API server has the pinned version", func(t *testing.T) {
		version, err := client.Discovery().ServerVersion()
		if err != nil {
			t.Fatal(err)
		}
		pinned, err := binaries.Version(APIServer)
		if err != nil {
			t.Fatal(err)
		}
		// Ready-made binaries may have any version.
		if version.GitVersion != pinned && os.Getenv(binaries.AssetsEnv)+os.Getenv(binaries.EnvtestAssetsEnv) == "" {
			t.Errorf("version %s, want %s", version.GitVersion, pinned)
		}
		if prefix := fmt.Sprintf("v%s.%s.", version.Major, version.Minor); !strings.HasPrefix(version.GitVersion, prefix) {
			t.Errorf("version %s, but major.minor is %s", version.GitVersion, prefix)
		}
	})
	t.Run("an idle cluster writes nothing for 11 seconds", func(t *testing.T) { testIdle(t, cluster) })
	t.Run("a Deployment becomes available on the nodes and is deleted", func(t *testing.T) { testDeployment(t, client) })
	t.Run("a pod with an image of .invalid stays in ImagePullBackOff", func(t *testing.T) { testImagePull(t, client) })
	t.Run("an autoscaler scales a Deployment up to the minimum", func(t *testing.T) { testAutoscaler(t, client) })
	t.Run("the API server serves custom resources, the garbage collector deletes them", func(t *testing.T) { testCustomResource(t, cluster, client) })
	t.Run("RBAC limits a ServiceAccount", func(t *testing.T) { testServiceAccount(t, cluster, client) })
	t.Run("killed components restart with their data", func(t *testing.T) { testRestart(t, cluster, client) })
	t.Run("KeepLogs copies the logs of the components and the audit log", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "logs")
		if err := cluster.KeepLogs(dir); err != nil {
			t.Fatal(err)
		}
		for _, name := range append(cluster.options.components(), "audit") {
			if info, err := os.Stat(filepath.Join(dir, name+".log")); err != nil || info.Size() == 0 {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
	t.Run("Stop removes the folder and ends the API server", func(t *testing.T) {
		for range 2 {
			if err := cluster.Stop(); err != nil {
				t.Error(err)
			}
		}
		if exists(cluster.Dir()) {
			t.Errorf("%s is still there", cluster.Dir())
		}
		if _, err := net.Dial("tcp", strings.TrimPrefix(cluster.Config().Host, "https://")); err == nil {
			t.Error("the API server still answers")
		}
	})
}

func testIdle(t *testing.T, cluster *Cluster) {
	const quiet = 11 * time.Second // longer than the ten seconds between lease renewals
	log, err := auditlog.Open(cluster.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	since := time.Now()
	var last string
	gomega.NewWithT(t).Eventually(func() time.Duration {
		if err := log.Each(func(line []byte) error {
			var event auditv1.Event
			if err := json.Unmarshal(line, &event); err != nil {
				return err
			}
			switch event.Verb {
			case "create", "update", "patch", "delete", "deletecollection":
				since, last = time.Now(), event.User.Username+": "+event.Verb+" "+event.RequestURI
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return time.Since(since)
	}).WithTimeout(3*time.Minute).WithPolling(time.Second).Should(gomega.BeNumerically(">", quiet),
		func() string { return "the last write: " + last })
}

func testDeployment(t *testing.T, client kubernetes.Interface) {
	ctx := t.Context()
	deployment := newDeployment(t, client, "web", "registry.test/web:1", 3)
	available(t, client, deployment, 3)
	pods, err := client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: "app=web"})
	if err != nil {
		t.Fatal(err)
	}
	nodes := map[string]bool{}
	for _, pod := range pods.Items {
		nodes[pod.Spec.NodeName] = true
	}
	if len(nodes) != 3 {
		t.Errorf("3 pods run on the nodes %v, want one on each", nodes)
	}

	foreground := metav1.DeletePropagationForeground
	if err := client.AppsV1().Deployments("default").
		Delete(ctx, "web", metav1.DeleteOptions{PropagationPolicy: &foreground}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		pods, err := client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: "app=web"})
		if err == nil && len(pods.Items) > 0 {
			err = fmt.Errorf("%d pods are left", len(pods.Items))
		}
		return err
	})
}

func testImagePull(t *testing.T, client kubernetes.Interface) {
	newDeployment(t, client, "broken", "registry.invalid/web:1", 1)
	eventually(t, func() error {
		pods, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: "app=broken"})
		if err != nil {
			return err
		}
		for _, pod := range pods.Items {
			for _, container := range pod.Status.ContainerStatuses {
				if waiting := container.State.Waiting; waiting != nil && waiting.Reason == "ImagePullBackOff" && !container.Ready {
					return nil
				}
			}
		}
		return fmt.Errorf("no container waits for its image: %v", pods.Items)
	})
}

func testAutoscaler(t *testing.T, client kubernetes.Interface) {
	deployment := newDeployment(t, client, "scaled", "registry.test/web:1", 1)
	scaler := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: "scaled"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment",
				Name: "scaled"},
			MinReplicas: new(int32(2)), MaxReplicas: 4,
		},
	}
	if _, err := client.AutoscalingV2().HorizontalPodAutoscalers("default").
		Create(t.Context(), scaler, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	available(t, client, deployment, 2)
}

// Options.CRDs contains the kind, so that the garbage collector knows it from the start: the
// collector looks for new kinds only every 30 seconds.
func testCustomResource(t *testing.T, cluster *Cluster, client kubernetes.Interface) {
	ctx := t.Context()
	custom, err := dynamic.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	widgets := custom.Resource(schema.GroupVersionResource{Group: "example.test", Version: "v1", Resource: "widgets"}).
		Namespace("default")
	widget := func(name string, size int64) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.test/v1", "kind": "Widget",
			"metadata": map[string]any{"name": name}, "spec": map[string]any{"size": size},
		}}
	}
	if _, err := widgets.Create(ctx, widget("bad", 0), metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("want the schema enforced: %v", err)
	}
	owner, err := widgets.Create(ctx, widget("good", 1), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	owned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owned", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "example.test/v1", Kind: "Widget", Name: owner.GetName(), UID: owner.GetUID()},
	}}}
	if _, err := client.CoreV1().ConfigMaps("default").Create(ctx, owned, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := widgets.Delete(ctx, "good", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	gomega.NewWithT(t).Eventually(func() error {
		if _, err := client.CoreV1().ConfigMaps("default").
			Get(ctx, "owned", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the owned ConfigMap is still there: %w", err)
		}
		return nil
	}).WithTimeout(30*time.Second).WithPolling(50*time.Millisecond).
		Should(gomega.Succeed(), "in less time than the collector takes to look for kinds again")
}

func testServiceAccount(t *testing.T, cluster *Cluster, admin kubernetes.Interface) {
	ctx := t.Context()
	const name = "reader"
	if _, err := cluster.ServiceAccountConfig(ctx, "default", name); !apierrors.IsNotFound(err) {
		t.Errorf("a ServiceAccount that does not exist: %v", err)
	}
	meta := metav1.ObjectMeta{Name: name}
	if _, err := admin.CoreV1().ServiceAccounts("default").
		Create(ctx, &corev1.ServiceAccount{ObjectMeta: meta}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.Role{ObjectMeta: meta,
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list"}}}}
	if _, err := admin.RbacV1().Roles("default").Create(ctx, role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: "default"}},
	}
	if _, err := admin.RbacV1().RoleBindings("default").Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	path, err := cluster.ServiceAccountKubeconfig(ctx, "default", name)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{path, cluster.Kubeconfig()} {
		if info, err := os.Stat(secret); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, error %v", secret, info.Mode(), err)
		}
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error { // the API server learns of a new binding late
		_, err := client.CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{})
		return err
	})
	if _, err := client.CoreV1().Secrets("default").List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("want Secrets forbidden: %v", err)
	}
	if _, err := client.CoreV1().ConfigMaps("kube-system").List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("want other namespaces forbidden: %v", err)
	}
}

func testRestart(t *testing.T, cluster *Cluster, client kubernetes.Interface) {
	ctx := t.Context()
	deployment := newDeployment(t, client, "survivor", "registry.test/web:1", 1)
	available(t, client, deployment, 1)
	for _, component := range cluster.options.components() {
		if err := cluster.Kill(component); err != nil {
			t.Fatal(err)
		}
		if component == APIServer {
			if _, err := client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{}); err == nil {
				t.Error("the API server answers although it was killed")
			}
		}
		if err := cluster.Kill(component); err != nil {
			t.Errorf("killing a component that has ended: %v", err)
		}
		if err := cluster.Restart(ctx, component); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := client.AppsV1().Deployments("default").Patch(ctx, "survivor", "application/merge-patch+json",
		[]byte(`{"spec":{"replicas":3}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	available(t, client, deployment, 3)
	if err := cluster.Kill("kube-proxy"); err == nil || !strings.Contains(err.Error(), "kube-scheduler") {
		t.Errorf("want the components named: %v", err)
	}
}

func TestClustersAreIndependent(t *testing.T) {
	t.Parallel()
	var clusters [2]*Cluster
	var both sync.WaitGroup
	for i := range clusters {
		both.Go(func() { clusters[i] = start(t, Options{}) })
	}
	both.Wait()
	for i, cluster := range clusters {
		// Without controllers, the API server accepts pods without a ServiceAccount.
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pod-%d", i)},
			Spec: podSpec("registry.test/web:1")}
		if _, err := clientFor(t, cluster).CoreV1().Pods("default").
			Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for i, cluster := range clusters {
		pods, err := clientFor(t, cluster).CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("pod-%d", i); len(pods.Items) != 1 || pods.Items[0].Name != want {
			t.Errorf("cluster %d holds %v, want %s alone", i, pods.Items, want)
		}
	}
}

type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(text)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func TestClusterReportsADeadComponent(t *testing.T) {
	t.Parallel()
	var said output
	cluster := start(t, Options{Progress: &said})
	if err := cluster.components[Etcd].process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		if text := said.String(); !strings.Contains(text, "etcd has ended: signal: killed") {
			return fmt.Errorf("not reported: %s", text)
		}
		return nil
	})
}

func start(t *testing.T, o Options) *Cluster {
	t.Helper()
	cluster, err := Start(t.Context(), o)
	if err != nil {
		t.Error(err) // not Fatal, because this is not the test's own goroutine
		return nil
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	return cluster
}

func clientFor(t *testing.T, cluster *Cluster) kubernetes.Interface {
	t.Helper()
	if cluster == nil {
		t.FailNow()
	}
	client, err := kubernetes.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func newDeployment(t *testing.T, client kubernetes.Interface, name, image string, replicas int32) *appsv1.Deployment {
	t.Helper()
	labels := map[string]string{"app": name}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podSpec(image)},
		},
	}
	created, err := client.AppsV1().Deployments("default").Create(t.Context(), deployment, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

func podSpec(image string) corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: image}}}
}

func available(t *testing.T, client kubernetes.Interface, deployment *appsv1.Deployment, replicas int32) {
	t.Helper()
	eventually(t, func() error {
		seen, err := client.AppsV1().Deployments("default").Get(t.Context(), deployment.Name, metav1.GetOptions{})
		if err == nil && seen.Status.AvailableReplicas != replicas {
			err = fmt.Errorf("%s: %d of %d replicas are available", deployment.Name, seen.Status.AvailableReplicas, replicas)
		}
		return err
	})
}
