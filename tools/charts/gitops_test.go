// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"jutsu.com/operators/test/testcluster/manifests"
)

// See https://github.com/argoproj/argo-cd/blob/v3.2.0/pkg/apis/application/v1alpha1/types.go.
type application struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Project     string `json:"project"`
		Destination struct {
			Server    string `json:"server"`
			Namespace string `json:"namespace"`
		} `json:"destination"`
		Source struct {
			RepoURL        string `json:"repoURL"`
			Chart          string `json:"chart"`
			Path           string `json:"path"`
			TargetRevision string `json:"targetRevision"`
			Helm           struct {
				ValuesObject map[string]any `json:"valuesObject"`
			} `json:"helm"`
			Kustomize struct {
				Components []string `json:"components"`
			} `json:"kustomize"`
		} `json:"source"`
		SyncPolicy struct {
			Automated struct {
				Prune    bool `json:"prune"`
				SelfHeal bool `json:"selfHeal"`
			} `json:"automated"`
			SyncOptions []string `json:"syncOptions"`
			Retry       struct {
				Limit   int64 `json:"limit"`
				Backoff struct {
					Duration    string `json:"duration"`
					Factor      int64  `json:"factor"`
					MaxDuration string `json:"maxDuration"`
				} `json:"backoff"`
			} `json:"retry"`
		} `json:"syncPolicy"`
	} `json:"spec"`
}

const gitOpsSamples = "deploy/samples/gitops"

type gitOps struct {
	admin client.Client

	releases     []*helmv2.HelmRelease
	artifacts    map[string]*sourcev1.OCIRepository
	applied      map[string]*kustomizev1.Kustomization
	git          map[string]*sourcev1.GitRepository
	applications map[string]*application
}

// The samples have no unknown fields, and everything that they refer to can be applied.
func TestGitOps(t *testing.T) {
	admin := clusterWithKinds(t)
	for _, folder := range []string{"flux/charts", "flux/artifacts", "argocd/charts", "argocd/artifacts", "flux/cluster"} {
		t.Run(folder, func(t *testing.T) {
			s := decoded(t, folder)
			s.admin = admin
			switch folder {
			case "flux/cluster":
				s.checkCluster(t)
				return
			case "flux/charts":
				NewWithT(t).Expect(s.releases).To(HaveLen(len(operators)))
			case "flux/artifacts":
				NewWithT(t).Expect(s.applied).To(HaveLen(len(operators)))
			default:
				NewWithT(t).Expect(s.applications).To(HaveLen(len(operators) + 1))
			}
			s.checkReleases(t)
			s.checkArtifacts(t)
			s.checkApplications(t)
		})
	}
}

// clusterWithKinds creates the kinds and namespaces that the dry runs of objects require.
func clusterWithKinds(t *testing.T) client.Client {
	t.Helper()
	g := NewWithT(t)
	cluster := startCluster(t)
	admin, err := client.New(cluster.Config(), client.Options{FieldValidation: metav1.FieldValidationStrict})
	g.Expect(err).NotTo(HaveOccurred())
	for _, o := range operators {
		kinds, err := manifests.Render(filepath.Join(folderOf(t, o), "crds"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(manifests.Apply(t.Context(), admin, kinds)).To(Succeed())
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: o.Namespace}}
		g.Expect(admin.Create(t.Context(), namespace)).To(Succeed())
	}
	g.Expect(admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "school"}})).To(Succeed())
	return admin
}

func decoded(t *testing.T, folder string) *gitOps {
	t.Helper()
	g := NewWithT(t)
	s := &gitOps{artifacts: map[string]*sourcev1.OCIRepository{}, applied: map[string]*kustomizev1.Kustomization{},
		git: map[string]*sourcev1.GitRepository{}, applications: map[string]*application{}}
	objects, err := manifests.Render(filepath.Join(root(t), gitOpsSamples, folder))
	g.Expect(err).NotTo(HaveOccurred())
	for _, o := range objects {
		switch o.GetAPIVersion() + " " + o.GetKind() {
		case helmv2.GroupVersion.String() + " HelmRelease":
			s.releases = append(s.releases, as[helmv2.HelmRelease](t, o))
		case sourcev1.GroupVersion.String() + " OCIRepository":
			s.artifacts[o.GetName()] = as[sourcev1.OCIRepository](t, o)
		case sourcev1.GroupVersion.String() + " GitRepository":
			s.git[o.GetName()] = as[sourcev1.GitRepository](t, o)
		case kustomizev1.GroupVersion.String() + " Kustomization":
			s.applied[o.GetName()] = as[kustomizev1.Kustomization](t, o)
		case "argoproj.io/v1alpha1 Application":
			s.applications[o.GetName()] = as[application](t, o)
			g.Expect(o.GetNamespace()).To(Equal("argocd"))
			continue
		default:
			t.Errorf("%s %s is no kind of Flux or Argo CD", o.GetAPIVersion(), o.GetKind())
		}
		g.Expect(o.GetNamespace()).To(Equal("flux-system"))
	}
	return s
}

func as[T any](t *testing.T, o *unstructured.Unstructured) *T {
	t.Helper()
	text, err := yaml.Marshal(o.Object)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	into := new(T)
	NewWithT(t).Expect(yaml.UnmarshalStrict(text, into)).To(Succeed(), "%s %s", o.GetKind(), o.GetName())
	return into
}

func (s *gitOps) checkReleases(t *testing.T) {
	g := NewWithT(t)
	for _, release := range s.releases {
		o := operatorNamed(t, release.Name)
		g.Expect(release.Spec.TargetNamespace).To(Equal(o.Namespace))
		g.Expect(release.Spec.StorageNamespace).To(Equal(o.Namespace))
		g.Expect(release.Spec.ReleaseName).To(Equal(o.Name))
		g.Expect(release.Spec.Install.CreateNamespace).To(BeTrue())
		g.Expect(release.Spec.ChartRef.Kind).To(Equal("OCIRepository"))
		source := s.artifacts[release.Spec.ChartRef.Name]
		g.Expect(source).NotTo(BeNil())
		g.Expect(source.Spec.URL).To(HaveSuffix("/charts/" + o.Name))
		g.Expect(source.Spec.LayerSelector.Operation).To(Equal("copy"))
		s.dryRunChart(t, o, release.GetValues())
	}
}

func (s *gitOps) checkArtifacts(t *testing.T) {
	g := NewWithT(t)
	for name, kustomization := range s.applied {
		o := operatorNamed(t, name)
		g.Expect(kustomization.Spec.SourceRef.Kind).To(Equal("OCIRepository"))
		source := s.artifacts[kustomization.Spec.SourceRef.Name]
		g.Expect(source).NotTo(BeNil())
		g.Expect(source.Spec.URL).To(HaveSuffix("/manifests/" + o.Name))
		s.dryRunManifests(t, o, kustomization.Spec.Components)
	}
}

func (s *gitOps) checkApplications(t *testing.T) {
	g := NewWithT(t)
	for name, a := range s.applications {
		source, sync := a.Spec.Source, a.Spec.SyncPolicy
		g.Expect(sync.SyncOptions).To(ContainElement("ServerSideApply=true"), "the kinds are too large for an annotation")
		if name == "school" {
			g.Expect(sync.SyncOptions).To(ContainElement("SkipDryRunOnMissingResource=true"))
			g.Expect(sync.Retry.Limit).To(Equal(int64(-1)))
			s.dryRunSchool(t, source.Path)
			continue
		}
		o := operatorNamed(t, name)
		g.Expect(a.Spec.Destination.Namespace).To(Equal(o.Namespace))
		if source.Chart != "" {
			g.Expect(source.Chart).To(Equal(o.Name))
			g.Expect(source.RepoURL).To(HaveSuffix("/charts"))
			g.Expect(sync.SyncOptions).To(ContainElement("CreateNamespace=true"))
			s.dryRunChart(t, o, source.Helm.ValuesObject)
			continue
		}
		g.Expect(source.RepoURL).To(And(HavePrefix("oci://"), HaveSuffix("/manifests/"+o.Name)))
		s.dryRunManifests(t, o, source.Kustomize.Components)
	}
}

// checkCluster only compares the health checks with the docs; test/observability evaluates them.
func (s *gitOps) checkCluster(t *testing.T) {
	g := NewWithT(t)
	g.Expect(s.applied).To(And(HaveLen(2), HaveKey("operators"), HaveKey("school")))
	for name, kustomization := range s.applied {
		g.Expect(kustomization.Spec.SourceRef.Kind).To(Equal("GitRepository"))
		g.Expect(s.git).To(HaveKey(kustomization.Spec.SourceRef.Name))
		_, err := manifests.Render(filepath.Join(root(t), gitOpsSamples, kustomization.Spec.Path))
		g.Expect(err).NotTo(HaveOccurred(), name)
	}
	g.Expect(s.applied["operators"].Spec.Wait).To(BeTrue())
	school := s.applied["school"].Spec
	g.Expect(school.DependsOn).To(ConsistOf(HaveField("Name", "operators")))
	kinds := s.dryRunSchool(t, school.Path)
	var checked []string
	for _, check := range school.HealthCheckExprs {
		checked = append(checked, check.Kind)
	}
	g.Expect(checked).To(ContainElements(kinds))
	page, err := os.ReadFile(filepath.Join(root(t), "docs", "do", "gitops.md"))
	g.Expect(err).NotTo(HaveOccurred())
	_, block, _ := strings.Cut(string(page), "```yaml\n")
	block, _, _ = strings.Cut(block, "```")
	documented := &kustomizev1.Kustomization{}
	g.Expect(yaml.UnmarshalStrict([]byte(block), documented)).To(Succeed())
	g.Expect(cmp.Diff(documented.Spec.HealthCheckExprs, school.HealthCheckExprs)).To(BeEmpty())
}

func operatorNamed(t *testing.T, name string) operator {
	t.Helper()
	i := slices.IndexFunc(operators, func(o operator) bool { return o.Name == name })
	if i < 0 {
		t.Fatalf("%s is no operator", name)
	}
	return operators[i]
}

func (s *gitOps) dryRunChart(t *testing.T, o operator, values map[string]any) {
	t.Helper()
	objects, err := manifests.Parse([]byte(templated(t, o, load(t, o), values).Manifest))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	s.dryRun(t, objects, "CustomResourceDefinition", "Deployment", "NetworkPolicy")
}

// dryRunManifests applies, as a dry run, the overlay that the OCI artifact of a release contains.
func (s *gitOps) dryRunManifests(t *testing.T, o operator, components []string) {
	t.Helper()
	resources, err := build(folderOf(t, o), types.Kustomization{
		Resources: []string{"overlays/production"}, Components: components})
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	var objects []*unstructured.Unstructured
	for _, r := range resources {
		text, err := r.MarshalJSON()
		g.Expect(err).NotTo(HaveOccurred())
		object := &unstructured.Unstructured{}
		g.Expect(object.UnmarshalJSON(text)).To(Succeed())
		objects = append(objects, object)
	}
	s.dryRun(t, objects, "CustomResourceDefinition", "Namespace", "Deployment", "NetworkPolicy")
}

func (s *gitOps) dryRunSchool(t *testing.T, folder string) (kinds []string) {
	t.Helper()
	objects, err := manifests.Render(filepath.Join(root(t), gitOpsSamples, path.Clean(folder)))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	s.dryRun(t, objects, "Namespace", "Dojo", "DiscordServer", "DiscordGroup")
	for _, o := range objects {
		if strings.HasSuffix(o.GroupVersionKind().Group, "jutsu.com") {
			kinds = append(kinds, o.GetKind())
		}
	}
	return kinds
}

// Flux and Argo CD must not delete a kind or a namespace, and with it all objects there.
func expectUnpruned(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	for _, o := range objects {
		if o.GetKind() == "CustomResourceDefinition" || o.GetKind() == "Namespace" {
			NewWithT(t).Expect(o.GetAnnotations()).To(And(
				HaveKeyWithValue("kustomize.toolkit.fluxcd.io/prune", "disabled"),
				HaveKeyWithValue("argocd.argoproj.io/sync-options", "Prune=false,Delete=false"),
			), "%s %s", o.GetKind(), o.GetName())
		}
	}
}

func TestNothingIsPruned(t *testing.T) {
	g := NewWithT(t)
	for folder, want := range map[string][]string{
		"deploy/dojo-operator/overlays/production":    {"CustomResourceDefinition", "Namespace"},
		"deploy/discord-operator/overlays/production": {"CustomResourceDefinition", "Namespace"},
		gitOpsSamples + "/school":                     {"Namespace"},
		"deploy/samples/install/namespaces":           {"Namespace"},
	} {
		objects, err := manifests.Render(filepath.Join(root(t), folder))
		g.Expect(err).NotTo(HaveOccurred())
		expectUnpruned(t, objects)
		for _, kind := range want {
			g.Expect(objects).To(ContainElement(HaveField("GetKind()", kind)), folder)
		}
	}
	for _, o := range operators {
		objects, err := manifests.Parse([]byte(templated(t, o, load(t, o), nil).Manifest))
		g.Expect(err).NotTo(HaveOccurred())
		expectUnpruned(t, objects)
	}
}

func (s *gitOps) dryRun(t *testing.T, objects []*unstructured.Unstructured, expected ...string) {
	t.Helper()
	g := NewWithT(t)
	expectUnpruned(t, objects)
	var kinds []string
	for _, o := range objects {
		kinds = append(kinds, o.GetKind())
	}
	g.Expect(manifests.Apply(t.Context(), s.admin, objects, client.DryRunAll)).To(Succeed())
	g.Expect(kinds).To(ContainElements(expected))
}
