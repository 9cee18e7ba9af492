// SPDX-License-Identifier: Apache-2.0

// Package schema validates manifests with the API server's own code: defaults, OpenAPI schemas and
// CEL rules. `make generate` copies the CustomResourceDefinitions to crds/.
package schema

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	metav1validation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kubeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

//go:embed crds/*.yaml
var definitions embed.FS

// Kinds has a validator for each kind.
type Kinds map[kubeschema.GroupVersionKind]*kind

type kind struct {
	structural *schema.Structural
	values     validation.SchemaValidator
	rules      *cel.Validator
}

// Load compiles the CustomResourceDefinitions once per process. Concurrent use is safe.
var Load = sync.OnceValues(load)

func load() (Kinds, error) {
	files, err := fs.Glob(definitions, "crds/*.yaml")
	if err != nil {
		return nil, err
	}
	kinds := Kinds{}
	for _, file := range files {
		text, err := definitions.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(text, &crd); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for i := range crd.Spec.Versions {
			v := &crd.Spec.Versions[i]
			gvk := kubeschema.GroupVersionKind{Group: crd.Spec.Group, Version: v.Name, Kind: crd.Spec.Names.Kind}
			if kinds[gvk], err = compile(v.Schema.OpenAPIV3Schema); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	return kinds, nil
}

func compile(props *apiextensionsv1.JSONSchemaProps) (*kind, error) {
	var internal apiextensions.JSONSchemaProps
	convert := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps
	if err := convert(props, &internal, nil); err != nil {
		return nil, err
	}
	structural, err := schema.NewStructural(&internal)
	if err != nil {
		return nil, err
	}
	values, _, err := validation.NewSchemaValidator(&internal)
	if err != nil {
		return nil, err
	}
	return &kind{structural, values, cel.NewValidator(structural, true, celconfig.PerCallLimit)}, nil
}

// Admit sets defaults in o, and returns all refusals of the API server. before is nil for a create.
func (k Kinds) Admit(ctx context.Context, o, before *unstructured.Unstructured) error {
	list, err := k.Problems(ctx, o, before)
	return errors.Join(err, list.ToAggregate())
}

// Problems does the same as Admit, but returns the path of each refused field.
func (k Kinds) Problems(ctx context.Context, o, before *unstructured.Unstructured) (list field.ErrorList, err error) {
	of := k[o.GroupVersionKind()]
	if of == nil {
		return nil, fmt.Errorf("there is no kind %s in %s", o.GetKind(), o.GetAPIVersion())
	}
	for _, problem := range metav1validation.NameIsDNSSubdomain(o.GetName(), false) {
		list = append(list, field.Invalid(field.NewPath("metadata", "name"), o.GetName(), problem))
	}
	unknown := pruning.PruneWithOptions(o.Object, of.structural, true,
		schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	for _, path := range unknown {
		list = append(list, field.Invalid(field.NewPath(path), "", "there is no such field"))
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(o.Object, of.structural)
	defaulting.Default(o.Object, of.structural)
	return append(list, of.validate(ctx, o, before)...), nil
}

func (k *kind) validate(ctx context.Context, o, before *unstructured.Unstructured) field.ErrorList {
	list := validation.ValidateCustomResource(nil, o.UnstructuredContent(), k.values)
	list = append(list, listtype.ValidateListSetsAndMaps(nil, k.structural, o.Object)...)
	if len(list) > 0 {
		return list // as in the API server, CEL rules run only on valid values
	}
	var old any
	if before != nil {
		old = before.Object
	}
	ruled, _ := k.rules.Validate(ctx, nil, k.structural, o.Object, old, celconfig.RuntimeCELCostBudget)
	return ruled
}
