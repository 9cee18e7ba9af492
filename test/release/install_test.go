// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/test/environment"
	"jutsu.com/operators/test/internal/kubectl"
	"jutsu.com/operators/test/testcluster"
	"jutsu.com/operators/test/testcluster/manifests"
	"jutsu.com/operators/test/testcluster/project"
)

// The image does not exist: the cluster has no nodes to pull it.
const image = "registry.invalid/jutsu/operator:v0.1.0@" +
	"sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func install(t *testing.T, o environment.Operator) []byte {
	t.Helper()
	root, err := project.Root()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(root, "bin", "release"), "manifest", o.Name, "--version=v0.1.0",
		"--image="+image)
	cmd.Dir = root
	var printed bytes.Buffer
	cmd.Stderr = &printed
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v (it is built by `make bin/release`, which `make integration` does): %s", err, &printed)
	}
	return text
}

// A second apply of install.yaml does not change the Deployment.
func TestInstall(t *testing.T) {
	cluster, err := testcluster.Start(t.Context(), testcluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	admin, err := client.New(cluster.Config(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range environment.All {
		t.Run(o.Name, func(t *testing.T) {
			g := NewWithT(t)
			text := install(t, o)
			objects := parse(t, text)
			g.Expect(objects[0].GetKind()).To(Equal("Namespace"))
			deployment := func() *appsv1.Deployment {
				var found appsv1.Deployment
				g.Expect(admin.Get(t.Context(), client.ObjectKey{Namespace: o.Namespace, Name: o.Name}, &found)).To(Succeed())
				return &found
			}
			g.Expect(manifests.Apply(t.Context(), admin, objects)).To(Succeed())
			installed := deployment()
			g.Expect(installed.Spec.Template.Spec.Containers[0].Image).To(Equal(
				"registry.invalid/jutsu/operator@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"))
			g.Expect(installed.Labels).To(HaveKeyWithValue("app.kubernetes.io/version", "v0.1.0"))
			g.Expect(installed.Spec.Selector.MatchLabels).
				NotTo(HaveKey("app.kubernetes.io/version"), "a selector can never change")
			g.Expect(manifests.Apply(t.Context(), admin, objects)).To(Succeed())
			g.Expect(deployment().Generation).To(Equal(installed.Generation))
			t.Run("by kubectl", func(t *testing.T) { kubectlApplies(t, cluster, text) })
		})
	}
}

func parse(t *testing.T, text []byte) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); err != nil {
			return objects // after an error, the test fails because objects are missing
		}
		objects = append(objects, object)
	}
}

func kubectlApplies(t *testing.T, cluster *testcluster.Cluster, text []byte) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "install.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, way := range []string{"--server-side=true", "--server-side=false"} {
		arguments := []string{"--kubeconfig=" + cluster.Kubeconfig(), "apply", way, "--validate=strict",
			"--filename=" + file}
		if way == "--server-side=true" {
			arguments = append(arguments, "--force-conflicts") // an earlier apply had another field manager
		}
		cmd := exec.CommandContext(t.Context(), kubectl.Path(t), arguments...)
		cmd.WaitDelay = time.Second
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("kubectl apply %s: %v:\n%s", way, err, out)
		}
	}
}
