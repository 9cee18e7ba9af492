package dojo

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/optional"
)

// Custom resources of others have no apply configurations here: their types would be most of the operator's size. Their desired
// state is a map with the fields that we own and no others.

// custom returns the desired state of an object of an optional kind, with the labels of every child.
func custom(d *corev1api.Dojo, kind optional.Kind, name string, spec map[string]any) *unstructured.Unstructured {
	o := kind.Object()
	o.SetNamespace(d.Namespace)
	o.SetName(name)
	o.SetLabels(labels(d))
	o.Object["spec"] = spec
	return o
}

// owned makes the Dojo the owner of an object, so that the garbage collector takes it with the Dojo.
func owned(d *corev1api.Dojo, o *unstructured.Unstructured) *unstructured.Unstructured {
	owner := metav1.NewControllerRef(d, corev1api.GroupVersion.WithKind("Dojo"))
	o.SetOwnerReferences([]metav1.OwnerReference{*owner})
	return o
}

// planCustom returns the child where it has to be written.
func planCustom(live, want *unstructured.Unstructured) *child {
	if holdsExactly(live, want) {
		return nil
	}
	c := &child{kind: want.GetKind(), name: want.GetName(), config: client.ApplyConfigurationFromUnstructured(want), meta: customMeta{want}}
	if live != nil {
		c.found(live, want.GetLabels())
		c.altered = altered(live, want)
	}
	return c
}

// customMeta is the metadata of an unstructured child.
type customMeta struct{ o *unstructured.Unstructured }

func (m customMeta) pin(uid types.UID)    { m.o.SetUID(uid) }
func (m customMeta) version() string      { return m.o.GetResourceVersion() }
func (m customMeta) generationNow() int64 { return m.o.GetGeneration() }

// holdsExactly is settled for custom resources, whose schema is not known here: the live object has all values that we want, we own them,
// and we own nothing else. A schema read from the API server would tell lists that are merged from those that are not; managedFields
// tell as much, and cost no memory.
func holdsExactly(live, want *unstructured.Unstructured) bool {
	if live == nil {
		return false
	}
	fields := appliedFields(live)
	for _, part := range []string{"metadata", "spec"} {
		values, _ := want.Object[part].(map[string]any)
		for key, value := range values {
			if part == "metadata" && (key == "name" || key == "namespace") {
				continue // nobody's field
			}
			if !held(live.Object[part], value, key, fields.WithPrefix(fieldpath.PathElement{FieldName: &part})) {
				return false
			}
		}
	}
	surplus := false
	fields.Leaves().Iterate(func(path fieldpath.Path) {
		surplus = surplus || !resolves(want.Object, path)
	})
	return !surplus
}

// held reports whether the field of the live map has the wanted value and is ours.
func held(live any, want any, key string, fields *fieldpath.Set) bool {
	object, _ := live.(map[string]any)
	have, ok := object[key]
	element := fieldpath.PathElement{FieldName: &key}
	if !ok || !fields.Members.Has(element) && fields.WithPrefix(element).Empty() {
		return false
	}
	nested, isMap := want.(map[string]any)
	if !isMap || fields.WithPrefix(element).Empty() { // a value, a list, or a map that is owned as a whole
		return contains(have, want)
	}
	for inner, value := range nested {
		if !held(have, value, inner, fields.WithPrefix(element)) {
			return false
		}
	}
	return true
}

// altered reports whether somebody has changed what we want of an object, or taken it away: either takes the field out of ours. What differs and
// is still ours follows the spec, a flag or another object; so do the replicas of an autoscaler, which may be gone by now.
func altered(live metav1.Object, want *unstructured.Unstructured) bool {
	all, metadata := map[string]any{}, map[string]any{}
	for part, value := range want.Object {
		if part != "apiVersion" && part != "kind" {
			all[part] = value
		}
	}
	wanted, _ := want.Object["metadata"].(map[string]any)
	for _, part := range []string{"labels", "annotations", "ownerReferences"} {
		if value, ok := wanted[part]; ok {
			metadata[part] = value
		}
	}
	all["metadata"] = metadata
	if spec, ok := all["spec"].(map[string]any); ok && autoscaled(live) {
		spec = maps.Clone(spec)
		delete(spec, "replicas")
		all["spec"] = spec
	}
	return !owns(appliedFields(live), all)
}

// autoscaled reports whether a HorizontalPodAutoscaler has set the replicas, as the only one in the controller manager that does so through the
// scale subresource. `kubectl scale` does it as a person.
func autoscaled(live metav1.Object) bool {
	return slices.ContainsFunc(live.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		if entry.Manager != "kube-controller-manager" || entry.Subresource != "scale" || entry.FieldsV1 == nil {
			return false
		}
		fields := fieldpath.NewSet()
		return fields.FromJSON(entry.FieldsV1.GetRawReader()) == nil && fields.Has(fieldpath.MakePathOrDie("spec", "replicas"))
	})
}

// owns reports whether all fields of a value are among these. Of a list, the items have keys; one that is owned as a whole is a field.
func owns(fields *fieldpath.Set, want any) bool {
	owned := func(at fieldpath.PathElement, value any) bool {
		if inner := fields.WithPrefix(at); !inner.Empty() {
			return owns(inner, value)
		}
		return fields.Members.Has(at)
	}
	switch want := want.(type) {
	case map[string]any:
		for key, value := range want {
			if !owned(fieldpath.PathElement{FieldName: &key}, value) {
				return false
			}
		}
	case []any:
		have := slices.AppendSeq(slices.Collect(fields.Members.All()), fields.Children.All())
		for _, item := range want {
			if !slices.ContainsFunc(have, func(at fieldpath.PathElement) bool {
				return at.Key != nil && hasKey(item, *at.Key) && owned(at, item)
			}) {
				return false
			}
		}
	}
	return true
}

// contains reports whether a value has all that is wanted; the API server adds defaults, others their own.
func contains(have, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		object, ok := have.(map[string]any)
		for key, value := range want {
			ok = ok && contains(object[key], value)
		}
		return ok
	case []any:
		list, ok := have.([]any)
		for _, value := range want {
			ok = ok && slices.ContainsFunc(list, func(have any) bool { return contains(have, value) })
		}
		return ok
	}
	return value.Equals(value.NewValueInterface(have), value.NewValueInterface(want))
}

// resolves reports whether a path that we own is one that we want.
func resolves(want any, path fieldpath.Path) bool {
	for _, element := range path {
		switch list, _ := want.([]any); {
		case element.FieldName != nil:
			object, _ := want.(map[string]any)
			inner, ok := object[*element.FieldName]
			if !ok {
				return false
			}
			want = inner
		case element.Key != nil:
			at := slices.IndexFunc(list, func(item any) bool { return hasKey(item, *element.Key) })
			if at < 0 {
				return false
			}
			want = list[at]
		default:
			return list != nil
		}
	}
	return true
}

func hasKey(item any, key value.FieldList) bool {
	for _, field := range key {
		if object, ok := item.(map[string]any); !ok || !contains(object[field.Name], field.Value.Unstructured()) {
			return false
		}
	}
	return true
}

// generic turns a value of the Kubernetes API into the maps, lists and numbers of an unstructured object, or into another type with the
// same fields. Both sides come from the API's own types, so it cannot fail on what the API server has admitted.
func generic[T any](in any) T {
	var out T
	text, err := json.Marshal(in)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		panic(err)
	}
	return out
}
