// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

type object struct {
	entry

	kind, name string
	file       string // name of the template file
	perWatched bool   // reports whether the object exists in each watched namespace
}

func merged(folder string, switches []change) ([]*object, error) {
	rendered, err := render(folder, nil)
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	all := &tree{node: &yaml.Node{Kind: yaml.MappingNode}, entries: entriesOf(rendered, func(r *resource.Resource) string {
		return snake(r.GetKind())
	}, files)}
	for i, c := range switches {
		rendered, err := render(folder, switches[:i+1])
		if err != nil {
			return nil, err
		}
		after := &tree{node: all.node, entries: entriesOf(rendered, func(*resource.Resource) string {
			return strings.ReplaceAll(c.Component, "-", "_")
		}, files)}
		if err := useValues(c, after); err != nil {
			return nil, err
		}
		for _, earlier := range switches[:i] {
			if err := useValues(earlier, after); err != nil {
				return nil, err
			}
		}
		all.merge(c.Value, after)
	}
	var objects []*object
	for _, e := range all.entries {
		kind, name, _ := strings.Cut(e.key.Value, "/")
		if kind != "Namespace" { // `helm install --create-namespace` creates it; the notes name its labels
			objects = append(objects, &object{entry: *e, kind: kind, name: name, file: files[e.key.Value]})
		}
	}
	return objects, nil
}

func render(folder string, with []change) ([]*resource.Resource, error) {
	return build(folder, kustomization(with))
}

func kustomization(with []change) types.Kustomization {
	k := types.Kustomization{Resources: []string{"overlays/production"}}
	for _, c := range with {
		if c.Component != "" {
			k.Components = append(k.Components, "components/"+c.Component)
		}
		for _, patch := range c.Patches {
			k.Patches = append(k.Patches, types.Patch{Target: &types.Selector{ResId: deployment}, Patch: patch})
		}
	}
	return k
}

var deployment = resid.ResId{Gvk: resid.Gvk{Kind: "Deployment"}}

// Other processes may read the folder at the same time, so build renders a copy in memory.
func build(folder string, k types.Kustomization) ([]*resource.Resource, error) {
	files := filesys.MakeFsInMemory()
	if err := copyFolder(files, folder); err != nil {
		return nil, err
	}
	text, err := yaml.Marshal(k)
	if err != nil {
		return nil, err
	}
	if err := files.WriteFile("/kustomization.yaml", text); err != nil {
		return nil, err
	}
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy
	rendered, err := krusty.MakeKustomizer(options).Run(files, "/")
	if err != nil {
		return nil, fmt.Errorf("render %s: %w", folder, err)
	}
	return rendered.Resources(), nil
}

func copyFolder(to filesys.FileSystem, folder string) error {
	from := os.DirFS(folder)
	return fs.WalkDir(from, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(from, path)
		if err != nil {
			return err
		}
		return to.WriteFile("/"+path, text)
	})
}

// entriesOf also adds the template file of each new key to files.
func entriesOf(resources []*resource.Resource, file func(*resource.Resource) string,
	files map[string]string) (all []*entry) {
	for _, r := range resources {
		if grantsNothing(r) {
			continue
		}
		key := r.GetKind() + "/" + r.GetName()
		if files[key] == "" {
			files[key] = file(r)
		}
		all = append(all, &entry{key: yaml.NewStringRNode(key).YNode(), value: newTree(r.YNode())})
	}
	return all
}

// grantsNothing reports whether a ClusterRole has no rules or a ClusterRoleBinding has no subjects.
// components/namespaced empties such objects, because kubectl apply would not delete them. A chart
// omits them, so that Helm deletes them.
func grantsNothing(r *resource.Resource) bool {
	list := map[string]string{"ClusterRole": "rules", "ClusterRoleBinding": "subjects"}[r.GetKind()]
	if list == "" {
		return false
	}
	content, err := r.GetSlice(list)
	return err == nil && len(content) == 0
}

func accessObjects(folder string, switches []change) ([]*object, error) {
	all := &tree{node: &yaml.Node{Kind: yaml.MappingNode}}
	k := types.Kustomization{Namespace: watched, Resources: []string{"components/namespaced/access"}}
	for _, c := range slices.Concat([]change{{}}, switches) {
		if c.Component != "" && !c.Access {
			continue
		}
		if c.Access {
			k.Components = append(k.Components, "components/"+c.Component)
		}
		resources, err := build(folder, k)
		if err != nil {
			return nil, err
		}
		entries := entriesOf(resources, func(*resource.Resource) string { return "namespaced" }, map[string]string{})
		if all.entries == nil {
			all.entries = entries
		} else if c.Access {
			all.merge(c.Value, &tree{node: all.node, entries: entries})
		}
	}
	var objects []*object
	for _, e := range all.entries {
		kind, name, _ := strings.Cut(e.key.Value, "/")
		objects = append(objects, &object{entry: *e, kind: kind, name: name, file: "namespaced", perWatched: true})
	}
	return objects, nil
}

// useValues replaces references to ConfigMaps, which users edit, by values of the chart.
func useValues(c change, objects *tree) error {
	for reference, template := range c.Environment {
		found := false
		for _, o := range objects.entries {
			if strings.HasPrefix(o.key.Value, "Deployment/") {
				env, err := o.value.find("spec.template.spec.containers.0.env")
				if err != nil {
					return err
				}
				found = useValue(env, reference, template) || found
			}
		}
		if !found {
			return fmt.Errorf("components/%s sets no environment variable from the ConfigMap and key *%s",
				c.Component, reference)
		}
	}
	return nil
}

func useValue(env *tree, reference, template string) (found bool) {
	for _, variable := range env.entries {
		name, err := variable.value.find("valueFrom.configMapKeyRef.name")
		if err != nil {
			continue
		}
		key, err := variable.value.find("valueFrom.configMapKeyRef.key")
		if err != nil || !strings.HasSuffix(name.node.Value+"/"+key.node.Value, reference) {
			continue
		}
		for _, e := range variable.value.entries {
			if e.key.Value == "valueFrom" {
				e.key, e.value = yaml.NewStringRNode("value").YNode(), &tree{node: &yaml.Node{Kind: yaml.ScalarNode}, raw: template}
				found = true
			}
		}
	}
	return found
}

var capital = regexp.MustCompile(`[a-z0-9][A-Z]`)

func snake(kind string) string {
	return strings.ToLower(capital.ReplaceAllStringFunc(kind, func(s string) string { return s[:1] + "_" + s[1:] }))
}
