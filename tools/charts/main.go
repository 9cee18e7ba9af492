// SPDX-License-Identifier: Apache-2.0

// Command charts (`make generate`) generates a Helm chart for each operator into deploy/charts. The
// source is the operator's kustomize manifests: the overlay production without its Namespace, and for
// some values a component. values.schema.json defines the values.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

type operator struct {
	Name      string
	Namespace string
	// Discord is true for discord-operator.
	Discord bool
	Summary string
	// Capability is the capability level for OLM and Artifact Hub (docs/platform/olm.md).
	Capability string
}

var operators = []operator{
	{Name: "dojo-operator", Namespace: "dojo-system", Summary: "Turns Dojo objects into running, monitored applications",
		Capability: "Deep Insights"},
	{Name: "discord-operator", Namespace: "discord-system", Discord: true,
		Summary:    "Manages Discord servers, groups, channels and roles as Kubernetes objects",
		Capability: "Seamless Upgrades"},
}

func main() {
	root, err := os.Getwd()
	if err == nil {
		err = generate(root, filepath.Join(root, "deploy", "charts"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "charts:", err)
		os.Exit(1)
	}
}

func generate(root, into string) error {
	for _, o := range operators {
		files, err := filesOf(root, o)
		if err != nil {
			return fmt.Errorf("chart of %s: %w", o.Name, err)
		}
		if err := write(filepath.Join(into, o.Name), files); err != nil {
			return err
		}
	}
	return nil
}

func filesOf(root string, o operator) (map[string]string, error) {
	from := filepath.Join(root, "deploy", o.Name)
	switches, err := switchesOf(from)
	if err != nil {
		return nil, err
	}
	objects, err := merged(from, switches)
	if err != nil {
		return nil, err
	}
	access, err := accessObjects(from, switches)
	if err != nil {
		return nil, err
	}
	objects = append(objects, access...)
	defaults, err := parameterize(o, objects)
	if err != nil {
		return nil, err
	}
	files, err := templates(o, objects)
	if err != nil {
		return nil, err
	}
	return files, addAssets(root, o, defaults, objects, files)
}

func write(folder string, files map[string]string) error {
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
