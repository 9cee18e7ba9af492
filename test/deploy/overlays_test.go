// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8slabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"jutsu.com/operators/test/environment"
	"jutsu.com/operators/test/internal/kubectl"
	"jutsu.com/operators/test/testcluster"
	"jutsu.com/operators/test/testcluster/manifests"
	"jutsu.com/operators/test/testcluster/project"
)

type variant struct {
	operator   environment.Operator
	overlay    string
	components []string
}

func (v variant) String() string {
	if len(v.components) > 3 { // the list would exceed the length of a file name
		return fmt.Sprintf("%s+%s+%d components", v.operator.Name, v.overlay, len(v.components))
	}
	return strings.Join(append([]string{v.operator.Name, v.overlay}, v.components...), "+")
}

func variants(t *testing.T) []variant {
	t.Helper()
	var all []variant
	for _, o := range environment.All {
		components := kustomizations(t, o, "components")
		overlays := append([]string{"base"}, kustomizations(t, o, "overlays")...)
		NewWithT(t).Expect(overlays).To(ContainElements("base", "overlays/development", "overlays/production"))
		NewWithT(t).Expect(components).To(ContainElement("components/namespaced"))
		for _, overlay := range overlays {
			all = append(all, variant{o, overlay, nil})
			for _, component := range components {
				all = append(all, variant{o, overlay, []string{component}})
			}
			if len(components) > 1 {
				all = append(all, variant{o, overlay, components})
			}
		}
	}
	return all
}

func kustomizations(t *testing.T, o environment.Operator, below string) []string {
	t.Helper()
	g := NewWithT(t)
	folder, err := project.Path(o.Folder())
	g.Expect(err).NotTo(HaveOccurred())
	files, err := filepath.Glob(filepath.Join(folder, below, "*", "kustomization.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	var found []string
	for _, file := range files {
		name, err := filepath.Rel(folder, filepath.Dir(file))
		g.Expect(err).NotTo(HaveOccurred())
		found = append(found, name)
	}
	return found
}

func (v variant) write(t *testing.T) string {
	t.Helper()
	return writeKustomization(t, strings.NewReplacer("/", "-", "+", "_").Replace(v.String()),
		func(up string) map[string]any {
			kustomization := map[string]any{"resources": []string{up + v.operator.Folder() + "/" + v.overlay}}
			var components []string
			for _, component := range v.components {
				components = append(components, up+v.operator.Folder()+"/"+component)
			}
			if components != nil {
				kustomization["components"] = components
			}
			if slices.Contains(v.components, "components/docs-url") {
				kustomization["configMapGenerator"] = []any{map[string]any{
					"name": "docs-url", "literals": []any{"url=https://docs.example.org"},
					"options": map[string]any{"disableNameSuffixHash": true, "annotations": map[string]any{
						"config.kubernetes.io/local-config": "true"}},
				}}
			}
			return kustomization
		})
}

// writeKustomization writes content(the relative path to the root) to a folder below out/.
func writeKustomization(t *testing.T, name string, content func(up string) map[string]any) string {
	t.Helper()
	g := NewWithT(t)
	folder := filepath.Join("out", "test", "deploy", name)
	path, err := project.Path(folder)
	g.Expect(err).NotTo(HaveOccurred())
	text, err := yaml.Marshal(content(strings.Repeat("../", 1+strings.Count(folder, "/"))))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.MkdirAll(path, 0o755)).To(Succeed())
	g.Expect(os.WriteFile(filepath.Join(path, "kustomization.yaml"), text, 0o644)).To(Succeed())
	return folder
}

func TestOverlays(t *testing.T) {
	admin, warned, config := startAPIServer(t)
	for _, o := range environment.All {
		apply(t, admin, o.Base())
		careless := deploymentOf(NewWithT(t), render(t, o.Base()), o.Name)
		careless.Spec.Template.Spec.SecurityContext = nil
		NewWithT(t).Expect(admin.Update(t.Context(), careless, client.DryRunAll)).To(Succeed())
		NewWithT(t).Expect(warned.texts).
			To(ContainElement(ContainSubstring("would violate PodSecurity")),
				"the API server should warn of a careless overlay")
		warned.texts = nil
	}
	all := variants(t)
	all = append(all, variant{}) // variant{} stands for deploy/samples/install
	accepted := &accepted{config: config, mapper: admin.RESTMapper(), objects: map[string]bool{}}
	for _, v := range all {
		name, folder := "samples/install", "deploy/samples/install"
		if v.overlay != "" {
			name, folder = v.String(), v.write(t)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects := render(t, folder)
			makeNamespaces(t, admin, objects)
			accepted.expect(t, objects)
			expectSameOfKubectl(t, folder, objects)
			if v.overlay != "" {
				expectHardened(t, v.operator, objects)
			}
			if slices.Contains(v.components, "components/network-policy") {
				expectConfined(t, v.operator, objects)
			}
		})
	}
}

// accepted remembers the objects that the API server has accepted: many overlays share them.
type accepted struct {
	config *rest.Config
	mapper meta.RESTMapper

	mu      sync.Mutex
	objects map[string]bool
}

func (a *accepted) expect(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	g, warned := NewWithT(t), &warnings{}
	config := rest.CopyConfig(a.config)
	config.WarningHandler = warned
	admin, err := client.New(config, client.Options{Mapper: a.mapper})
	g.Expect(err).NotTo(HaveOccurred())
	for _, o := range objects {
		text, err := json.Marshal(o)
		g.Expect(err).NotTo(HaveOccurred())
		if a.has(string(text)) {
			continue
		}
		g.Expect(manifests.Apply(t.Context(), admin, []*unstructured.Unstructured{o}, client.DryRunAll)).To(Succeed())
		if diff := cmp.Diff([]string(nil), warned.texts); diff != "" {
			t.Errorf("the API server warns of %s %s:\n%s", o.GetKind(), o.GetName(), diff)
			warned.texts = nil
			continue
		}
		a.add(string(text))
	}
}

func (a *accepted) has(object string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.objects[object]
}

func (a *accepted) add(object string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.objects[object] = true
}

// startAPIServer starts an API server without controllers, with prometheus-operator's kinds.
func startAPIServer(t *testing.T) (client.Client, *warnings, *rest.Config) {
	t.Helper()
	g := NewWithT(t)
	prometheus, err := testcluster.PrometheusOperatorCRDs(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	cluster, _ := start(t, testcluster.Options{CRDs: []string{prometheus}})
	warned := &warnings{}
	config := rest.CopyConfig(cluster.Config())
	config.WarningHandler = warned
	admin, err := client.New(config, client.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	return admin, warned, cluster.Config()
}

func makeNamespaces(t *testing.T, admin client.Client, objects []*unstructured.Unstructured) {
	t.Helper()
	names := map[string]bool{}
	for _, o := range objects {
		if o.GetNamespace() != "" {
			names[o.GetNamespace()] = true
		}
	}
	for name := range names {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		err := admin.Create(t.Context(), namespace)
		NewWithT(t).Expect(client.IgnoreAlreadyExists(err)).To(Succeed())
	}
}

// expectSameOfKubectl compares the objects with the result of `kubectl kustomize`.
func expectSameOfKubectl(t *testing.T, folder string, objects []*unstructured.Unstructured) {
	t.Helper()
	g := NewWithT(t)
	path, err := project.Path(folder)
	g.Expect(err).NotTo(HaveOccurred())
	out, err := exec.CommandContext(t.Context(), kubectl.Path(t), "kustomize", path).Output()
	g.Expect(err).NotTo(HaveOccurred())
	want, got := map[string]any{}, map[string]any{}
	for _, o := range objects {
		want[nameOf(o)] = o.Object
	}
	documents := utilyaml.NewYAMLToJSONDecoder(strings.NewReader(string(out)))
	for {
		o := &unstructured.Unstructured{}
		if err := documents.Decode(o); err != nil {
			break // the comparison below reports the objects that are missing after an error
		}
		got[nameOf(o)] = o.Object
	}
	g.Expect(slices.Sorted(maps.Keys(got))).To(Equal(slices.Sorted(maps.Keys(want))))
	for name := range want {
		if !reflect.DeepEqual(want[name], got[name]) { // cmp.Diff is slow for large objects
			t.Errorf("kubectl kustomize makes another %s:\n%s", name, cmp.Diff(want[name], got[name]))
		}
	}
}

func nameOf(o *unstructured.Unstructured) string {
	return strings.Join([]string{o.GroupVersionKind().Group, o.GetKind(), o.GetNamespace(), o.GetName()}, "/")
}

// expectHardened checks settings that pod security does not cover, and the selectors of pods.
func expectHardened(t *testing.T, o environment.Operator, objects []*unstructured.Unstructured) {
	t.Helper()
	g := NewWithT(t)
	deployment := deploymentOf(g, objects, o.Name)
	pod := &deployment.Spec.Template
	labels := k8slabels.Set(pod.Labels)
	g.Expect(pod.Spec.ServiceAccountName).To(Equal(o.Name))
	g.Expect(pod.Spec.TopologySpreadConstraints).NotTo(BeEmpty())
	for _, spread := range pod.Spec.TopologySpreadConstraints {
		g.Expect(spread.LabelSelector.MatchLabels).To(Equal(deployment.Spec.Selector.MatchLabels))
	}
	ports := map[string]bool{}
	g.Expect(pod.Spec.Containers).To(HaveLen(1))
	c := pod.Spec.Containers[0]
	g.Expect(c.SecurityContext.ReadOnlyRootFilesystem).To(HaveValue(BeTrue()))
	g.Expect(c.Resources.Requests).To(And(HaveKey(corev1.ResourceCPU), HaveKey(corev1.ResourceMemory)))
	g.Expect(c.Resources.Limits).To(HaveKey(corev1.ResourceMemory))
	g.Expect(c.LivenessProbe).NotTo(BeNil())
	g.Expect(c.ReadinessProbe).NotTo(BeNil())
	for _, port := range c.Ports {
		ports[port.Name] = true
	}

	var budget policyv1.PodDisruptionBudget
	g.Expect(pick(objects, "PodDisruptionBudget", o.Name, &budget)).To(Succeed())
	g.Expect(matches(g, budget.Spec.Selector, labels)).To(BeTrue())
	var service corev1.Service
	g.Expect(pick(objects, "Service", o.Name+"-metrics", &service)).To(Succeed())
	g.Expect(k8slabels.SelectorFromSet(service.Spec.Selector).Matches(labels)).To(BeTrue())
	g.Expect(ports).To(HaveKey(service.Spec.Ports[0].TargetPort.String()))
}

// expectConfined expects a NetworkPolicy that limits ports, the clients of metrics, and egress.
func expectConfined(t *testing.T, o environment.Operator, objects []*unstructured.Unstructured) {
	t.Helper()
	g := NewWithT(t)
	pod := deploymentOf(g, objects, o.Name).Spec.Template
	ports := map[string]bool{}
	for _, port := range pod.Spec.Containers[0].Ports {
		ports[port.Name] = true
	}
	var policy networkingv1.NetworkPolicy
	g.Expect(pick(objects, "NetworkPolicy", o.Name, &policy)).To(Succeed())
	g.Expect(matches(g, &policy.Spec.PodSelector, k8slabels.Set(pod.Labels))).To(BeTrue())
	g.Expect(policy.Spec.PolicyTypes).To(ConsistOf(networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress))
	for _, rule := range policy.Spec.Ingress {
		for _, port := range rule.Ports {
			g.Expect(ports).To(HaveKey(port.Port.String()))
			g.Expect(port.Port.String() == "metrics" && len(rule.From) == 0).
				To(BeFalse(), "the metrics port should have a list of clients")
		}
	}
	for _, rule := range policy.Spec.Egress {
		g.Expect(len(rule.Ports)+len(rule.To)).To(BeNumerically(">", 0), "an empty rule allows everything")
	}
}

func TestNetworkPolicies(t *testing.T) {
	const strict = "components/network-policy"
	egress := func(t *testing.T, o environment.Operator, more ...string) (names, api networkingv1.NetworkPolicyEgressRule) {
		t.Helper()
		var policy networkingv1.NetworkPolicy
		objects := render(t, variant{o, "base", append([]string{strict}, more...)}.write(t))
		expectConfined(t, o, objects)
		NewWithT(t).Expect(pick(objects, "NetworkPolicy", o.Name, &policy)).To(Succeed())
		return policy.Spec.Egress[0], policy.Spec.Egress[1]
	}
	for _, o := range environment.All {
		t.Run(o.Name, func(t *testing.T) {
			g := NewWithT(t)
			names, api := egress(t, o)
			g.Expect(names.To).NotTo(BeEmpty())
			g.Expect(api.Ports).To(HaveEach(HaveField("Port", Not(BeNil()))))
			anyNames, sameAPI := egress(t, o, strict+"-any-dns")
			g.Expect(anyNames.To).To(BeEmpty())
			g.Expect(anyNames.Ports).To(HaveEach(HaveField("Port.IntVal", BeElementOf(int32(53), int32(5353)))))
			g.Expect(sameAPI).To(Equal(api))
			sameNames, anyAPI := egress(t, o, strict+"-any-api-port")
			g.Expect(sameNames).To(Equal(names))
			g.Expect(anyAPI.Ports).To(ConsistOf(HaveField("Port", BeNil())))
		})
	}
}

func TestOverlaysDiffer(t *testing.T) {
	for _, o := range environment.All {
		t.Run(o.Name, func(t *testing.T) {
			g := NewWithT(t)
			development := deploymentOf(g, render(t, o.Folder()+"/overlays/development"), o.Name)
			g.Expect(development.Spec.Replicas).To(HaveValue(Equal(int32(1))))
			g.Expect(development.Spec.Template.Spec.Containers[0].Args).
				To(ContainElements("--leader-elect", "--zap-log-level=debug"))
			production := deploymentOf(g, render(t, production(o)), o.Name)
			g.Expect(production.Spec.Replicas).To(HaveValue(Equal(int32(2))))
			c := production.Spec.Template.Spec.Containers[0]
			g.Expect(c.Args).To(And(ContainElement("--leader-elect"), Not(ContainElement(ContainSubstring("zap")))))
			g.Expect(c.Resources.Requests.Memory().Equal(*c.Resources.Limits.Memory())).
				To(BeTrue(), "the memory request should equal the limit")
			components, roles := []string{"components/namespaced"}, []string{o.Name}
			if o == environment.Discord {
				components = append([]string{"components/namespace-selectors"}, components...)
				roles = append(roles, o.Name+"-namespaces")
			}
			namespaced := render(t, variant{o, "overlays/production", components}.write(t))
			for _, name := range roles {
				// Without these objects, an apply would keep the former rights.
				var role rbacv1.ClusterRole
				g.Expect(pick(namespaced, "ClusterRole", name, &role)).To(Succeed())
				g.Expect(role.Rules).To(BeEmpty(), "no cluster-wide right should remain")
				var binding rbacv1.ClusterRoleBinding
				g.Expect(pick(namespaced, "ClusterRoleBinding", name, &binding)).To(Succeed())
				g.Expect(binding.Subjects).To(BeEmpty(), "no cluster-wide right should remain")
			}
		})
	}
}

func deploymentOf(g *WithT, objects []*unstructured.Unstructured, name string) *appsv1.Deployment {
	var deployment appsv1.Deployment
	g.Expect(pick(objects, "Deployment", name, &deployment)).To(Succeed())
	return &deployment
}

// pick decodes an object, and fails if the object has unknown fields.
func pick(objects []*unstructured.Unstructured, kind, name string, into any) error {
	i := slices.IndexFunc(objects,
		func(o *unstructured.Unstructured) bool { return o.GetKind() == kind && o.GetName() == name })
	if i < 0 {
		return os.ErrNotExist
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(objects[i].Object, into, true)
}

func matches(g *WithT, selector *metav1.LabelSelector, labels k8slabels.Set) bool {
	s, err := metav1.LabelSelectorAsSelector(selector)
	g.Expect(err).NotTo(HaveOccurred())
	return !s.Empty() && s.Matches(labels)
}
