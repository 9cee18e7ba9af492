// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"jutsu.com/operators/test/environment"
	"jutsu.com/operators/test/testcluster"
	"jutsu.com/operators/test/testcluster/manifests"
	"jutsu.com/operators/test/testcluster/project"
)

const waitLimit = 3 * time.Minute

type warnings struct {
	mu    sync.Mutex
	texts []string
}

func (w *warnings) HandleWarningHeader(_ int, _ string, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

func start(t *testing.T, options testcluster.Options) (*testcluster.Cluster, client.Client) {
	t.Helper()
	g := NewWithT(t)
	cluster, err := testcluster.Start(t.Context(), options)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { g.Expect(cluster.Stop()).To(Succeed()) })
	admin, err := client.New(cluster.Config(), client.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	return cluster, admin
}

func startCluster(t *testing.T) (client.Client, *warnings) {
	t.Helper()
	cluster, _ := start(t, testcluster.Options{ControllerManager: true, Nodes: 2})
	warned := &warnings{}
	config := rest.CopyConfig(cluster.Config())
	config.WarningHandler = warned
	admin, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return admin, warned
}

type shipped struct {
	environment.Operator
	samples string // folder
	kinds   []schema.GroupVersionKind
}

var both = []shipped{
	{environment.Dojo, "deploy/samples",
		[]schema.GroupVersionKind{{Group: "core.jutsu.com", Version: "v1", Kind: "Dojo"}}},
	{environment.Discord, "deploy/samples/discord", []schema.GroupVersionKind{
		{Group: "discord.jutsu.com", Version: "v1alpha1", Kind: "DiscordServer"},
		{Group: "discord.jutsu.com", Version: "v1alpha1", Kind: "DiscordGroup"},
		{Group: "discord.jutsu.com", Version: "v1alpha1", Kind: "DiscordChannel"},
		{Group: "discord.jutsu.com", Version: "v1alpha1", Kind: "DiscordRole"},
	}},
}

func TestDeploy(t *testing.T) {
	t.Parallel()
	admin, warned := startCluster(t)
	for _, o := range both {
		t.Run(o.Name, func(t *testing.T) {
			t.Run("the operator is accepted", func(t *testing.T) {
				g := NewWithT(t)
				g.Expect(kindsOf(apply(t, admin, production(o.Operator)))).
					To(ContainElements("Namespace", "CustomResourceDefinition", "ServiceAccount",
						"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "Deployment", "Service", "PodDisruptionBudget"))
			})
			t.Run("its pods run in a namespace that enforces the restricted level",
				func(t *testing.T) { runsRestricted(t, admin, o.Operator) })
			t.Run("the samples are accepted", func(t *testing.T) {
				g := NewWithT(t)
				awaitKinds(t, admin, o)
				apply(t, admin, o.samples)
				for _, kind := range o.kinds {
					list := listOf(kind)
					g.Expect(admin.List(t.Context(), list)).To(Succeed())
					g.Expect(list.Items).NotTo(BeEmpty(), "no sample of a %s", kind.Kind)
				}
			})
			t.Run("a field that the API does not know is refused", func(t *testing.T) {
				g := NewWithT(t)
				for _, object := range render(t, o.samples) {
					g.Expect(unstructured.SetNestedField(object.Object, "x", "metdata")).To(Succeed())
					g.Expect(manifests.Apply(t.Context(), admin, []*unstructured.Unstructured{object}, client.DryRunAll)).
						NotTo(Succeed(), object.GetKind())
				}
			})
			t.Run("a second apply changes nothing", func(t *testing.T) {
				g := NewWithT(t)
				for _, folder := range []string{production(o.Operator), o.samples} {
					objects := render(t, folder)
					before := generations(t.Context(), g, admin, objects)
					apply(t, admin, folder)
					g.Expect(cmp.Diff(before, generations(t.Context(), g, admin, objects))).To(BeEmpty())
				}
			})
		})
	}
	if diff := cmp.Diff([]string(nil), warned.texts); diff != "" {
		t.Errorf("the API server warns:\n%s", diff)
	}
}

func apply(t *testing.T, admin client.Client, folder string) []*unstructured.Unstructured {
	t.Helper()
	objects := render(t, folder)
	NewWithT(t).Expect(manifests.Apply(t.Context(), admin, objects)).To(Succeed())
	return objects
}

func awaitKinds(t *testing.T, admin client.Client, operators ...shipped) {
	t.Helper()
	for _, o := range operators {
		for _, kind := range o.kinds {
			NewWithT(t).Eventually(func() error { return admin.List(t.Context(), listOf(kind)) }).WithTimeout(waitLimit).
				Should(Succeed())
		}
	}
}

// Rendering the CustomResourceDefinitions takes seconds, so rendered caches rendered folders.
var rendered sync.Map

func render(t *testing.T, folder string) []*unstructured.Unstructured {
	t.Helper()
	g := NewWithT(t)
	path, err := project.Path(folder)
	g.Expect(err).NotTo(HaveOccurred())
	text, err := os.ReadFile(filepath.Join(path, "kustomization.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	once, _ := rendered.LoadOrStore(path+"\n"+string(text),
		sync.OnceValues(func() ([]*unstructured.Unstructured, error) { return manifests.Render(path) }))
	objects, err := once.(func() ([]*unstructured.Unstructured, error))()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(objects).NotTo(BeEmpty())
	copies := make([]*unstructured.Unstructured, 0, len(objects))
	for _, o := range objects {
		copies = append(copies, o.DeepCopy())
	}
	return copies
}

func production(o environment.Operator) string { return o.Folder() + "/overlays/production" }

func runsRestricted(t *testing.T, admin client.Client, o environment.Operator) {
	t.Helper()
	g := NewWithT(t)
	var namespace corev1.Namespace
	g.Expect(admin.Get(t.Context(), client.ObjectKey{Name: o.Namespace}, &namespace)).To(Succeed())
	g.Expect(namespace.Labels).To(HaveKeyWithValue("pod-security.kubernetes.io/enforce", "restricted"))
	careless := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "careless"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.invalid/main"}}},
	}
	// A new namespace refuses every pod until its default ServiceAccount exists.
	g.Eventually(func() error { return admin.Create(t.Context(), careless) }).WithTimeout(waitLimit).
		Should(MatchError(ContainSubstring("violates PodSecurity")), "an unrestricted pod")
	var deployment appsv1.Deployment
	g.Eventually(func(g Gomega) {
		g.Expect(admin.Get(t.Context(), client.ObjectKey{Namespace: o.Namespace, Name: o.Name}, &deployment)).To(Succeed())
		g.Expect(deployment.Status.AvailableReplicas).
			To(Equal(*deployment.Spec.Replicas), "conditions: %v", deployment.Status.Conditions)
	}).WithTimeout(waitLimit).Should(Succeed())
	g.Expect(*deployment.Spec.Replicas).To(BeNumerically(">", 1), "one leader and a standby")
}

func TestSamplesAreComplete(t *testing.T) {
	for _, o := range both {
		t.Run(o.Name, func(t *testing.T) {
			g := NewWithT(t)
			folder, err := project.Path(o.samples)
			g.Expect(err).NotTo(HaveOccurred())
			files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
			g.Expect(err).NotTo(HaveOccurred())
			text, err := os.ReadFile(filepath.Join(folder, "kustomization.yaml"))
			g.Expect(err).NotTo(HaveOccurred())
			var kustomization struct{ Resources []string }
			g.Expect(yaml.Unmarshal(text, &kustomization)).To(Succeed())
			var names []string
			for _, file := range files {
				if name := filepath.Base(file); name != "kustomization.yaml" {
					names = append(names, name)
				}
			}
			g.Expect(kustomization.Resources).To(ConsistOf(names))
		})
	}
}

// `kubectl delete -k` of an installation must not delete a team's Namespace with the databases.
func TestInstallationHasNoNamespaceOfATeam(t *testing.T) {
	g := NewWithT(t)
	var names []string
	for _, o := range render(t, installSample) {
		if o.GetKind() == "Namespace" {
			names = append(names, o.GetName())
		}
	}
	g.Expect(names).To(ConsistOf(environment.Dojo.Namespace, environment.Discord.Namespace))
	g.Expect(kindsOf(render(t, installSample+"/namespaces"))).To(ContainElement("Namespace"))
}

func listOf(kind schema.GroupVersionKind) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	return list
}

func kindsOf(objects []*unstructured.Unstructured) []string {
	kinds := map[string]bool{}
	for _, o := range objects {
		kinds[o.GetKind()] = true
	}
	return slices.Sorted(maps.Keys(kinds))
}

func generations(ctx context.Context, g *WithT, admin client.Client,
	objects []*unstructured.Unstructured) map[string]any {
	found := map[string]any{}
	for _, o := range objects {
		live := o.DeepCopy()
		g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(o), live)).To(Succeed())
		var version any = live.GetGeneration()
		if version == int64(0) {
			version = live.GetResourceVersion()
		}
		found[o.GetKind()+" "+o.GetName()] = version
	}
	return found
}
