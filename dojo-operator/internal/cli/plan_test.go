// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
)

func TestWrongUseOfPlan(t *testing.T) {
	t.Parallel()
	s := sendai(t)
	for args, want := range map[string]string{
		"plan":                                      "the name of a Dojo is missing: kubectl dojo plan NAME, or -f FILE, or -A for all",
		"plan sendai osaka":                         `unexpected argument "osaka": name one Dojo, as in kubectl dojo plan NAME`,
		"plan sendai -A":                            "name only one: a file with -f, a Dojo, or all Dojos with -A",
		"plan sendai -f x.yaml":                     "name only one: a file with -f, a Dojo, or all Dojos with -A",
		"plan -A --operator-version 2":              "this is kubectl-dojo v1.2.3, which plans the writes of dojo-operator v1.2.3 alone",
		"plan sendai -o text":                       "must be json or yaml",
		"plan sendai --operator-args --dojo-image=": "--operator-args: --dojo-image must not be empty",
		"plan sendai --operator-args --unknown":     "--operator-args: flag provided but not defined: -unknown",
	} {
		if got := run(t, s, "", strings.Fields(args)...); got.code != 2 || !strings.Contains(got.err, want) {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
	for args, want := range map[string]string{
		"plan osaka --operator-version 1.2.3": `there is no Dojo "osaka"`,
		"plan -f missing.yaml":                "the path \"missing.yaml\" does not exist",
		"plan -f -":                           "-f - has no Dojo, but a plan needs at least one Dojo",
	} {
		if got := run(t, s, "", strings.Fields(args)...); got.code != 1 || !strings.Contains(got.err, want) {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
	if writes := s.Writes(); len(writes) > 0 {
		t.Errorf("a plan writes %v", writes)
	}
}

func TestOperatorOptions(t *testing.T) {
	t.Parallel()
	deployment := kinds.Deployment.Object()
	deployment.SetNamespace("dojo-system")
	deployment.SetName("dojo-operator")
	deployment.SetLabels(map[string]string{"app.kubernetes.io/name": "dojo-operator"})
	running := func(args ...any) {
		deployment.Object["spec"] = map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{
			map[string]any{"name": "operator", "image": "registry.example/dojo-operator:v1.2.2@sha256:0", "args": args},
		}}}}
	}
	s := sendai(t, func(d *corev1api.Dojo) { d.ResourceVersion = "1" })
	s.Deny("list deployments.apps")
	if got := run(t, s, "", "plan", "sendai"); !strings.Contains(got.out, "or you may not list it. The plan assumes the default flags") {
		t.Error(got)
	}
	s = sendai(t, func(d *corev1api.Dojo) { d.ResourceVersion = "1" })
	running("--leader-elect", "--progress-deadline=33s")
	s.Put(deployment)
	got := run(t, s, "", "plan", "sendai")
	if !strings.Contains(got.out, "progressDeadlineSeconds: none -> 33") ||
		!strings.Contains(got.out, "Note: The cluster runs dojo-operator v1.2.2, but this plan is for dojo-operator v1.2.3.") {
		t.Error(got)
	}
	running("--gone")
	s.Put(deployment)
	if got := run(t, s, "", "plan", "sendai"); got.code != 1 || !strings.Contains(got.err,
		"dojo-operator v1.2.3 would not start with the flags of the Deployment dojo-system/dojo-operator") {
		t.Error(got)
	}
	if writes := s.Writes(); len(writes) > 0 {
		t.Errorf("a plan writes %v", writes)
	}
}

func TestSizesOfPlan(t *testing.T) {
	t.Parallel()
	const known, unknown = `spec.postgresql.parameters.work_mem: none -> "9MB"`, "UnknownSize"
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "Huge"), []byte(hugeSize), 0o600); err != nil {
		t.Fatal(err)
	}
	mounted := "--operator-args=--postgres-sizes=" + sizesFolder
	for name, c := range map[string]struct {
		args string
		deny string
		want []string
	}{
		"sizes in the operator's ConfigMap": {"", "", []string{known}},
		"unreadable ConfigMap": {"", "get configmaps", []string{
			unknown, "You may not read the sizes of databases in the ConfigMap dojo-system/",
		}},
		"unreadable Deployment": {"", "list deployments.apps", []string{
			unknown, "and the built-in sizes and images of databases",
		}},
		"local folder in --operator-args": {"--operator-args=--postgres-sizes=" + folder, "list deployments.apps", []string{known}},
		"mount path in --operator-args":   {mounted, "", []string{known}},
		"mount path in --operator-args, unreadable Deployment": {mounted, "list deployments.apps", []string{
			unknown, "The plan did not find the ConfigMap that dojo-operator mounts at ",
		}},
		"no sizes in --operator-args": {"--operator-args=--leader-elect", "", []string{unknown}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sendai(t, func(d *corev1api.Dojo) {
				d.ResourceVersion = "1"
				d.Spec.Postgres.Cluster.Size = "Huge"
			})
			s.Put(withSizes()...)
			if c.deny != "" {
				s.Deny(c.deny)
			}
			args := []string{"plan", "sendai"}
			if c.args != "" {
				args = append(args, c.args)
			}
			got := run(t, s, "", args...)
			for _, want := range c.want {
				if !strings.Contains(got.out, want) {
					t.Errorf("%s lacks %s", got, want)
				}
			}
			if strings.Contains(got.out, unknown) != slices.Contains(c.want, unknown) {
				t.Error(got)
			}
		})
	}
}

const (
	sizesFolder = "/etc/dojo-operator/sizes"
	hugeSize    = "{instances: 5, storage: 9Gi, parameters: {work_mem: 9MB}}"
)

func withSizes() []client.Object {
	files := &corev1.ConfigMap{Data: map[string]string{"Huge": hugeSize}}
	files.Namespace, files.Name = "dojo-system", "dojo-operator-sizes"
	operator := &appsv1.Deployment{}
	operator.Namespace, operator.Name = "dojo-system", "dojo-operator"
	operator.Labels = map[string]string{"app.kubernetes.io/name": "dojo-operator"}
	operator.Spec.Template.Spec = corev1.PodSpec{
		Containers: []corev1.Container{{
			Name: "operator", Image: "dojo-operator:v1.2.3", Args: []string{"--postgres-sizes=" + sizesFolder},
			VolumeMounts: []corev1.VolumeMount{{Name: "sizes", MountPath: sizesFolder}},
		}},
		Volumes: []corev1.Volume{{Name: "sizes", VolumeSource: corev1.VolumeSource{
			ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: files.Name}},
		}}},
	}
	return []client.Object{files, operator}
}

func TestReadManifests(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"a.yaml": "kind: A\nmetadata: {name: a}\n---\n---\nkind: B\nmetadata: {name: b}\n",
		"b.json": `{"kind": "List", "apiVersion": "v1", "items": [{"kind": "C", "apiVersion": "v1", "metadata": {"name": "c"}}]}`,
		"c.txt":  "no manifest",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, err := readManifests(folder, nil)
	var got []string
	for _, o := range all {
		got = append(got, o.GetKind()+" "+o.GetName())
	}
	if diff := cmp.Diff([]string{"A a", "B b", "C c"}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for text, want := range map[string]string{
		"kind: Dojo": "an object has no kind or no metadata.name", "a: [": "did not find",
	} {
		if _, err := readManifests("-", strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestThreeWay(t *testing.T) {
	t.Parallel()
	object := func(text string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatal(err)
		}
		return o
	}
	live := object(`{spec: {replicas: 5, image: a, title: t, defaulted: x}}`)
	live.SetAnnotations(map[string]string{corev1.LastAppliedConfigAnnotation: `{"spec":{"image":"a","title":"t"}}`})
	patch, err := threeWay(live, object(`{spec: {title: new}}`))
	if diff := cmp.Diff(`{"spec":{"image":null,"title":"new"}}`, string(patch)); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestStored(t *testing.T) {
	t.Parallel()
	o := kinds.Secret.Object()
	o.SetName("a")
	o.Object["data"] = map[string]any{"a": "YQ=="}
	o.Object["stringData"] = map[string]any{"b": "b"}
	got := stored(o)
	if diff := cmp.Diff(map[string]any{"a": "YQ==", "b": "Yg=="}, got.Object["data"]); diff != "" || got.Object["stringData"] != nil {
		t.Error(diff, got)
	}
}
