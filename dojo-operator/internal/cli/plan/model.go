// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/libs/kubectl"
)

type object = unstructured.Unstructured

type key struct {
	schema.GroupVersionKind
	types.NamespacedName
}

func keyOf(o *object) key {
	return key{o.GroupVersionKind(), types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}}
}

type listed struct {
	schema.GroupVersionKind
	namespace string
}

// Model simulates the cluster: live objects, and the writes of the plan in memory. It reads each
// live object once, so that a plan sees one state. It is not safe for concurrent use.
type Model struct {
	live    client.Reader
	checker Checker
	fields  *fieldManagers
	indexes map[schema.GroupVersionKind]map[string]client.IndexerFunc

	// objects has all objects that were read or written; nil if an object does not exist.
	objects map[key]*object
	// original has the live objects before the plan's first write.
	original map[key]*object
	// metadata has Secrets that were read without data, and all objects that Put or conjure added.
	metadata map[key]*object
	lists    map[listed]bool
	// written marks objects that the user's change or the plan has written. made marks the new
	// objects among them.
	written, made map[key]bool
	writes        []Write
	// transferred is len(writes) after the last patch that only moved fields to another manager.
	transferred int
	version     int
	uidPrefix   string

	// hidden has kinds and namespaces that the user may not read. The plan omits their changes.
	hidden map[listed]bool
	stand  standIn
	// elsewhere is true if the user may not list the Dojos of other namespaces.
	elsewhere bool
	unchecked map[string]bool
	failed    error
}

var (
	_ client.Client       = (*Model)(nil)
	_ client.FieldIndexer = (*Model)(nil)
)

// NewModel returns a Model that reads the cluster through the client live. checker may be nil.
func NewModel(live client.Reader, checker Checker) *Model {
	return &Model{
		live: live, checker: checker, uidPrefix: plannedUID, fields: newFieldManagers(),
		indexes: map[schema.GroupVersionKind]map[string]client.IndexerFunc{},
		objects: map[key]*object{}, original: map[key]*object{}, metadata: map[key]*object{}, lists: map[listed]bool{},
		hidden: map[listed]bool{}, written: map[key]bool{}, made: map[key]bool{}, unchecked: map[string]bool{},
	}
}

// Put adds an object to the model, as if a user had applied it.
func (m *Model) Put(o *object) {
	k := keyOf(o)
	m.objects[k] = m.next(o.DeepCopy())
	m.metadata[k] = m.objects[k]
	m.written[k] = true
}

// Get implements [client.Reader].
func (m *Model) Get(ctx context.Context, name client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	gvk, err := m.GroupVersionKindFor(into)
	if err != nil {
		return err
	}
	_, alone := into.(*metav1.PartialObjectMetadata)
	o, err := m.read(ctx, key{gvk, name}, alone && gvk.Kind == kinds.Secret.Kind)
	if err != nil {
		return err
	}
	if o == nil {
		return apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, name.Name)
	}
	return fill(into, o)
}

func (m *Model) read(ctx context.Context, k key, metadataAlone bool) (*object, error) {
	if o, known := m.objects[k]; known {
		return o, nil
	}
	if o, known := m.metadata[k]; known && metadataAlone {
		return o, nil
	}
	o, err := m.readLive(ctx, k, metadataAlone)
	if apierrors.IsForbidden(err) && hideable(k) {
		m.hidden[listed{k.GroupVersionKind, k.Namespace}] = true
		o, err, metadataAlone = m.stand.unreadable(k), nil, false
	}
	if err != nil {
		m.failed = errors.Join(m.failed, err)
		return nil, err
	}
	if metadataAlone && o != nil {
		m.metadata[k] = o
	} else {
		m.objects[k], m.original[k] = o, o
	}
	return o, nil
}

// hideable reports whether a plan is possible without reading this kind.
func hideable(k key) bool {
	return slices.ContainsFunc([]kinds.Kind{
		kinds.Secret, kinds.ServiceMonitor, kinds.Rule, kinds.Route, kinds.HTTPRoute, kinds.Channel,
	}, func(kind kinds.Kind) bool { return kind.GroupVersionKind == k.GroupVersionKind })
}

func (m *Model) hides(k key) bool { return m.hidden[listed{k.GroupVersionKind, k.Namespace}] }

func (m *Model) readLive(ctx context.Context, k key, metadataAlone bool) (*object, error) {
	if !metadataAlone {
		o := &object{}
		o.SetGroupVersionKind(k.GroupVersionKind)
		err := m.live.Get(ctx, k.NamespacedName, o)
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return o, err
	}
	head := &metav1.PartialObjectMetadata{}
	head.SetGroupVersionKind(k.GroupVersionKind)
	if err := m.live.Get(ctx, k.NamespacedName, head); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	head.SetGroupVersionKind(k.GroupVersionKind)
	return content(head)
}

// List implements [client.Reader]. It supports the field indexes of the operator's cache.
func (m *Model) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	gvk, err := m.GroupVersionKindFor(list)
	if err != nil {
		return err
	}
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	var options client.ListOptions
	options.ApplyOptions(opts)
	if err := m.readList(ctx, listed{gvk, options.Namespace}); err != nil {
		return err
	}
	var items []runtime.Object
	byName := func(a, b key) int { return strings.Compare(a.NamespacedName.String(), b.NamespacedName.String()) }
	for _, k := range slices.SortedFunc(maps.Keys(m.objects), byName) {
		o := m.objects[k]
		if o == nil || k.GroupVersionKind != gvk || options.Namespace != "" && options.Namespace != k.Namespace ||
			options.LabelSelector != nil && !options.LabelSelector.Matches(labels.Set(o.GetLabels())) {
			continue
		}
		item := client.Object(&object{})
		if _, ok := list.(*unstructured.UnstructuredList); !ok {
			item = kinds.New(gvk)
		}
		if err := fill(item, o); err != nil {
			return err
		}
		if ok, err := m.selected(options.FieldSelector, gvk, item); err != nil {
			return err
		} else if ok {
			items = append(items, item)
		}
	}
	return meta.SetList(list, items)
}

// readList reads all objects of a kind. A field selector is not possible, because only the
// operator's cache has the field indexes.
func (m *Model) readList(ctx context.Context, of listed) error {
	if m.elsewhere && of.namespace == "" && of.Kind == kinds.Dojo.Kind {
		of.namespace = m.stand.dojo.Namespace
	}
	if m.lists[of] || m.lists[listed{of.GroupVersionKind, ""}] {
		return nil
	}
	all := &unstructured.UnstructuredList{}
	all.SetGroupVersionKind(of.GroupVersion().WithKind(of.Kind + "List"))
	err := m.live.List(ctx, all, client.InNamespace(of.namespace))
	if apierrors.IsForbidden(err) && of.namespace == "" && of.Kind == kinds.Dojo.Kind {
		m.elsewhere = true // the user may only know the Dojos of the plan's own namespace
		return m.readList(ctx, of)
	}
	if err != nil {
		m.failed = errors.Join(m.failed, err)
		return err
	}
	m.lists[of] = true
	for i := range all.Items {
		o := &all.Items[i]
		o.SetGroupVersionKind(of.GroupVersionKind)
		if _, known := m.objects[keyOf(o)]; !known {
			m.objects[keyOf(o)], m.original[keyOf(o)] = o, o
		}
	}
	return nil
}

func (m *Model) selected(by fields.Selector, gvk schema.GroupVersionKind, o client.Object) (bool, error) {
	if by == nil {
		return true, nil
	}
	for _, r := range by.Requirements() {
		index := m.indexes[gvk][r.Field]
		if index == nil {
			return false, fmt.Errorf("index %s of %s does not exist", r.Field, gvk.Kind)
		}
		if !slices.Contains(index(o), r.Value) {
			return false, nil
		}
	}
	return true, nil
}

// IndexField implements [client.FieldIndexer].
func (m *Model) IndexField(_ context.Context, o client.Object, name string, values client.IndexerFunc) error {
	gvk, err := m.GroupVersionKindFor(o)
	if err != nil {
		return err
	}
	if m.indexes[gvk] == nil {
		m.indexes[gvk] = map[string]client.IndexerFunc{}
	}
	m.indexes[gvk][name] = values
	return nil
}

// Scheme implements [client.Client].
func (m *Model) Scheme() *runtime.Scheme { return kinds.Scheme() }

// RESTMapper implements [client.Client].
func (m *Model) RESTMapper() meta.RESTMapper { return kubectl.Mapper(kinds.All()) }

// GroupVersionKindFor implements [client.Client].
func (m *Model) GroupVersionKindFor(o runtime.Object) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(o, kinds.Scheme())
}

// IsObjectNamespaced implements [client.Client]. The operator writes only namespaced kinds.
func (m *Model) IsObjectNamespaced(runtime.Object) (bool, error) { return true, nil }

func content(o runtime.Object) (*object, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, err
	}
	return &object{Object: runtime.DeepCopyJSON(fields)}, nil
}

func fill(into client.Object, o *object) error {
	switch into := into.(type) {
	case *object:
		into.Object = runtime.DeepCopyJSON(o.Object)
		return nil
	case *metav1.PartialObjectMetadata:
		head := map[string]any{"metadata": o.Object["metadata"]}
		var read metav1.PartialObjectMetadata
		err := runtime.DefaultUnstructuredConverter.FromUnstructured(runtime.DeepCopyJSON(head), &read)
		read.SetGroupVersionKind(o.GroupVersionKind())
		*into = read
		return err
	case *corev1.Secret:
		*into = corev1.Secret{}
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(runtime.DeepCopyJSON(o.Object), into); err != nil {
		return err
	}
	into.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{}) // a typed client also leaves the kind empty
	return nil
}
