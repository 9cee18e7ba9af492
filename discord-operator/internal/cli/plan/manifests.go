// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/cli/schema"
)

type manifest struct {
	file   string
	object *unstructured.Unstructured
}

func readAll(path string, stdin io.Reader, namespace string) (all []manifest, err error) {
	if path == "-" {
		text, err := io.ReadAll(stdin)
		if err != nil {
			return nil, err
		}
		return parse("standard input", text, namespace)
	}
	err = filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if file != path && !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(file)) {
			return nil
		}
		text, err := os.ReadFile(file) //nolint:gosec // G304: the user names it
		if err != nil {
			return err
		}
		some, err := parse(file, text, namespace)
		all = append(all, some...)
		return err
	})
	return all, err
}

func parse(file string, text []byte, namespace string) (all []manifest, err error) {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		var items []unstructured.Unstructured
		if err == nil {
			items, err = itemsOf(document)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for i := range items {
			if items[i].GetNamespace() == "" && items[i].GetKind() != "Namespace" {
				items[i].SetNamespace(namespace)
			}
			all = append(all, manifest{file, &items[i]})
		}
	}
}

func itemsOf(document []byte) ([]unstructured.Unstructured, error) {
	text, err := yaml.YAMLToJSON(document)
	if err != nil {
		return nil, err
	}
	var o unstructured.Unstructured
	// The API server's decoder returns whole numbers as integers, which the CEL rules require.
	if err := json.Unmarshal(text, &o.Object); err != nil || len(o.Object) == 0 {
		return nil, err
	}
	if !o.IsList() {
		return []unstructured.Unstructured{o}, nil
	}
	list, err := o.ToList()
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

func (m manifest) ours() bool {
	return m.object.GroupVersionKind().Group == v1alpha1.GroupVersion.Group
}

func (m manifest) key() key {
	return key{m.object.GetKind(), types.NamespacedName{Namespace: m.object.GetNamespace(), Name: m.object.GetName()}}
}

// admit returns typed objects with defaults, or all reasons why the API server would refuse them.
func admit(ctx context.Context, kinds schema.Kinds, all, before []manifest) (*objects, error) {
	replaced := map[key]*unstructured.Unstructured{}
	for _, m := range before {
		replaced[m.key()] = m.object
	}
	set := newObjects()
	var refused []error
	for _, m := range all {
		if m.object.GetKind() == "Namespace" && m.object.GetAPIVersion() == "v1" {
			set.namespaces[m.object.GetName()] = m.object.GetLabels()
		}
		if m.object.GetKind() == "ConfigMap" && m.object.GetAPIVersion() == "v1" {
			cm := &corev1.ConfigMap{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m.object.Object, cm); err != nil {
				refused = append(refused, fmt.Errorf("%s: ConfigMap %s: %w", m.file, m.object.GetName(), err))
			}
			set.configMaps[m.key().NamespacedName] = cm
		}
		if !m.ours() {
			continue
		}
		k := m.key()
		err := kinds.Admit(ctx, m.object, replaced[k])
		if err == nil && set.all[k] != nil {
			err = errors.New("another manifest has the same kind, namespace and name")
		}
		typed := empty(k.kind)
		if err == nil {
			err = runtime.DefaultUnstructuredConverter.FromUnstructured(m.object.Object, typed)
		}
		if err != nil {
			refused = append(refused, fmt.Errorf("%s: %s %s: %w", m.file, k.kind, k.Name, err))
			continue
		}
		typed.SetUID(types.UID(k.kind + "/" + k.String()))
		set.all[k] = typed
	}
	return set, errors.Join(refused...)
}
