// SPDX-License-Identifier: Apache-2.0

package applytest

import (
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"
)

const metadataSchema = `{"type": "object", "properties": {
  "name": {"type": "string"}, "namespace": {"type": "string"}, "generateName": {"type": "string"},
  "uid": {"type": "string"}, "resourceVersion": {"type": "string"}, "generation": {"type": "integer"},
  "creationTimestamp": {"type": "string"}, "deletionTimestamp": {"type": "string"},
  "deletionGracePeriodSeconds": {"type": "integer"}, "selfLink": {"type": "string"},
  "labels": {"type": "object", "additionalProperties": {"type": "string"}},
  "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
  "managedFields": {"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
  "finalizers": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
  "ownerReferences": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"],
    "items": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {
      "apiVersion": {"type": "string"}, "kind": {"type": "string"},
      "name": {"type": "string"}, "uid": {"type": "string"},
      "controller": {"type": "boolean"}, "blockOwnerDeletion": {"type": "boolean"}}}}}}`

// AddCRD adds a kind with its schema and defaults from the YAML of a CustomResourceDefinition.
func (s *Server) AddCRD(text []byte) error {
	var crd struct {
		Spec struct {
			Group    string
			Names    struct{ Kind string }
			Versions []struct {
				Name   string
				Schema struct{ OpenAPIV3Schema map[string]any }
			}
		}
	}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		return err
	}
	for _, version := range crd.Spec.Versions {
		gvk := schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}
		if err := s.addKind(gvk, version.Schema.OpenAPIV3Schema); err != nil {
			return fmt.Errorf("CustomResourceDefinition of %s: %w", gvk, err)
		}
	}
	return nil
}

func (s *Server) addKind(gvk schema.GroupVersionKind, of map[string]any) error {
	if of == nil {
		of = map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	}
	text, err := json.Marshal(of)
	if err != nil {
		return err
	}
	var model spec.Schema
	if err := json.Unmarshal(text, &model); err != nil {
		return err
	}
	const isText = `{"type": "string"}`
	for name, of := range map[string]string{"metadata": metadataSchema, "kind": isText, "apiVersion": isText} {
		var property spec.Schema
		if err := json.Unmarshal([]byte(of), &property); err != nil {
			return err
		}
		model.SetProperty(name, property)
	}
	model.AddExtension("x-kubernetes-group-version-kind", []any{
		map[string]any{"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind},
	})
	convert, err := managedfields.NewTypeConverter(map[string]*spec.Schema{gvk.String(): &model}, false)
	if err != nil {
		return err
	}
	s.kinds[gvk] = kind{convert: convert, defaults: func(o map[string]any) { setDefaults(o, &model) }}
	return nil
}

func setDefaults(value any, of *spec.Schema) {
	switch value := value.(type) {
	case map[string]any:
		for name, property := range of.Properties {
			if _, ok := value[name]; !ok && property.Default != nil {
				value[name] = runtime.DeepCopyJSONValue(property.Default)
			}
		}
		for name, inner := range value {
			if property, ok := of.Properties[name]; ok {
				setDefaults(inner, &property)
			} else if more := of.AdditionalProperties; more != nil && more.Schema != nil {
				setDefaults(inner, more.Schema)
			}
		}
	case []any:
		for _, item := range value {
			setDefaults(item, of.Items.Schema) // a structural schema has Items for every array
		}
	}
}

type custom struct{ defaults func(map[string]any) }

func (c custom) Default(o runtime.Object) {
	if c.defaults != nil {
		c.defaults(o.(*unstructured.Unstructured).Object)
	}
}

func (custom) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetGroupVersionKind(gvk)
	return o, nil
}

func (custom) Convert(_, _, _ any) error { return errors.New("there is one version") }

func (custom) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}

func (custom) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

var errNoSuchUID = errors.New("uid mismatch: the provided object specified a uid, and no existing object was found")

func setZero(o any) { reflect.ValueOf(o).Elem().SetZero() }
