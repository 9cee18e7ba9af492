// SPDX-License-Identifier: Apache-2.0

package applytest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	jsonpatch "github.com/evanphx/json-patch/v5"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Server is an API server in memory and also its client.
type Server struct {
	// Admit, if set, is a mutating admission policy. It does not change the owners of fields.
	Admit func(*unstructured.Unstructured)
	// Writes are the requests that changed an object, such as "POST Deployment school/tokyo".
	Writes []string

	scheme  *runtime.Scheme
	clock   clock.PassiveClock
	mu      sync.Mutex
	objects map[key]*unstructured.Unstructured
	indexes map[schema.GroupVersionKind]map[string]client.IndexerFunc
	kinds   map[schema.GroupVersionKind]kind
	fields  map[handlerKey]*managedfields.FieldManager
	version int
}

var (
	_ client.WithWatch    = (*Server)(nil)
	_ client.FieldIndexer = (*Server)(nil)
)

type (
	object = unstructured.Unstructured
	kindOf = schema.GroupVersionKind
)

type key struct {
	schema.GroupVersionKind
	types.NamespacedName
}

// New returns an empty server. The clock sets creationTimestamp and the times in managedFields.
func New(scheme *runtime.Scheme, now clock.PassiveClock) *Server {
	return &Server{
		scheme: scheme, clock: now, version: 100,
		objects: map[key]*object{}, indexes: map[kindOf]map[string]client.IndexerFunc{},
		kinds: map[kindOf]kind{}, fields: map[handlerKey]*managedfields.FieldManager{},
	}
}

// Get implements client.Reader.
func (s *Server) Get(_ context.Context, name client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	gvk, err := s.GroupVersionKindFor(into)
	if err != nil {
		return err
	}
	live := s.objects[key{gvk, name}]
	if live == nil {
		return apierrors.NewNotFound(resource(gvk), name.Name)
	}
	return fill(into, live)
}

// List implements client.Reader, with namespaces, label selectors and the indexes of IndexField.
func (s *Server) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	gvk, err := s.GroupVersionKindFor(list)
	if err != nil {
		return err
	}
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	var options client.ListOptions
	options.ApplyOptions(opts)
	var items []runtime.Object
	byName := func(a, b key) int { return strings.Compare(a.NamespacedName.String(), b.NamespacedName.String()) }
	for _, k := range slices.SortedFunc(maps.Keys(s.objects), byName) {
		if k.GroupVersionKind != gvk || options.Namespace != "" && options.Namespace != k.Namespace ||
			options.LabelSelector != nil && !options.LabelSelector.Matches(labels.Set(s.objects[k].GetLabels())) {
			continue
		}
		item, err := s.item(list, gvk)
		if err != nil {
			return err
		}
		if err := fill(item, s.objects[k]); err != nil {
			return err
		}
		if ok, err := s.selected(options.FieldSelector, gvk, item); err != nil {
			return err
		} else if ok {
			items = append(items, item)
		}
	}
	list.SetResourceVersion(strconv.Itoa(s.version))
	return meta.SetList(list, items)
}

func (s *Server) item(list client.ObjectList, gvk schema.GroupVersionKind) (client.Object, error) {
	switch list.(type) {
	case *unstructured.UnstructuredList:
		return &unstructured.Unstructured{}, nil
	case *metav1.PartialObjectMetadataList:
		return &metav1.PartialObjectMetadata{}, nil
	}
	o, err := s.scheme.New(gvk)
	if err != nil {
		return nil, err
	}
	return o.(client.Object), nil
}

func (s *Server) selected(by fields.Selector, gvk schema.GroupVersionKind, o client.Object) (bool, error) {
	if by == nil {
		return true, nil
	}
	for _, r := range by.Requirements() {
		index := s.indexes[gvk][r.Field]
		if index == nil {
			return false, fmt.Errorf("index %s of %s does not exist", r.Field, gvk.Kind)
		}
		if !slices.Contains(index(o), r.Value) {
			return false, nil
		}
	}
	return true, nil
}

// IndexField implements client.FieldIndexer.
func (s *Server) IndexField(_ context.Context, o client.Object, name string, values client.IndexerFunc) error {
	gvk, err := s.GroupVersionKindFor(o)
	if err != nil {
		return err
	}
	if s.indexes[gvk] == nil {
		s.indexes[gvk] = map[string]client.IndexerFunc{}
	}
	s.indexes[gvk][name] = values
	return nil
}

// Create implements client.Writer.
func (s *Server) Create(_ context.Context, o client.Object, opts ...client.CreateOption) error {
	var options client.CreateOptions
	options.ApplyOptions(opts)
	return s.request("POST", o, func(gvk kindOf, live *object) (*object, error) {
		if live != nil {
			return nil, apierrors.NewAlreadyExists(resource(gvk), o.GetName())
		}
		if o.GetResourceVersion() != "" {
			return nil, apierrors.NewBadRequest("resourceVersion should not be set on objects to be created")
		}
		desired, err := content(o, gvk)
		if err != nil {
			return nil, err
		}
		return s.update(nil, desired, "", options.FieldManager)
	})
}

// Update implements client.Writer.
func (s *Server) Update(_ context.Context, o client.Object, opts ...client.UpdateOption) error {
	var options client.UpdateOptions
	options.ApplyOptions(opts)
	return s.put(o, "", options.FieldManager)
}

func (s *Server) put(o client.Object, subresource, manager string) error {
	return s.request("PUT", o, func(gvk kindOf, live *object) (*object, error) {
		if live == nil {
			return nil, apierrors.NewNotFound(resource(gvk), o.GetName())
		}
		desired, err := content(o, gvk)
		if err != nil {
			return nil, err
		}
		return s.update(live, desired, subresource, manager)
	})
}

// Patch implements client.Writer, with JSON patches and JSON merge patches.
func (s *Server) Patch(_ context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	var options client.PatchOptions
	options.ApplyOptions(opts)
	return s.patch(o, p, "", options.FieldManager)
}

func (s *Server) patch(o client.Object, p client.Patch, subresource, manager string) error {
	data, err := p.Data(o)
	if err != nil {
		return err
	}
	return s.request("PATCH", o, func(gvk kindOf, live *object) (*object, error) {
		if live == nil {
			return nil, apierrors.NewNotFound(resource(gvk), o.GetName())
		}
		text, err := patched(live, p.Type(), data)
		if err != nil {
			return nil, err
		}
		desired := &unstructured.Unstructured{}
		if err := json.Unmarshal(text, &desired.Object); err != nil {
			return nil, err
		}
		return s.update(live, desired, subresource, manager)
	})
}

func patched(live *unstructured.Unstructured, as types.PatchType, data []byte) ([]byte, error) {
	text, err := live.MarshalJSON()
	if err != nil {
		return nil, err
	}
	if as == types.MergePatchType {
		return jsonpatch.MergePatch(text, data)
	}
	if as != types.JSONPatchType {
		return nil, fmt.Errorf("applytest has no %s", as)
	}
	operations, err := jsonpatch.DecodePatch(data)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if text, err = operations.Apply(text); err != nil {
		return nil, apierrors.NewGenericServerResponse(
			http.StatusUnprocessableEntity, "patch", schema.GroupResource{}, "", err.Error(), 0, false)
	}
	return text, nil
}

// Apply implements client.Writer.
func (s *Server) Apply(_ context.Context, config runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	var options client.ApplyOptions
	options.ApplyOptions(opts)
	text, err := json.Marshal(config)
	if err != nil {
		return err
	}
	desired := &unstructured.Unstructured{}
	if err := json.Unmarshal(text, &desired.Object); err != nil {
		return err
	}
	answer := desired.DeepCopy()
	err = s.request("APPLY", answer, func(_ kindOf, live *object) (*object, error) {
		return s.apply(live, desired, options.FieldManager, options.Force != nil && *options.Force)
	})
	if err != nil {
		return err
	}
	if into, ok := config.(interface{ SetUnstructuredContent(map[string]any) }); ok {
		into.SetUnstructuredContent(answer.Object)
		return nil
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(answer.Object, config)
}

// Delete implements client.Writer. It does not delete dependents.
func (s *Server) Delete(_ context.Context, o client.Object, opts ...client.DeleteOption) error {
	var options client.DeleteOptions
	options.ApplyOptions(opts)
	return s.request("DELETE", o, func(gvk kindOf, live *object) (*object, error) {
		if live == nil {
			return nil, apierrors.NewNotFound(resource(gvk), o.GetName())
		}
		if p := options.Preconditions; p != nil && (p.UID != nil && *p.UID != live.GetUID() ||
			p.ResourceVersion != nil && *p.ResourceVersion != live.GetResourceVersion()) {
			return nil, apierrors.NewConflict(resource(gvk), o.GetName(), errors.New("precondition failed"))
		}
		if len(live.GetFinalizers()) == 0 {
			return nil, nil
		}
		if live.GetDeletionTimestamp() != nil {
			return live, nil
		}
		now := metav1.NewTime(s.clock.Now())
		marked := live.DeepCopy()
		marked.SetDeletionTimestamp(&now)
		marked.SetGeneration(live.GetGeneration() + 1)
		return marked, nil
	})
}

func (s *Server) request(
	verb string, o client.Object, write func(kindOf, *object) (*object, error),
) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	gvk, err := s.GroupVersionKindFor(o)
	if err != nil {
		return err
	}
	k := key{gvk, client.ObjectKeyFromObject(o)}
	live := s.objects[k]
	after, err := write(gvk, live)
	if err != nil {
		return err
	}
	changed := live != nil
	if after != nil {
		changed = live == nil || !equality.Semantic.DeepEqual(live.Object, after.Object)
	}
	if changed {
		s.version++
		s.Writes = append(s.Writes, fmt.Sprintf("%s %s %s", verb, gvk.Kind, k.NamespacedName))
		if after != nil {
			after.SetResourceVersion(strconv.Itoa(s.version))
		}
	}
	if after == nil || after.GetDeletionTimestamp() != nil && len(after.GetFinalizers()) == 0 {
		delete(s.objects, k)
	} else {
		s.objects[k] = after
	}
	if after == nil {
		return nil
	}
	return fill(o, after)
}

func (s *Server) accept(live, after *unstructured.Unstructured) error {
	gvk := after.GroupVersionKind()
	if live == nil {
		after.SetUID(types.UID(fmt.Sprintf("uid %d of %s", s.version, gvk.Kind)))
		after.SetCreationTimestamp(metav1.NewTime(s.clock.Now()))
		if generational(gvk) {
			after.SetGeneration(1)
		}
		return nil
	}
	switch {
	case after.GetUID() != "" && after.GetUID() != live.GetUID():
		return apierrors.NewInvalid(gvk.GroupKind(), live.GetName(), field.ErrorList{
			field.Invalid(field.NewPath("metadata", "uid"), after.GetUID(), "field is immutable"),
		})
	case after.GetResourceVersion() != "" && after.GetResourceVersion() != live.GetResourceVersion():
		return apierrors.NewConflict(resource(gvk), live.GetName(),
			errors.New("the object has been modified; please apply your changes to the latest version and try again"))
	}
	after.SetUID(live.GetUID())
	after.SetResourceVersion(live.GetResourceVersion())
	after.SetCreationTimestamp(live.GetCreationTimestamp())
	after.SetDeletionTimestamp(live.GetDeletionTimestamp())
	after.SetGeneration(live.GetGeneration())
	return nil
}

// Scheme implements client.Client.
func (s *Server) Scheme() *runtime.Scheme { return s.scheme }

// RESTMapper implements client.Client and returns nil.
func (s *Server) RESTMapper() meta.RESTMapper { return nil }

// GroupVersionKindFor implements client.Client.
func (s *Server) GroupVersionKindFor(o runtime.Object) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(o, s.scheme)
}

// IsObjectNamespaced implements client.Client. It returns true for every object.
func (s *Server) IsObjectNamespaced(runtime.Object) (bool, error) { return true, nil }

// DeleteAllOf implements client.Writer, and is not supported.
func (s *Server) DeleteAllOf(context.Context, client.Object, ...client.DeleteAllOfOption) error {
	return errUnsupported
}

// Watch implements client.WithWatch, and is not supported.
func (s *Server) Watch(context.Context, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
	return nil, errUnsupported
}

var errUnsupported = errors.New("applytest does not support this")

// Status implements client.Client.
func (s *Server) Status() client.SubResourceWriter { return s.SubResource("status") }

// SubResource implements client.Client. Only the subresource status is separate from the object.
func (s *Server) SubResource(name string) client.SubResourceClient { return subresource{s, name} }

type subresource struct {
	server *Server
	name   string
}

func (r subresource) Update(_ context.Context, o client.Object, opts ...client.SubResourceUpdateOption) error {
	var options client.SubResourceUpdateOptions
	options.ApplyOptions(opts)
	return r.server.put(o, r.name, options.FieldManager)
}

func (r subresource) Patch(
	_ context.Context, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption,
) error {
	var options client.SubResourcePatchOptions
	options.ApplyOptions(opts)
	return r.server.patch(o, p, r.name, options.FieldManager)
}

func (subresource) Get(context.Context, client.Object, client.Object, ...client.SubResourceGetOption) error {
	return errUnsupported
}

func (subresource) Create(
	context.Context, client.Object, client.Object, ...client.SubResourceCreateOption,
) error {
	return errUnsupported
}

func (subresource) Apply(context.Context, runtime.ApplyConfiguration, ...client.SubResourceApplyOption) error {
	return errUnsupported
}

func content(o client.Object, gvk schema.GroupVersionKind) (*unstructured.Unstructured, error) {
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(m)}
	u.SetGroupVersionKind(gvk)
	return u, nil
}

func fill(into client.Object, live *unstructured.Unstructured) error {
	switch into := into.(type) {
	case *unstructured.Unstructured:
		into.Object = runtime.DeepCopyJSON(live.Object)
		return nil
	case *metav1.PartialObjectMetadata:
		var m metav1.PartialObjectMetadata
		metadata := map[string]any{"metadata": live.Object["metadata"]}
		err := runtime.DefaultUnstructuredConverter.FromUnstructured(runtime.DeepCopyJSON(metadata), &m)
		m.TypeMeta = metav1.TypeMeta{APIVersion: live.GetAPIVersion(), Kind: live.GetKind()}
		*into = m
		return err
	}
	setZero(into)
	fields := runtime.DeepCopyJSON(live.Object)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, into); err != nil {
		return err
	}
	into.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{}) // a typed client clears the kind too
	return nil
}

func resource(gvk schema.GroupVersionKind) schema.GroupResource {
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	return plural.GroupResource()
}

func generational(gvk schema.GroupVersionKind) bool {
	if gvk.GroupVersion() == corev1.SchemeGroupVersion {
		return !slices.Contains([]string{"Secret", "ConfigMap", "Service", "ServiceAccount"}, gvk.Kind)
	}
	return true
}
