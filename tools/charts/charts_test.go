// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/loader"
	release "helm.sh/helm/v4/pkg/release/v1"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/yaml"
	sigsyaml "sigs.k8s.io/yaml"
)

func root(t *testing.T) string {
	t.Helper()
	folder, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

func folderOf(t *testing.T, o operator) string {
	t.Helper()
	return filepath.Join(root(t), "deploy", o.Name)
}

func load(t *testing.T, o operator) chart.Charter {
	t.Helper()
	found, err := loader.Load(filepath.Join(root(t), "deploy", "charts", o.Name))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestChartsAreUpToDate(t *testing.T) {
	into := t.TempDir()
	if err := generate(root(t), into); err != nil {
		t.Fatal(err)
	}
	committed := filepath.Join(root(t), "deploy", "charts")
	if diff := cmp.Diff(filesBelow(t, into), filesBelow(t, committed)); diff != "" {
		t.Errorf("run make generate (-generated +committed):\n%s", diff)
	}
}

func filesBelow(t *testing.T, folder string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := fs.WalkDir(os.DirFS(folder), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(folder, path))
		found[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestLint(t *testing.T) {
	for _, o := range operators {
		for name, values := range map[string]map[string]any{"default": {}, "all": valuesFor(valuePaths(t, o)...)} {
			t.Run(o.Name+" "+name, func(t *testing.T) {
				lint := action.NewLint()
				lint.Strict, lint.Namespace = true, o.Namespace
				result := lint.Run([]string{filepath.Join(root(t), "deploy", "charts", o.Name)}, values)
				for _, err := range result.Errors {
					t.Error(err)
				}
				if result.TotalChartsLinted != 1 {
					t.Error("nothing was linted")
				}
			})
		}
	}
}

// Charts and kustomizations give the same objects, for each value, each pair, and all values.
func TestTemplates(t *testing.T) {
	for _, o := range operators {
		paths := valuePaths(t, o)
		sets := [][]string{nil, paths}
		for i, path := range paths {
			sets = append(sets, []string{path})
			for _, other := range paths[i+1:] {
				sets = append(sets, []string{path, other})
			}
		}
		for _, set := range sets {
			t.Run(o.Name+" "+strings.Join(set, " "), func(t *testing.T) {
				got := parsed(t, templated(t, o, load(t, o), valuesFor(set...)).Manifest)
				if diff := cmp.Diff(kustomized(t, o, set), got); diff != "" {
					t.Errorf("(-kustomize +helm):\n%s", diff)
				}
				for _, role := range []string{"ClusterRole//" + o.Name, "ClusterRole//" + o.Name + "-namespaces"} {
					if slices.Contains(set, "watchNamespaces") && got[role] != nil {
						t.Errorf("%s exists, although only some namespaces are watched", role)
					}
				}
			})
		}
	}
}

// Without docsURL, no text links to the docs. With docsURL, alerts link to existing sections.
func TestLinks(t *testing.T) {
	const base = "https://docs.example.org/docs"
	page := regexp.MustCompile(`https?://[^\s"'<>()]+\.md[^\s"'<>()]*`)
	for _, o := range operators {
		values := valuesFor("prometheus.enabled", "grafana.enabled")
		values["crds"] = map[string]any{"enabled": false} // their descriptions link to pages of Kubernetes
		rendered := templated(t, o, load(t, o), values)
		if links := page.FindAllString(rendered.Manifest+rendered.Info.Notes, -1); links != nil ||
			strings.Contains(rendered.Manifest, "runbook_url") {
			t.Errorf("%s links to %v, although docsURL is not set", o.Name, links)
		}
		values["docsURL"] = base
		rendered = templated(t, o, load(t, o), values)
		links := page.FindAllString(rendered.Manifest+rendered.Info.Notes, -1)
		if alerts := strings.Count(rendered.Manifest, "- alert: "); alerts < 10 || len(links) != alerts {
			t.Errorf("%s: %d alerts, %d links", o.Name, alerts, len(links))
		}
		for _, link := range links {
			file, section, _ := strings.Cut(strings.TrimPrefix(link, base+"/"), "#")
			text, err := os.ReadFile(filepath.Join(root(t), "docs", file))
			if err != nil || !strings.Contains(strings.ToLower(string(text)), "\n### "+section+"\n") {
				t.Errorf("%s: %s leads nowhere: %v", o.Name, link, err)
			}
		}
		for _, wrong := range []string{base + "/", base + "#a", "docs", "https://x/{{ y }}"} {
			if _, err := tryTemplated(t, o, load(t, o), map[string]any{"docsURL": wrong}); err == nil {
				t.Errorf("%s takes the address %q", o.Name, wrong)
			}
		}
	}
}

func TestKeptKinds(t *testing.T) {
	for _, o := range operators {
		for values, want := range map[string]int{`{}`: 3, `{crds: {keep: false}}`: 0} {
			var parsedValues map[string]any
			if err := sigsyaml.Unmarshal([]byte(values), &parsedValues); err != nil {
				t.Fatal(err)
			}
			kinds := 0
			for name, object := range parsed(t, templated(t, o, load(t, o), parsedValues).Manifest) {
				if !strings.HasPrefix(name, "CustomResourceDefinition/") {
					continue
				}
				kinds++
				got := 0
				annotations := object.(map[string]any)["metadata"].(map[string]any)["annotations"].(map[string]any)
				for _, key := range append([]string{"helm.sh/resource-policy"}, unpruned...) {
					if annotations[key] != nil {
						got++
					}
				}
				if got != want {
					t.Errorf("%s with %s has %d annotations that keep it, want %d", name, values, got, want)
				}
			}
			if kinds == 0 {
				t.Errorf("%s has no kinds", o.Name)
			}
		}
	}
}

func TestNotesOfRemoval(t *testing.T) {
	for _, o := range operators {
		kinds := "dojos"
		if o.Discord {
			kinds = "discordchannels,discordroles,discordgroups,discordservers"
		}
		for keep, want := range map[bool]string{true: "keeps", false: "deletes"} {
			values := map[string]any{"crds": map[string]any{"keep": keep}}
			notes := templated(t, o, load(t, o), values).Info.Notes
			for _, line := range []string{"  kubectl delete " + kinds + " --all --all-namespaces\n",
				"\n`helm uninstall` " + want + " the CustomResourceDefinitions"} {
				if !strings.Contains(notes, line) {
					t.Errorf("%s with %v does not say %q:\n%s", o.Name, values, line, notes)
				}
			}
		}
	}
}

func valuePaths(t *testing.T, o operator) []string {
	t.Helper()
	switches, err := switchesOf(folderOf(t, o))
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, c := range switches {
		if !slices.Contains(paths, c.Value) {
			paths = append(paths, c.Value)
		}
	}
	if len(paths) < 8 {
		t.Fatalf("only %v found", paths)
	}
	return paths
}

func valuesFor(paths ...string) map[string]any {
	values := map[string]any{}
	for _, path := range paths {
		switch group, key, nested := strings.Cut(path, "."); {
		case path == "watchNamespaces":
			values[path] = []any{"team-a", "team-b"}
		case path == "discordAPIURL":
			values[path] = "https://discord.example.com/api/v10"
		case path == "docsURL":
			values[path] = docsURL
		case !nested:
			values[path] = true
		default:
			if values[group] == nil {
				values[group] = map[string]any{}
			}
			values[group].(map[string]any)[key] = true
		}
	}
	return values
}

// kustomized returns the objects that a chart should have: the overlay and the components, but not
// the Namespace and not the objects that grant nothing. Values replace ConfigMaps.
func kustomized(t *testing.T, o operator, paths []string, more ...types.Label) map[string]any {
	t.Helper()
	switches, err := switchesOf(folderOf(t, o))
	if err != nil {
		t.Fatal(err)
	}
	switches = slices.DeleteFunc(switches, func(c change) bool { return !slices.Contains(paths, c.Value) })
	k := kustomization(switches)
	k.Labels = more
	resources, err := build(folderOf(t, o), k)
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(paths, "watchNamespaces") {
		var components []string
		for _, c := range switches {
			if c.Access {
				components = append(components, "components/"+c.Component)
			}
		}
		for _, namespace := range []string{"team-a", "team-b"} {
			access, err := build(folderOf(t, o), types.Kustomization{
				Namespace: namespace, Resources: []string{"components/namespaced/access"}, Labels: more,
				Components: components,
			})
			if err != nil {
				t.Fatal(err)
			}
			resources = append(resources, access...)
		}
	}
	resources = slices.DeleteFunc(resources, func(r *resource.Resource) bool {
		return r.GetKind() == "Namespace" || grantsNothing(r)
	})
	all := map[string]any{}
	for _, r := range resources {
		if r.GetKind() == "CustomResourceDefinition" {
			if err := r.PipeE(yaml.SetAnnotation("helm.sh/resource-policy", "keep")); err != nil {
				t.Fatal(err)
			}
		}
		text, err := r.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		from := func(key string) string {
			return `"valueFrom":{"configMapKeyRef":{"key":"` + key + `","name":"` + o.Name
		}
		maps.Copy(all, parsed(t, strings.NewReplacer(
			from("namespaces")+`-namespaces"}}`, `"value":"team-a,team-b"`,
			from("url")+`-api"}}`, `"value":"https://discord.example.com/api/v10"`,
		).Replace(string(text))))
	}
	return all
}

func parsed(t *testing.T, text string) map[string]any {
	t.Helper()
	all := map[string]any{}
	for document := range strings.SplitSeq("\n"+text, "\n---\n") {
		var object map[string]any
		if err := sigsyaml.UnmarshalStrict([]byte(document), &object); err != nil {
			t.Fatalf("%v:\n%s", err, document)
		}
		if len(object) == 0 {
			continue
		}
		metadata := object["metadata"].(map[string]any)
		namespace, _ := metadata["namespace"].(string)
		name := strings.Join([]string{object["kind"].(string), namespace, metadata["name"].(string)}, "/")
		if all[name] != nil {
			t.Errorf("%s is there twice", name)
		}
		all[name] = object
	}
	return all
}

func templated(t *testing.T, o operator, of chart.Charter, values map[string]any) *release.Release {
	t.Helper()
	found, err := tryTemplated(t, o, of, values)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func tryTemplated(t *testing.T, o operator, of chart.Charter, values map[string]any) (*release.Release, error) {
	t.Helper()
	install := action.NewInstall(action.NewConfiguration())
	install.DryRunStrategy, install.ReleaseName, install.Namespace = action.DryRunClient, o.Name, o.Namespace
	version, err := common.ParseKubeVersion("v1.30.0") // the oldest supported version
	if err != nil {
		t.Fatal(err)
	}
	install.KubeVersion = version
	found, err := install.RunWithContext(t.Context(), of, values)
	if err != nil {
		return nil, err
	}
	return found.(*release.Release), nil
}

func TestValues(t *testing.T) {
	const pod, container = "spec.template.spec.", "spec.template.spec.containers.0."
	for name, test := range map[string]struct {
		values string
		want   map[string]string // fields of the Deployment, keyed by path
	}{
		"an image by tag": {`image: {repository: "example.com:5000/a/b", tag: v1.2.3}`,
			map[string]string{container + "image": "example.com:5000/a/b:v1.2.3"}},
		"an image by digest": {`image: {repository: example.com/b, tag: "sha256:0123"}`,
			map[string]string{container + "image": "example.com/b@sha256:0123"}},
		"an image by tag and digest": {`image: {repository: example.com/b, tag: "v1.2.3@sha256:0123", pullPolicy: Always}`,
			map[string]string{
				container + "image": "example.com/b:v1.2.3@sha256:0123", container + "imagePullPolicy": "Always"}},
		"flags": {`flags: {concurrency: 8, zap-log-level: debug, zap-devel: true}`,
			map[string]string{container + "args": "- --leader-elect\n- --metrics-bind-address=:8443\n" +
				"- --health-probe-bind-address=:8081\nSIZES- --concurrency=8\n- --zap-devel=true\n- --zap-log-level=debug"}},
		"resources": {`{resources: {limits: {cpu: "1"}}, goMemoryLimit: 1GiB}`, map[string]string{
			container + "resources": "limits:\n  cpu: \"1\"\n  memory: 256Mi\nrequests:\n  cpu: 100m\n  memory: 256Mi",
			container + "env":       "- name: GOMEMLIMIT\n  value: 1GiB"}},
		"environment": {`{goMemoryLimit: 1GiB,
			env: [{name: HTTPS_PROXY, value: "http://proxy:3128"}, {name: A, valueFrom: {fieldRef: {}}}]}`,
			map[string]string{container + "env": "- name: GOMEMLIMIT\n  value: 1GiB\n" +
				"- name: HTTPS_PROXY\n  value: http://proxy:3128\n- name: A\n  valueFrom:\n    fieldRef: {}"}},
		"replicas": {`replicas: 0`, map[string]string{"spec.replicas": "0"}},
		"metadata": {`{podLabels: {a: "1"}, podAnnotations: {b: "2"}, commonLabels: {c: "3"}}`, map[string]string{
			"spec.template.metadata.labels.a": `"1"`, "spec.template.metadata.annotations.b": `"2"`,
			"metadata.labels.c": `"3"`}},
		"scheduling": {`{priorityClassName: high, nodeSelector: {d: e}, tolerations: [{key: f}],
			imagePullSecrets: [{name: g}], affinity: {nodeAffinity: {}}}`, map[string]string{
			pod + "priorityClassName": "high", pod + "nodeSelector.d": "e", pod + "tolerations": "- key: f",
			pod + "imagePullSecrets": "- name: g", pod + "affinity": "nodeAffinity: {}"}},
	} {
		for _, o := range operators {
			t.Run(o.Name+" "+name, func(t *testing.T) {
				var values map[string]any
				if err := sigsyaml.Unmarshal([]byte(test.values), &values); err != nil {
					t.Fatal(err)
				}
				objects := parsed(t, templated(t, o, load(t, o), values).Manifest)
				text, err := sigsyaml.Marshal(objects["Deployment/"+o.Namespace+"/"+o.Name])
				if err != nil {
					t.Fatal(err)
				}
				deployment := newTree(yaml.MustParse(string(text)).YNode())
				sizes := ""
				if o.Name == "dojo-operator" {
					sizes = "- --postgres-sizes=/etc/dojo-operator/sizes\n- --postgres-catalog=/etc/dojo-operator/catalog\n"
				}
				for path, want := range test.want {
					want = strings.Replace(want, "SIZES", sizes, 1)
					found, err := deployment.find(path)
					if err != nil {
						t.Error(err)
						continue
					}
					if got := strings.TrimSpace(yaml.NewRNode(found.node).MustString()); got != want {
						t.Errorf("%s is %s, want %s", path, got, want)
					}
				}
			})
		}
	}
}

// Only discord-operator connects to the internet, so only its chart has this value.
func TestProxyPort(t *testing.T) {
	discord := operators[slices.IndexFunc(operators, func(o operator) bool { return o.Name == "discord-operator" })]
	egress := func(port int) []any {
		values := map[string]any{"networkPolicy": map[string]any{"enabled": true, "anyAPIPort": true, "proxyPort": port}}
		objects := parsed(t, templated(t, discord, load(t, discord), values).Manifest)
		policy := objects["NetworkPolicy/"+discord.Namespace+"/"+discord.Name]
		return policy.(map[string]any)["spec"].(map[string]any)["egress"].([]any)
	}
	rule := map[string]any{"ports": []any{map[string]any{"port": 3128.0, "protocol": "TCP"}}}
	if diff := cmp.Diff(append(egress(0), rule), egress(3128)); diff != "" {
		t.Errorf("the rules differ (-want +got):\n%s", diff)
	}
}

func TestCommonLabels(t *testing.T) {
	label := map[string]string{"release": "kube-prometheus-stack"}
	for _, o := range operators {
		paths := valuePaths(t, o)
		values := valuesFor(paths...)
		values["commonLabels"] = map[string]any{"release": label["release"]}
		got := parsed(t, templated(t, o, load(t, o), values).Manifest)
		if diff := cmp.Diff(kustomized(t, o, paths, types.Label{Pairs: label}), got); diff != "" {
			t.Errorf("%s (-kustomize +helm):\n%s", o.Name, diff)
		}
	}
}

// The schema refuses values that the chart would ignore or that would break the operator later.
func TestRefusedValues(t *testing.T) {
	for values, want := range map[string]string{
		`{replica: 3}`:                             "additional properties 'replica' not allowed",
		`{prometheus: {enable: true}}`:             "additional properties 'enable' not allowed",
		`{replicas: "3"}`:                          "/replicas': got string, want integer",
		`{flags: {watch-namespaces: team-a}}`:      "invalid propertyName 'watch-namespaces'",
		`{flags: {leader-elect: false}}`:           "invalid propertyName 'leader-elect'",
		`{flags: {Concurrency: 8}}`:                "invalid propertyName 'Concurrency'",
		`{watchNamespaces: team-a}`:                "/watchNamespaces': got string, want array",
		`{watchNamespaces: [team-a, team-a]}`:      "items at 0 and 1 are equal",
		`{watchNamespaces: [Team]}`:                "'Team' does not match pattern",
		`{image: {repository: "a/b@sha256:0"}}`:    "'a/b@sha256:0' does not match pattern",
		`{image: {pullPolicy: Sometimes}}`:         "value must be one of",
		`{goMemoryLimit: 230Mi}`:                   "'230Mi' does not match pattern",
		`{crds: {enabled: "true"}}`:                "got string, want boolean",
		`{env: [{name: GOMEMLIMIT, value: 1GiB}]}`: "/env/0/name': 'not' failed",
		`{env: {HTTPS_PROXY: "http://proxy"}}`:     "/env': got object, want array",
		`{networkPolicy: {enabled: true, any: 1}}`: "additional properties 'any' not allowed",
	} {
		for _, o := range operators {
			var parsed map[string]any
			if err := sigsyaml.Unmarshal([]byte(values), &parsed); err != nil {
				t.Fatal(err)
			}
			if _, err := tryTemplated(t, o, load(t, o), parsed); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s with %s: the error is %v, want %q", o.Name, values, err, want)
			}
		}
	}
}

func TestKindsAreOptional(t *testing.T) {
	for _, o := range operators {
		values := map[string]any{"crds": map[string]any{"enabled": false}}
		for name := range parsed(t, templated(t, o, load(t, o), values).Manifest) {
			if strings.HasPrefix(name, "CustomResourceDefinition") {
				t.Errorf("%s is installed", name)
			}
		}
	}
}
