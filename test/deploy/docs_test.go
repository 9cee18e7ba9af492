// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/environment"
	"jutsu.com/operators/test/testcluster/manifests"
	"jutsu.com/operators/test/testcluster/project"
)

var pages = map[string]int{
	"README.md": 1, "docs/do/database.md": 2, "docs/do/restore.md": 1, "docs/do/backups.md": 1, "docs/do/channels.md": 3,
	"docs/do/teams.md": 4, "docs/do/pods.md": 1, "docs/do/expose.md": 2, "docs/platform/disaster.md": 1,
	"docs/reference/dojo.md": 1, "docs/reference/discordserver.md": 1, "docs/reference/discordgroup.md": 1,
	"docs/reference/discordchannel.md": 3, "docs/reference/discordrole.md": 1,
}

var (
	manifest = regexp.MustCompile("(?s)```yaml\n(.*?)```")
	row      = regexp.MustCompile("(?m)^\\| `(?:dojo|discord)_.*")
	metric   = regexp.MustCompile("`((?:dojo|discord)_[a-z_]+)")
)

func TestManifestsOfTheDocs(t *testing.T) {
	t.Parallel()
	admin, _, _ := startAPIServer(t)
	for _, o := range environment.All {
		apply(t, admin, o.Base())
	}
	awaitKinds(t, admin, both...)
	for _, page := range allPages(t) {
		least, taken := pages[page], 0
		for _, block := range manifest.FindAllStringSubmatch(text(t, page), -1) {
			for _, o := range objectsOf(t, block[1]) {
				o.SetNamespace("default")
				if err := admin.Create(t.Context(), o, client.DryRunAll, client.FieldValidation("Strict")); err != nil {
					t.Errorf("%s shows what the API server refuses: %v\n%s", page, err, block[1])
				}
				taken++
			}
		}
		if taken < least {
			t.Errorf("%d manifests found in %s, which has at least %d", taken, page, least)
		}
	}
}

func allPages(t *testing.T) []string {
	t.Helper()
	g := NewWithT(t)
	root, err := project.Root()
	g.Expect(err).NotTo(HaveOccurred())
	all := []string{"README.md"}
	for _, pattern := range []string{"docs/*.md", "docs/*/*.md"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		g.Expect(err).NotTo(HaveOccurred())
		for _, file := range files {
			name, err := filepath.Rel(root, file)
			g.Expect(err).NotTo(HaveOccurred())
			all = append(all, filepath.ToSlash(name))
		}
	}
	for page := range pages {
		g.Expect(all).To(ContainElement(page))
	}
	return all
}

// Other tests check the commands of these pages.
var notRun = []string{"docs/do/install.md", "docs/do/gitops.md", "docs/do/kind-k3d.md"}

func TestCommandsOfTheDocsAreRun(t *testing.T) {
	var specs strings.Builder
	files, err := filepath.Glob("../e2e/*_test.go")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for _, file := range files {
		code, err := os.ReadFile(file)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		specs.Write(code)
	}
	checked := 0
	for _, page := range allPages(t) {
		task, isTask := strings.CutPrefix(page, "docs/do/")
		if !isTask || slices.Contains(notRun, page) {
			continue
		}
		for _, section := range strings.Split(text(t, page), "\n## ") {
			title, commands, _ := strings.Cut(section, "\n")
			if !strings.Contains(commands, "```sh\n") {
				continue
			}
			title = strings.TrimPrefix(title, "# ")
			if checked++; !strings.Contains(specs.String(), fmt.Sprintf("runDocumented(ctx, %q, %q, ", task, title)) {
				t.Errorf("no spec runs the commands of %q in %s", title, page)
			}
		}
	}
	if checked < 11 {
		t.Errorf("%d sections with commands were found", checked)
	}
}

func TestSampleOfTenants(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	admin, warned, _ := startAPIServer(t)
	for _, o := range environment.All {
		apply(t, admin, o.Base())
	}
	awaitKinds(t, admin, both...)
	namespaces := render(t, installSample+"/namespaces") // without a controller, new quotas refuse all objects
	g.Expect(manifests.Apply(t.Context(), admin, manifests.Without(namespaces, "ResourceQuota"))).To(Succeed())
	g.Expect(manifests.Apply(t.Context(), admin, namespaces, client.DryRunAll)).To(Succeed())
	objects := render(t, tenantsSample)
	g.Expect(manifests.Apply(t.Context(), admin, objects, client.DryRunAll)).To(Succeed())
	g.Expect(warned.texts).To(BeEmpty())
	var server v1alpha1.DiscordServer
	g.Expect(pick(objects, "DiscordServer", "company", &server)).To(Succeed())
	g.Expect(server.Spec.AllowedNamespaces).To(BeNil(), "teams use the group, not the server itself")
	var group v1alpha1.DiscordGroup
	g.Expect(pick(objects, "DiscordGroup", "alerts", &group)).To(Succeed())
	g.Expect(group.Spec.AllowedNamespaces).To(HaveValue(HaveField("From", v1alpha1.FromAll)),
		"an operator with --watch-namespaces cannot use a selector")
	var token corev1.Secret
	g.Expect(pick(objects, "Secret", server.Spec.TokenSecretRef.Name, &token)).To(Succeed())
	g.Expect(token.Annotations).To(HaveKeyWithValue(v1alpha1.AllowedServersAnnotation, server.Spec.ServerID))
	var sharing []string
	for _, o := range objects {
		ref, _, err := unstructured.NestedStringMap(o.Object, "spec", "alerts", "discord", "groupRef")
		g.Expect(err).NotTo(HaveOccurred())
		if o.GetKind() == "Dojo" && ref["namespace"] == group.Namespace && ref["name"] == group.Name {
			sharing = append(sharing, o.GetNamespace())
		}
	}
	g.Expect(sharing).To(Equal(teams))
}

// objectsOf parses the objects of our kinds in a code block. It makes a Dojo of a document that has
// a spec but no kind.
func objectsOf(t *testing.T, block string) (all []*unstructured.Unstructured) {
	t.Helper()
	documents := utilyaml.NewYAMLToJSONDecoder(strings.NewReader(block))
	for {
		o := &unstructured.Unstructured{}
		if err := documents.Decode(&o.Object); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Errorf("no YAML: %v\n%s", err, block)
			return all
		}
		spec, isPart := o.Object["spec"].(map[string]any)
		switch {
		case strings.HasSuffix(o.GroupVersionKind().Group, ".jutsu.com"):
			all = append(all, o)
		case isPart && o.GetKind() == "":
			dojo := map[string]any{"accountId": "a", "title": "t", "credentialsRef": map[string]any{"name": "dojo-app"}}
			for key, value := range spec {
				dojo[key] = value
			}
			if dojo["postgres"] != nil {
				delete(dojo, "credentialsRef")
			}
			all = append(all, &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "core.jutsu.com/v1", "kind": "Dojo", "metadata": map[string]any{"name": "tokyo"}, "spec": dojo,
			}})
		}
	}
}

func TestMetricsOfTheDocs(t *testing.T) {
	g := NewWithT(t)
	var sources strings.Builder
	for _, folder := range []string{"dojo-operator", "discord-operator", "libs/discordclient"} {
		root, err := project.Path(folder)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path)
			sources.Write(source)
			return err
		})).To(Succeed())
	}
	listed := metric.FindAllStringSubmatch(strings.Join(row.FindAllString(text(t, "docs/metrics.md"), -1), "\n"), -1)
	g.Expect(len(listed)).To(BeNumerically(">", 12))
	for _, name := range listed {
		if !strings.Contains(sources.String(), `"`+name[1]+`"`) {
			t.Errorf("docs/metrics.md lists the metric %s, which does not exist", name[1])
		}
	}
}

func text(t *testing.T, file string) string {
	t.Helper()
	path, err := project.Path(file)
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
