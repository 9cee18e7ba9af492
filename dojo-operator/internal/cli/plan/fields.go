// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// fieldManagers compute writes with managed fields as the API server does. For custom resources,
// they deduce a schema in which each list is atomic, so the writer owns the whole list.
type fieldManagers struct {
	of map[managed]*managedfields.FieldManager
}

type managed struct {
	schema.GroupVersionKind
	subresource string
}

func newFieldManagers() *fieldManagers {
	return &fieldManagers{of: map[managed]*managedfields.FieldManager{}}
}

// builtin parses the schemas on first use, because this takes a tenth of a second.
var builtin = sync.OnceValue(func() managedfields.TypeConverter {
	return applyconfigurations.NewTypeConverter(clientgoscheme.Scheme)
})

func (f *fieldManagers) manager(gvk schema.GroupVersionKind, subresource string) (*managedfields.FieldManager, error) {
	at := managed{gvk, subresource}
	if known := f.of[at]; known != nil {
		return known, nil
	}
	convert := managedfields.NewDeducedTypeConverter()
	if clientgoscheme.Scheme.Recognizes(gvk) {
		convert = builtin()
	}
	reset := fieldpath.NewSet(fieldpath.MakePathOrDie("status"))
	if subresource == statusOf {
		reset = fieldpath.NewSet(fieldpath.MakePathOrDie("spec"), fieldpath.MakePathOrDie("metadata"))
	}
	version := gvk.GroupVersion()
	filters := fieldpath.NewExcludeFilterSetMap(map[fieldpath.APIVersion]*fieldpath.Set{
		fieldpath.APIVersion(version.String()): reset,
	})
	made, err := managedfields.NewDefaultCRDFieldManager(convert, oneVersion{}, oneVersion{}, oneVersion{}, gvk, version,
		subresource, filters)
	if err == nil {
		f.of[at] = made
	}
	return made, err
}

func (f *fieldManagers) update(live, desired *object, subresource, owner string) (*object, error) {
	fields, err := f.manager(desired.GroupVersionKind(), subresource)
	if err != nil {
		return nil, err
	}
	after, err := fields.Update(orEmpty(live, desired), desired.DeepCopy(), owner)
	if err != nil {
		return nil, err
	}
	return after.(*object), nil
}

func (f *fieldManagers) apply(live, desired *object, owner string) (*object, error) {
	fields, err := f.manager(desired.GroupVersionKind(), "")
	if err != nil {
		return nil, err
	}
	after, err := fields.Apply(orEmpty(live, desired), desired.DeepCopy(), owner, true)
	if err != nil {
		return nil, err
	}
	return after.(*object), nil
}

func orEmpty(live, like *object) *object {
	if live != nil {
		return live.DeepCopy()
	}
	empty := &object{Object: map[string]any{}}
	empty.SetGroupVersionKind(like.GroupVersionKind())
	return empty
}

// oneVersion does not convert objects, because each kind has one version. It does not set defaults,
// because the Model sets them (setDefaults, restore).
type oneVersion struct{}

func (oneVersion) Default(runtime.Object) {}

func (oneVersion) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetGroupVersionKind(gvk)
	return o, nil
}

func (oneVersion) Convert(_, _, _ any) error { return errors.New("there is one version") }

func (oneVersion) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}

func (oneVersion) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}
