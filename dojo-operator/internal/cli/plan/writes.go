// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
)

const statusOf = "status"

// Write is a request of the operator, such as "patch deployments/tokyo".
type Write struct {
	Verb string `json:"verb"`
	// Resource is the plural name of the kind.
	Resource string `json:"resource"`
	Name     string `json:"name"`
	// Unknown is true if Name ends with a hash that the plan cannot know yet.
	Unknown bool `json:"nameUnknown,omitempty"`
}

func (w Write) String() string { return w.Verb + " " + w.Resource + "/" + w.Name }

var errUnsupported = errors.New("a plan does not support this kind of request")

// Create implements [client.Writer].
func (m *Model) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	var options client.CreateOptions
	options.ApplyOptions(opts)
	k, desired, live, err := m.prepare(ctx, o)
	if err != nil {
		return err
	}
	if live != nil {
		return apierrors.NewAlreadyExists(resourceOf(k), k.Name)
	}
	request := Request{Verb: "create", Desired: desired, Owner: options.FieldManager}
	if _, err := m.check(ctx, k, request); err != nil {
		return err
	}
	delete(desired.Object, statusOf)
	setDefaults(desired)
	after, err := m.fields.update(nil, desired, "", options.FieldManager)
	if err != nil {
		return err
	}
	m.identify(after)
	m.made[k] = true
	m.stand.created(m, k, after)
	return m.store(k, "create", after, o)
}

// Patch implements [client.Writer], for JSON patches and JSON merge patches.
func (m *Model) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	var options client.PatchOptions
	options.ApplyOptions(opts)
	return m.patch(ctx, o, p, "", options.FieldManager)
}

func (m *Model) patch(ctx context.Context, o client.Object, p client.Patch, subresource, owner string) error {
	data, err := p.Data(o)
	if err != nil {
		return err
	}
	k, _, live, err := m.existing(ctx, o)
	if err != nil {
		return err
	}
	desired, err := patched(live, p.Type(), data)
	if err != nil {
		return err
	}
	if subresource == "" {
		request := Request{Verb: "patch", Desired: desired, Patch: client.RawPatch(p.Type(), data), Owner: owner}
		if _, err := m.check(ctx, k, request); err != nil {
			return err
		}
		keepStatus(desired, live)
	}
	after, err := m.fields.update(live, desired, subresource, owner)
	if err != nil {
		return err
	}
	if subresource != "" {
		return m.storeStatus(k, live, after, o)
	}
	m.restore(ctx, live, after, desired)
	if err := m.store(k, "patch", after, o); err != nil {
		return err
	}
	if sameContent(live, after) {
		m.transferred = len(m.writes)
	}
	return nil
}

func keepStatus(o, live *object) {
	delete(o.Object, statusOf)
	if status, ok := live.Object[statusOf]; ok {
		o.Object[statusOf] = status
	}
}

func patched(live *object, as types.PatchType, data []byte) (*object, error) {
	text, err := live.MarshalJSON()
	if err != nil {
		return nil, err
	}
	switch as {
	case types.MergePatchType:
		text, err = jsonpatch.MergePatch(text, data)
	case types.JSONPatchType:
		var operations jsonpatch.Patch
		if operations, err = jsonpatch.DecodePatch(data); err == nil {
			text, err = operations.Apply(text)
		}
	default:
		return nil, fmt.Errorf("%s: %w", as, errUnsupported)
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	desired := &object{}
	return desired, utiljson.Unmarshal(text, &desired.Object)
}

// Apply implements [client.Writer].
func (m *Model) Apply(ctx context.Context, config runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	var options client.ApplyOptions
	options.ApplyOptions(opts)
	text, err := json.Marshal(config)
	if err != nil {
		return err
	}
	o := &object{}
	if err := utiljson.Unmarshal(text, &o.Object); err != nil {
		return err
	}
	k, desired, live, err := m.existing(ctx, o)
	if err != nil {
		return err
	}
	request := Request{Verb: "patch", Desired: desired, Apply: true, Owner: options.FieldManager}
	after, err := m.fields.apply(live, desired, options.FieldManager)
	if err != nil {
		return err
	}
	m.restore(ctx, live, after, desired)
	expected, verb := after, "patch"
	if after, err = m.checkApply(ctx, k, live, expected, request); err != nil {
		return err
	}
	if sameContent(live, after) && !sameContent(live, expected) {
		verb = "" // no write: an admission policy undoes the change
		last := len(m.writes)
		transfer := Write{Verb: "patch", Resource: resourceOf(k).Resource, Name: k.Name}
		if last > 0 && m.transferred == last && m.writes[last-1] == transfer {
			m.writes = m.writes[:last-1] // the last request only moved fields for this apply
		}
	}
	keepStatus(after, live)
	if err := m.store(k, verb, after, o); err != nil {
		return err
	}
	if into, ok := config.(interface{ SetUnstructuredContent(map[string]any) }); ok {
		into.SetUnstructuredContent(o.Object)
		return nil
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, config)
}

// Delete implements [client.Writer]. An object with finalizers stays until a write
// removes its last finalizer, or until m.answer removes the object.
func (m *Model) Delete(ctx context.Context, o client.Object, _ ...client.DeleteOption) error {
	k, _, live, err := m.existing(ctx, o)
	if err != nil {
		return err
	}
	if _, err := m.check(ctx, k, Request{Verb: "delete", Desired: live}); err != nil {
		return err
	}
	m.written[k] = true
	m.record(k, "delete")
	if len(live.GetFinalizers()) == 0 {
		m.objects[k] = nil
		return nil
	}
	after := live.DeepCopy()
	after.SetDeletionTimestamp(new(metav1.NewTime(m.stand.now)))
	m.objects[k] = m.next(after)
	return nil
}

func (m *Model) prepare(ctx context.Context, o client.Object) (k key, desired, live *object, err error) {
	gvk, err := m.GroupVersionKindFor(o)
	if err != nil {
		return k, nil, nil, err
	}
	if desired, err = content(o); err != nil {
		return k, nil, nil, err
	}
	desired.SetGroupVersionKind(gvk)
	k = key{gvk, client.ObjectKeyFromObject(o)}
	live, err = m.read(ctx, k, false)
	return k, desired, live, err
}

func (m *Model) existing(ctx context.Context, o client.Object) (k key, desired, live *object, err error) {
	if k, desired, live, err = m.prepare(ctx, o); err == nil && live == nil {
		err = apierrors.NewNotFound(resourceOf(k), k.Name)
	}
	return k, desired, live, err
}

// store replaces an object in the model and records the write. It does not record a write if verb
// is empty or the object does not change.
func (m *Model) store(k key, verb string, after *object, into client.Object) error {
	if before := m.objects[k]; before != nil {
		if equal(before, after) {
			return fill(into, before)
		}
		if !equality.Semantic.DeepEqual(before.Object["spec"], after.Object["spec"]) {
			after.SetGeneration(before.GetGeneration() + 1)
		}
	}
	m.written[k] = true
	if verb != "" {
		m.record(k, verb)
	}
	if after.GetDeletionTimestamp() != nil && len(after.GetFinalizers()) == 0 {
		m.objects[k] = nil
		return fill(into, after)
	}
	m.objects[k] = m.next(after)
	if version := m.stand.recorded(m, k); version != "" {
		m.objects[k].SetResourceVersion(version)
	}
	return fill(into, m.objects[k])
}

// equal ignores the times in the managed fields.
func equal(a, b *object) bool {
	bare := func(o *object) *object {
		o = o.DeepCopy()
		o.SetManagedFields(nil)
		return o
	}
	return equality.Semantic.DeepEqual(bare(a).Object, bare(b).Object) &&
		equality.Semantic.DeepEqual(owners(a), owners(b))
}

func owners(o *object) (all []string) {
	for _, entry := range o.GetManagedFields() {
		all = append(all, fmt.Sprint(entry.Manager, entry.Operation, entry.Subresource, entry.FieldsV1))
	}
	return all
}

func (m *Model) storeStatus(k key, live, after *object, into client.Object) error {
	next := live.DeepCopy()
	next.Object[statusOf] = after.Object[statusOf]
	if !equality.Semantic.DeepEqual(live.Object[statusOf], next.Object[statusOf]) {
		m.next(next)
	}
	m.objects[k] = next
	return fill(into, next)
}

// plannedVersion is the prefix of made-up resource versions, which exceed all real ones.
const plannedVersion = "46116860184"

func (m *Model) next(o *object) *object {
	m.version++
	o.SetResourceVersion(plannedVersion + fmt.Sprintf("%08d", m.version))
	return o
}

const plannedUID = "planned-"

func (m *Model) identify(o *object) {
	m.version++
	o.SetUID(types.UID(m.uidPrefix + strconv.Itoa(m.version)))
	o.SetCreationTimestamp(metav1.NewTime(m.stand.now))
	o.SetGeneration(1)
}

// setDefaults sets spec.replicas of a Deployment. The operator's plans depend on no other default.
func setDefaults(o *object) {
	if o.GroupVersionKind() == kinds.Deployment.GroupVersionKind {
		spec, _ := o.Object["spec"].(map[string]any)
		if spec != nil && spec["replicas"] == nil {
			spec["replicas"] = int64(1)
		}
	}
}

func (m *Model) record(k key, verb string) {
	if m.hides(k) {
		return
	}
	m.writes = append(m.writes, Write{Verb: verb, Resource: resourceOf(k).Resource, Name: k.Name})
}

func resourceOf(k key) schema.GroupResource {
	return schema.GroupResource{Group: k.Group, Resource: kinds.Of(k.GroupVersionKind).Plural}
}

// Update implements [client.Writer]. It fails, because the operator never sends a PUT.
func (m *Model) Update(context.Context, client.Object, ...client.UpdateOption) error {
	return errUnsupported
}

// DeleteAllOf implements [client.Writer]. It fails: the operator deletes objects one by one.
func (m *Model) DeleteAllOf(context.Context, client.Object, ...client.DeleteAllOfOption) error {
	return errUnsupported
}

// Status implements [client.Client].
func (m *Model) Status() client.SubResourceWriter { return m.SubResource(statusOf) }

// SubResource implements [client.Client]. The operator uses only the subresource status.
func (m *Model) SubResource(name string) client.SubResourceClient { return subresource{m, name} }

type subresource struct {
	model *Model
	name  string
}

func (r subresource) Patch(
	ctx context.Context, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption,
) error {
	var options client.SubResourcePatchOptions
	options.ApplyOptions(opts)
	return r.model.patch(ctx, o, p, r.name, options.FieldManager)
}

func (subresource) Get(context.Context, client.Object, client.Object, ...client.SubResourceGetOption) error {
	return errUnsupported
}

func (subresource) Create(context.Context, client.Object, client.Object, ...client.SubResourceCreateOption) error {
	return errUnsupported
}

func (subresource) Update(context.Context, client.Object, ...client.SubResourceUpdateOption) error {
	return errUnsupported
}

func (subresource) Apply(context.Context, runtime.ApplyConfiguration, ...client.SubResourceApplyOption) error {
	return errUnsupported
}
