package dojo

import (
	"errors"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
)

// applyCustom answers a server-side apply of a custom resource. As for one without a schema, all lists are owned as a whole.
func (w *world) applyCustom(c *child) {
	w.t.Helper()
	want := c.meta.(customMeta).o.DeepCopy()
	kind := want.GroupVersionKind()
	fields, err := managedfields.NewDefaultCRDFieldManager(managedfields.NewDeducedTypeConverter(), oneVersion{}, oneVersion{}, oneVersion{},
		kind, kind.GroupVersion(), "", nil)
	must(w.t, err)
	live := w.custom[c.kind]
	generation := int64(1)
	if live == nil {
		live = &unstructured.Unstructured{Object: map[string]any{}}
		live.SetGroupVersionKind(kind)
		live.SetUID(types.UID("uid of the " + c.kind))
	} else {
		generation = live.GetGeneration() + 1
	}
	after, err := fields.Apply(live, want, FieldOwner, c.exists)
	must(w.t, err)
	w.version++
	o := after.(*unstructured.Unstructured)
	o.SetResourceVersion(strconv.Itoa(w.version))
	o.SetGeneration(generation)
	o.SetCreationTimestamp(metav1.NewTime(noon))
	if w.custom == nil {
		w.custom = map[string]*unstructured.Unstructured{}
	}
	w.custom[c.kind] = o
}

// oneVersion is what an API server does with a custom resource that has one version and no defaults.
type oneVersion struct{}

func (oneVersion) Default(runtime.Object) {}

func (oneVersion) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetGroupVersionKind(kind)
	return o, nil
}

func (oneVersion) Convert(_, _, _ any) error { return errors.New("there is one version") }

func (oneVersion) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}

func (oneVersion) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}
