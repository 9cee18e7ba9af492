// SPDX-License-Identifier: Apache-2.0

// Command crds edits generated CustomResourceDefinitions: it wraps long descriptions, and limits
// the pattern of quantities. No marker of controller-gen can change these in types of Kubernetes.
package main

import (
	"fmt"
	"os"

	"sigs.k8s.io/yaml"
)

func main() {
	for _, file := range os.Args[1:] {
		if err := rewrite(file); err != nil {
			fmt.Fprintf(os.Stderr, "crds: %s: %v\n", file, err)
			os.Exit(1)
		}
	}
}

func rewrite(file string) error {
	before, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	after, err := edited(before)
	if err != nil {
		return err
	}
	return os.WriteFile(file, after, 0o644)
}

func edited(crd []byte) ([]byte, error) {
	var content map[string]any
	if err := yaml.Unmarshal(crd, &content); err != nil {
		return nil, err
	}
	edit(content)
	text, err := yaml.Marshal(content)
	return append([]byte("---\n"), text...), err
}

func edit(node any) {
	switch n := node.(type) {
	case map[string]any:
		// A field may also have the name description. The value of that key is then a map.
		if text, isText := n["description"].(string); isText {
			n["description"] = wrap(text)
		}
		boundQuantity(n)
		for _, child := range n {
			edit(child)
		}
	case []any:
		for _, child := range n {
			edit(child)
		}
	}
}
