// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8slabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"jutsu.com/operators/libs/apply/expectations"
)

// ShapeAnnotation contains a hash of the fields that were desired when the object was created.
const ShapeAnnotation = "jutsu.com/created-shape"

// InSync reports whether owner owns all desired fields, with the desired values, and no obsolete
// field. Fields of other managers do not matter. A client that changes our field becomes its owner.
func InSync(owner string, live client.Object, desired *unstructured.Unstructured) bool {
	applied, updated := ownedFields(owner, live)
	owned, same := compare(values(live), ownable(desired), union(applied, updated))
	return owned && same && !surplus(applied, desired) && !outgrown(updated, live, desired)
}

// OwnedFields returns the fields that the field manager owner owns.
func OwnedFields(owner string, o metav1.Object) *fieldpath.Set {
	return union(ownedFields(owner, o))
}

// Owned returns the fields that owner owns, with their values.
func Owned(owner string, live client.Object) map[string]any {
	fields, _ := extract(values(live), OwnedFields(owner, live)).(map[string]any)
	return fields
}

func extract(live any, fields *fieldpath.Set) any {
	part := func(at fieldpath.PathElement, live any) (any, bool) {
		if inner := fields.WithPrefix(at); !inner.Empty() {
			return extract(live, inner), true
		}
		return live, fields.Members.Has(at)
	}
	switch live := live.(type) {
	case map[string]any:
		found := map[string]any{}
		for field, value := range live {
			if owned, ok := part(fieldpath.PathElement{FieldName: &field}, value); ok {
				found[field] = owned
			}
		}
		return found
	case []any:
		var found []any
		for _, item := range live {
			if owned, ok := part(elementOf(fields, item), item); ok {
				found = append(found, owned)
			}
		}
		return found
	}
	return live
}

func ownedFields(owner string, o metav1.Object) (applied, updated *fieldpath.Set) {
	applied, updated = fieldpath.NewSet(), fieldpath.NewSet()
	for _, entry := range o.GetManagedFields() {
		switch {
		case entry.Manager != owner || entry.Subresource != "":
		case entry.Operation == metav1.ManagedFieldsOperationApply:
			applied = union(applied, recordOf(o, &entry).set)
		default:
			updated = union(updated, recordOf(o, &entry).set)
		}
	}
	return applied, updated
}

func union(a, b *fieldpath.Set) *fieldpath.Set {
	switch {
	case a.Empty():
		return b
	case b.Empty():
		return a
	}
	return a.Union(b)
}

// values returns the fields of an object. It omits the managedFields of a typed object, because
// their conversion takes longest.
func values(o client.Object) map[string]any {
	if object, ok := o.(*unstructured.Unstructured); ok {
		return object.Object
	}
	bare := reflect.New(reflect.TypeOf(o).Elem())
	bare.Elem().Set(reflect.ValueOf(o).Elem()) // a shallow copy
	bare.Interface().(client.Object).SetManagedFields(nil)
	fields, _ := runtime.DefaultUnstructuredConverter.ToUnstructured(bare.Interface()) // cannot fail for an API object
	return fields
}

// ownable returns the desired fields without apiVersion, kind, name and namespace, which
// managedFields never contain.
func ownable(desired *unstructured.Unstructured) map[string]any {
	fields := maps.Clone(desired.Object)
	metadata, _ := fields["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	for _, identity := range []string{"apiVersion", "kind", "name", "namespace"} {
		delete(fields, identity)
		delete(metadata, identity)
	}
	fields["metadata"] = metadata
	return fields
}

func compare(live, desired any, fields *fieldpath.Set) (owned, same bool) {
	owned, same = true, true
	each := func(at fieldpath.PathElement, desired any) {
		value, _ := child(live, at)
		isOwned, isSame := compareAt(at, value, desired, fields)
		owned, same = owned && isOwned, same && isSame
	}
	switch desired := desired.(type) {
	case map[string]any:
		for field, value := range desired {
			each(fieldpath.PathElement{FieldName: &field}, value)
		}
	case []any:
		for _, item := range desired {
			each(elementOf(fields, item), item)
		}
	default:
		return owned, false
	}
	return owned, same
}

func compareAt(at fieldpath.PathElement, live, desired any, fields *fieldpath.Set) (owned, same bool) {
	if inner := fields.WithPrefix(at); !inner.Empty() {
		return compare(live, desired, inner)
	}
	owned, same = fields.Members.Has(at), equal(live, desired) // a scalar, or an atomic list or map
	if _, ok := desired.(map[string]any); ok {
		owned = owned && same // if other clients changed every field, we may own the map without its fields
	}
	return owned, same
}

func elementOf(fields *fieldpath.Set, item any) fieldpath.PathElement {
	for _, all := range []iter.Seq[fieldpath.PathElement]{fields.Members.All(), fields.Children.All()} {
		for at := range all {
			if matches(at, item) {
				return at
			}
		}
	}
	return fieldpath.PathElement{}
}

func child(of any, at fieldpath.PathElement) (value any, ok bool) {
	if at.FieldName != nil {
		object, _ := of.(map[string]any)
		value, ok = object[*at.FieldName]
		return value, ok
	}
	list, _ := of.([]any)
	i := slices.IndexFunc(list, func(item any) bool { return matches(at, item) })
	if i < 0 {
		return nil, false
	}
	return list[i], true
}

const scale = "scale"

// matches reports whether at identifies the list item. It ignores the UID of the controller's owner
// reference, because recordOf removes the UID from at.
func matches(at fieldpath.PathElement, item any) bool {
	if at.Key == nil {
		return at.Value != nil && equal(item, (*at.Value).Unstructured())
	}
	object, ok := item.(map[string]any)
	for _, field := range *at.Key {
		ok = ok && (equal(object[field.Name], field.Value.Unstructured()) ||
			field.Name == "uid" && equal("", field.Value.Unstructured()) && object["controller"] == true)
	}
	return ok
}

func equal(a, b any) bool {
	if a, ok := a.(string); ok { // nearly all values are strings
		return a == b
	}
	return value.Equals(value.NewValueInterface(a), value.NewValueInterface(b))
}

func surplus(fields *fieldpath.Set, desired *unstructured.Unstructured) bool {
	found := false
	fields.Leaves().Iterate(func(path fieldpath.Path) {
		var value any = desired.Object
		for _, at := range path {
			inner, ok := child(value, at)
			value, found = inner, found || !ok
		}
	})
	return found
}

// outgrown reports whether we still own obsolete fields of a POST. A POST also owns defaults, so
// extra fields count as obsolete only after the names of the desired fields have changed.
func outgrown(updated *fieldpath.Set, live client.Object, desired *unstructured.Unstructured) bool {
	return !updated.Empty() && live.GetAnnotations()[ShapeAnnotation] != shape(desired) && surplus(updated, desired)
}

// drifted reports whether we do not own a desired field, mostly because another client changed it.
func drifted(owner string, live client.Object, desired *unstructured.Unstructured) bool {
	fields := OwnedFields(owner, live)
	for _, entry := range live.GetManagedFields() {
		// The fields of an autoscaler count as ours. kube-controller-manager scales only as an
		// autoscaler; `kubectl scale` is another manager.
		if entry.Manager == "kube-controller-manager" && entry.Subresource == scale {
			fields = union(fields, recordOf(live, &entry).set)
		}
	}
	owned, _ := compare(values(live), ownable(desired), fields)
	return !owned
}

// shape hashes the names of the desired fields. Lists are hashed with their values, because no
// field name identifies an item.
func shape(desired *unstructured.Unstructured) string { return hash(outline(ownable(desired))) }

func outline(want any) any {
	object, ok := want.(map[string]any)
	if !ok {
		list, _ := want.([]any) // nil for a scalar
		return list
	}
	keys := make(map[string]any, len(object))
	for field, want := range object {
		keys[field] = outline(want)
	}
	return keys
}

func hash(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Unchanged has objects that stay out of sync after a write, often due to an admission policy.
// [Sync] writes them again only if the fingerprint (the value) has changed. The map is immutable.
type Unchanged map[expectations.Key]string

func (u Unchanged) has(owner string, live client.Object, desired *unstructured.Unstructured) bool {
	known, ok := u[keyOf(desired)]
	return ok && known == fingerprint(owner, live, desired)
}

func keyOf(o client.Object) expectations.Key {
	return expectations.KeyOf(o.GetObjectKind().GroupVersionKind().Kind, o.GetNamespace(), o.GetName())
}

func fingerprint(owner string, live client.Object, desired *unstructured.Unstructured) string {
	return hash([]any{live.GetUID(), version(live), OwnedFields(owner, live).String(), desired.Object})
}

func version(o client.Object) string {
	if generation := o.GetGeneration(); generation != 0 {
		return strconv.FormatInt(generation, 10)
	}
	return o.GetResourceVersion()
}

// SecretInSync reports whether a Secret has the labels, and whether owner owns all keys. It reads
// no values.
func SecretInSync(owner string, secret metav1.Object, labels map[string]string, keys []string) bool {
	fields := OwnedFields(owner, secret)
	return k8slabels.SelectorFromSet(labels).Matches(k8slabels.Set(secret.GetLabels())) &&
		!slices.ContainsFunc(keys, func(key string) bool { return !fields.Has(fieldpath.MakePathOrDie("data", key)) })
}
