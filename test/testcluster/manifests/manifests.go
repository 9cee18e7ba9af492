// SPDX-License-Identifier: Apache-2.0

// Package manifests renders and applies kustomizations, like `kubectl apply --server-side -k`.
package manifests

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	sigsyaml "sigs.k8s.io/yaml"
)

// FieldOwner is the field owner of objects that Apply has applied.
const FieldOwner = "deploy"

// Render returns a folder's kustomization, Namespaces and CustomResourceDefinitions first.
func Render(folder string) ([]*unstructured.Unstructured, error) {
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy // namespaces and CustomResourceDefinitions first
	rendered, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return nil, fmt.Errorf("render %s: %w", folder, err)
	}
	objects := make([]*unstructured.Unstructured, 0, rendered.Size())
	for _, resource := range rendered.Resources() {
		text, err := resource.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("render %s: %s: %w", folder, resource.CurId(), err)
		}
		var object unstructured.Unstructured
		if err := object.UnmarshalJSON(text); err != nil {
			return nil, fmt.Errorf("render %s: %s: %w", folder, resource.CurId(), err)
		}
		objects = append(objects, &object)
	}
	return objects, nil
}

// Without returns the objects whose kind is not in kinds.
func Without(objects []*unstructured.Unstructured, kinds ...string) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(objects), func(o *unstructured.Unstructured) bool {
		return slices.Contains(kinds, o.GetKind())
	})
}

// Apply applies the objects by server-side apply, which refuses unknown fields. It also changes
// fields of other owners.
func Apply(ctx context.Context, c client.Client, objects []*unstructured.Unstructured,
	options ...client.ApplyOption) error {
	options = append([]client.ApplyOption{client.FieldOwner(FieldOwner), client.ForceOwnership}, options...)
	for _, o := range objects {
		if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(o.DeepCopy()), options...); err != nil {
			return fmt.Errorf("apply %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}

// ApplyTexts parses YAML documents and applies their objects, in order.
func ApplyTexts(ctx context.Context, c client.Client, texts ...[]byte) error {
	for _, text := range texts {
		objects, err := Parse(text)
		if err != nil {
			return err
		}
		if err := Apply(ctx, c, objects); err != nil {
			return err
		}
	}
	return nil
}

// Read reads the objects of a file.
func Read(path string) ([]*unstructured.Unstructured, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	objects, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return objects, nil
}

// Parse reads the objects of a YAML text, one per document.
func Parse(text []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		var object unstructured.Unstructured
		if err := sigsyaml.Unmarshal(document, &object.Object); err != nil {
			return nil, err
		}
		if len(object.Object) > 0 { // skips documents with only comments
			objects = append(objects, &object)
		}
	}
}
