// SPDX-License-Identifier: Apache-2.0

package applytest

import (
	"cmp"
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

type handlerKey struct {
	schema.GroupVersionKind
	subresource string
}

type kind struct {
	builtin  bool
	convert  managedfields.TypeConverter
	defaults func(map[string]any) // sets a custom resource's defaults; nil for a built-in kind
}

var builtinConverter = applyconfigurations.NewTypeConverter(clientgoscheme.Scheme)

func (s *Server) kind(gvk schema.GroupVersionKind) (kind, error) {
	if k, ok := s.kinds[gvk]; ok {
		return k, nil
	}
	if clientgoscheme.Scheme.Recognizes(gvk) {
		s.kinds[gvk] = kind{builtin: true, convert: builtinConverter}
	} else if err := s.addKind(gvk, nil); err != nil {
		return kind{}, err
	}
	return s.kinds[gvk], nil
}

func (s *Server) handler(gvk schema.GroupVersionKind, subresource string) (*managedfields.FieldManager, kind, error) {
	k, err := s.kind(gvk)
	if err != nil {
		return nil, k, err
	}
	at := handlerKey{gvk, subresource}
	if s.fields[at] != nil {
		return s.fields[at], k, nil
	}
	// A write of the object keeps the status, and a write of the status keeps all other fields.
	reset := fieldpath.NewSet(fieldpath.MakePathOrDie("status"))
	if subresource == "status" {
		reset = fieldpath.NewSet(fieldpath.MakePathOrDie("spec"), fieldpath.MakePathOrDie("metadata"))
	}
	version := gvk.GroupVersion()
	filters := fieldpath.NewExcludeFilterSetMap(map[fieldpath.APIVersion]*fieldpath.Set{
		fieldpath.APIVersion(version.String()): reset,
	})
	var fields *managedfields.FieldManager
	if k.builtin {
		all := clientgoscheme.Scheme
		fields, err = managedfields.NewDefaultFieldManager(
			k.convert, all, defaulter{}, all, gvk, version, subresource, filters)
	} else {
		d := custom{k.defaults}
		fields, err = managedfields.NewDefaultCRDFieldManager(
			k.convert, d, d, d, gvk, version, subresource, filters)
	}
	if err != nil {
		return nil, k, err
	}
	s.fields[at] = fields
	return fields, k, nil
}

// update handles a POST (live is nil), PUT or patch. The manager of a POST also owns the defaults.
func (s *Server) update(live, desired *object, subresource, manager string) (*object, error) {
	if manager == "" {
		manager = "unknown"
	}
	gvk := desired.GroupVersionKind()
	fields, k, err := s.handler(gvk, subresource)
	if err != nil {
		return nil, err
	}
	after := desired.DeepCopy()
	if err := s.accept(live, after); err != nil {
		return nil, err
	}
	keep := func(field string) {
		delete(after.Object, field)
		if live != nil && live.Object[field] != nil {
			after.Object[field] = runtime.DeepCopyJSONValue(live.Object[field])
		}
	}
	if subresource == "status" {
		metadata := live.DeepCopy().Object["metadata"]
		after.Object["metadata"] = metadata
		keep("spec")
	} else {
		keep("status")
	}
	next, err := k.decode(after)
	if err != nil {
		return nil, err
	}
	before, err := k.decodeOrNew(live, gvk)
	if err != nil {
		return nil, err
	}
	managed, err := fields.Update(before, next, manager)
	if err != nil {
		return nil, err
	}
	return s.store(live, managed)
}

func (s *Server) apply(live, desired *object, manager string, force bool) (*object, error) {
	gvk := desired.GroupVersionKind()
	fields, k, err := s.handler(gvk, "")
	if err != nil {
		return nil, err
	}
	if live == nil && desired.GetUID() != "" {
		return nil, apierrors.NewConflict(resource(gvk), desired.GetName(), errNoSuchUID)
	}
	before, err := k.decodeOrNew(live, gvk)
	if err != nil {
		return nil, err
	}
	merged, err := fields.Apply(before, desired.DeepCopy(), manager, force)
	if err != nil {
		return nil, err
	}
	after, err := content(merged.(client.Object), gvk)
	if err != nil {
		return nil, err
	}
	if err := s.accept(live, after); err != nil {
		return nil, err
	}
	return s.store(live, after)
}

func (s *Server) store(live *unstructured.Unstructured, managed runtime.Object) (*unstructured.Unstructured, error) {
	o := managed.(client.Object)
	after, err := content(o, o.GetObjectKind().GroupVersionKind())
	if err != nil {
		return nil, err
	}
	if s.Admit != nil {
		s.Admit(after)
	}
	if live == nil {
		allocate(after)
	} else if changesGeneration(live, after) {
		after.SetGeneration(live.GetGeneration() + 1)
	}
	s.setTimes(live, after)
	return after, nil
}

func (s *Server) setTimes(live, after *unstructured.Unstructured) {
	now := metav1.NewTime(s.clock.Now().UTC().Truncate(1e9))
	entries := after.GetManagedFields()
	for i := range entries {
		entry := &entries[i]
		entry.Time = &now
		if live == nil {
			continue
		}
		for _, before := range live.GetManagedFields() {
			same := *entry
			same.Time = before.Time
			if reflect.DeepEqual(same, before) {
				entry.Time = before.Time
			}
		}
	}
	slices.SortFunc(entries, func(a, b metav1.ManagedFieldsEntry) int { // as the API server does
		return cmp.Or(
			cmp.Compare(a.Operation, b.Operation), a.Time.Compare(b.Time.Time), cmp.Compare(a.Manager, b.Manager),
			cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Subresource, b.Subresource))
	})
	after.SetManagedFields(entries)
}

func changesGeneration(live, after *unstructured.Unstructured) bool {
	gvk := after.GroupVersionKind()
	if !generational(gvk) {
		return false
	}
	if gvk == appsv1.SchemeGroupVersion.WithKind("Deployment") &&
		!equality.Semantic.DeepEqual(live.GetAnnotations(), after.GetAnnotations()) {
		return true
	}
	rest := func(o *unstructured.Unstructured) map[string]any {
		fields := map[string]any{}
		for field, value := range o.Object {
			if field != "metadata" && field != "status" {
				fields[field] = value
			}
		}
		return fields
	}
	return !equality.Semantic.DeepEqual(rest(live), rest(after))
}

func (k kind) decode(o *unstructured.Unstructured) (runtime.Object, error) {
	if !k.builtin {
		if k.defaults != nil {
			k.defaults(o.Object)
		}
		return o, nil
	}
	typed, err := clientgoscheme.Scheme.New(o.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, typed); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	typed.GetObjectKind().SetGroupVersionKind(o.GroupVersionKind())
	defaulter{}.Default(typed)
	return typed, nil
}

func (k kind) decodeOrNew(o *unstructured.Unstructured, gvk schema.GroupVersionKind) (runtime.Object, error) {
	if o != nil {
		return k.decode(o.DeepCopy())
	}
	empty := &unstructured.Unstructured{Object: map[string]any{}}
	empty.SetGroupVersionKind(gvk)
	if !k.builtin {
		return empty, nil
	}
	typed, err := clientgoscheme.Scheme.New(gvk)
	if err == nil {
		typed.GetObjectKind().SetGroupVersionKind(gvk)
	}
	return typed, err
}
