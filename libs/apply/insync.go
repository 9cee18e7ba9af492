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

// ShapeAnnotation on an object that was created by POST is a hash of the shape of what was desired
// then.
const ShapeAnnotation = "jutsu.com/created-shape"

// InSync reports whether the live object holds exactly the fields that we own, with our values.
func InSync(owner string, live client.Object, desired *unstructured.Unstructured) bool {
	applied, updated := ownedFields(owner, live)
	owned, same := compare(values(live), ownable(desired), union(applied, updated))
	return owned && same && !surplus(applied, desired) && !outgrown(updated, live, desired)
}

// OwnedFields are the fields of an object that we own.
func OwnedFields(owner string, o metav1.Object) *fieldpath.Set {
	return union(ownedFields(owner, o))
}

// ownedFields are those that we own by apply, and by update: a POST leaves that, and a replaced
// spec.
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

// union is that of two sets, of which mostly one is empty.
func union(a, b *fieldpath.Set) *fieldpath.Set {
	switch {
	case a.Empty():
		return b
	case b.Empty():
		return a
	}
	return a.Union(b)
}

// values are an object's fields. The managed fields are not among them: to convert them takes
// longer than all the others together.
func values(o client.Object) map[string]any {
	if object, ok := o.(*unstructured.Unstructured); ok {
		return object.Object
	}
	bare := reflect.New(reflect.TypeOf(o).Elem())
	bare.Elem().Set(reflect.ValueOf(o).Elem()) // shallow
	bare.Interface().(client.Object).SetManagedFields(nil)
	fields, _ := runtime.DefaultUnstructuredConverter.ToUnstructured(bare.Interface()) // an API object can be
	return fields
}

// ownable are the desired fields that have owners: what identifies the object has none.
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

// compare reports whether all that is desired is among the owned fields, and whether the live
// values are the same.
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

// compareAt is compare of one field or item.
func compareAt(at fieldpath.PathElement, live, desired any, fields *fieldpath.Set) (owned, same bool) {
	if inner := fields.WithPrefix(at); !inner.Empty() {
		return compare(live, desired, inner)
	}
	owned, same = fields.Members.Has(at), equal(live, desired) // a scalar, or owned as a whole
	if _, ok := desired.(map[string]any); ok {
		owned = owned && same // so is a map of which others have taken all that was ours
	}
	return owned, same
}

// elementOf is the path element under which we own an item of a list: its keys, or its value in a
// set. It is empty where we do not own it.
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

// child is what a path element leads to in a map or a list.
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

// scale is the subresource by which autoscalers, and kubectl scale, write replicas.
const scale = "scale"

// matches reports whether an item of a list is the one that a path element names. The controller's
// reference has no UID there (recordOf).
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
	if a, ok := a.(string); ok { // nearly all are
		return a == b
	}
	return value.Equals(value.NewValueInterface(a), value.NewValueInterface(b))
}

// surplus reports whether there is a field that is not desired.
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

// outgrown reports whether one of our fields by update may not be desired any more. Where the shape
// of what is desired is still that of the POST, all others are the API server's defaults.
func outgrown(updated *fieldpath.Set, live client.Object, desired *unstructured.Unstructured) bool {
	return !updated.Empty() && live.GetAnnotations()[ShapeAnnotation] != shape(desired) && surplus(updated, desired)
}

// drifted reports whether another client has changed what we want of an object, or taken it away:
// either takes the field out of ours. What differs and is still ours follows the spec, a flag or
// another object. Replicas that a HorizontalPodAutoscaler has set, which may be gone by now, are no
// drift.
func drifted(owner string, live client.Object, desired *unstructured.Unstructured) bool {
	fields := OwnedFields(owner, live)
	for _, entry := range live.GetManagedFields() {
		// Of the controllers in the controller manager only the autoscaler uses the scale
		// subresource; `kubectl scale` has another name.
		if entry.Manager == "kube-controller-manager" && entry.Subresource == scale {
			fields = union(fields, recordOf(live, &entry).set)
		}
	}
	owned, _ := compare(values(live), ownable(desired), fields)
	return !owned
}

// shape is a hash of which fields are desired: the keys of maps without their values, and lists
// with all that is in them, since their items have no names without a schema.
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

// hash is 64 bits of SHA-256 of the JSON of a value that came from JSON.
func hash(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Unchanged are the objects of one owner that their last write could not bring into sync, as when
// an admission policy rewrites what we apply: each with the fingerprint of its state after that. It
// is never written to; nil has none.
type Unchanged map[expectations.Key]string

func (u Unchanged) has(owner string, live client.Object, desired *unstructured.Unstructured) bool {
	known, ok := u[keyOf(desired)]
	return ok && known == fingerprint(owner, live, desired)
}

func keyOf(o client.Object) expectations.Key {
	return expectations.KeyOf(o.GetObjectKind().GroupVersionKind().Kind, o.GetNamespace(), o.GetName())
}

// fingerprint identifies the state of a live object, as far as it is ours, together with the
// desired one.
func fingerprint(owner string, live client.Object, desired *unstructured.Unstructured) string {
	return hash([]any{live.GetUID(), version(live), OwnedFields(owner, live).String(), desired.Object})
}

// version changes with an object, except for its status: not every kind has generations.
func version(o client.Object) string {
	if generation := o.GetGeneration(); generation != 0 {
		return strconv.FormatInt(generation, 10)
	}
	return o.GetResourceVersion()
}

// SecretInSync reports, from the metadata of a Secret alone, whether it has these labels and
// whether we own these keys of its data: a client that changes a value takes its ownership.
func SecretInSync(owner string, secret metav1.Object, labels map[string]string, keys []string) bool {
	fields := OwnedFields(owner, secret)
	return k8slabels.SelectorFromSet(labels).Matches(k8slabels.Set(secret.GetLabels())) &&
		!slices.ContainsFunc(keys, func(key string) bool { return !fields.Has(fieldpath.MakePathOrDie("data", key)) })
}
