// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"jutsu.com/operators/tools/project/location"
)

//go:embed all:assets values.schema.json
var assets embed.FS

var paths = map[string]string{
	"assets/Chart.yaml": "Chart.yaml", "values.schema.json": "values.schema.json", "assets/README.md": "README.md",
	"assets/NOTES.txt": "templates/NOTES.txt", "assets/_helpers.tpl": "templates/_helpers.tpl",
}

var samples = map[string][]string{
	"dojo-operator":    {"dojo-minimal.yaml", "dojo-postgres.yaml"},
	"discord-operator": {"discord/server.yaml", "discord/groups.yaml", "discord/channels.yaml", "discord/roles.yaml"},
}

type fields struct {
	operator
	defaults
	Where location.Location

	ResourcesJSON   string
	Kinds, Examples string // YAML for Artifact Hub
	Table           string // Markdown table of the values
}

func addAssets(root string, o operator, d defaults, objects []*object, files map[string]string) (err error) {
	maps.Copy(files, d.Files)
	where, err := location.Read(root)
	if err != nil {
		return err
	}
	f := fields{operator: o, defaults: d, Where: where}
	if f.ResourcesJSON, err = asJSON(d.Resources); err != nil {
		return err
	}
	if f.Kinds, err = kinds(objects); err != nil {
		return err
	}
	if f.Examples, err = examples(root, samples[o.Name]); err != nil {
		return err
	}
	schema, err := f.fill("values.schema.json")
	if err != nil {
		return err
	}
	all, err := valuesOf(schema)
	if err != nil {
		return fmt.Errorf("values.schema.json: %w", err)
	}
	f.Table = table(all)
	files["values.yaml"] = valuesFile(o, all)
	for name, path := range paths {
		if files[path], err = f.fill(name); err != nil {
			return err
		}
	}
	return nil
}

// The delimiters are [[ and ]], because an asset also contains {{ for Helm.
func (f fields) fill(name string) (string, error) {
	t, err := template.New(filepath.Base(name)).Delims("[[", "]]").ParseFS(assets, name)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	if err := t.Execute(&text, f); err != nil {
		return "", err
	}
	return text.String(), nil
}

func asJSON(text string) (string, error) {
	node, err := yaml.Parse(text)
	if err != nil {
		return "", err
	}
	found, err := node.MarshalJSON()
	return strings.TrimSpace(string(found)), err
}

func kinds(objects []*object) (string, error) {
	var all []map[string]string
	for _, o := range objects {
		if o.kind != "CustomResourceDefinition" {
			continue
		}
		of := map[string]string{"name": o.name}
		for key, path := range map[string]string{
			"kind": "spec.names.kind", "version": "spec.versions.0.name",
			"description": "spec.versions.0.schema.openAPIV3Schema.description",
		} {
			found, err := o.value.find(path)
			if err != nil {
				return "", fmt.Errorf("%s: %w", o.name, err)
			}
			of[key] = strings.Join(strings.Fields(found.node.Value), " ")
		}
		of["displayName"] = of["kind"]
		all = append(all, of)
	}
	return indented(all)
}

func examples(root string, names []string) (string, error) {
	var all []any
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(root, "deploy", "samples", name))
		if err != nil {
			return "", err
		}
		objects, err := (&kio.ByteReader{Reader: bytes.NewReader(text), OmitReaderAnnotations: true}).Read()
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		for _, o := range objects {
			var object any
			found, err := o.MarshalJSON()
			if err == nil {
				err = json.Unmarshal(found, &object)
			}
			if err != nil {
				return "", fmt.Errorf("%s: %w", name, err)
			}
			all = append(all, object)
		}
	}
	return indented(all)
}

func indented(value any) (string, error) {
	text, err := yaml.Marshal(value)
	if err != nil {
		return "", err
	}
	return "    " + strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "\n    "), nil
}
