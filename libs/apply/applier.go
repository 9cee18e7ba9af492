// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"jutsu.com/operators/libs/apply/expectations"
)

const (
	// StaleRetry is the pause before the reconcile that follows [ErrStale].
	StaleRetry    = 50 * time.Millisecond
	maxRemembered = 4096
)

// ErrStale means that the cache lacks our last writes, so a plan would use old state.
var ErrStale = errors.New("the cache lags behind our own writes")

// Reasons are condition reasons for failed writes. The owner's API documentation must list them.
type Reasons struct {
	Refused              string
	NamespaceTerminating string
	// NameConflict is the reason of a Degraded issue: a foreign object has the name of our object.
	NameConflict string
}

// Applier executes plans.
type Applier struct {
	Owner        string // field manager of all writes
	Expectations *expectations.Set

	client  client.Client
	reasons Reasons
	clock   clock.PassiveClock
	// An eviction from an LRU cache may cause a useless write or an early retry.
	unchanged *cache.LRUExpireCache // values of type Unchanged, keyed by the owner's UID
	refused   *cache.LRUExpireCache // time of the first refusal, keyed by expectations.Key
	existing  *cache.LRUExpireCache // time of the first AlreadyExists error, keyed by expectations.Key
}

// New returns an applier that writes as the field manager owner.
func New(c client.Client, owner string, reasons Reasons, now clock.PassiveClock) *Applier {
	return &Applier{
		Owner: owner, Expectations: expectations.NewSet(now),
		client: client.WithFieldOwner(c, owner), reasons: reasons, clock: now,
		unchanged: cache.NewLRUExpireCacheWithClock(maxRemembered, now),
		refused:   cache.NewLRUExpireCacheWithClock(maxRemembered, now),
		existing:  cache.NewLRUExpireCacheWithClock(maxRemembered, now),
	}
}

// Unchanged returns the objects of an owner that stay out of sync after a write.
func (a *Applier) Unchanged(owner types.UID) Unchanged {
	known, _ := a.unchanged.Get(owner)
	u, _ := known.(Unchanged)
	return u
}

// Run executes the plan of owner. It skips the writes that depend on a failed write.
func (a *Applier) Run(ctx context.Context, owner client.Object, plan Plan) Results {
	var results Results
	if plan.Finalizers != nil {
		if err := a.setFinalizers(ctx, owner, plan.Finalizers); err != nil {
			results.fail("", err)
			return results
		}
	}
	failed := map[expectations.Key]bool{}
	for _, o := range plan.Apply {
		if slices.ContainsFunc(o.After, func(key expectations.Key) bool { return failed[key] }) {
			failed[o.Key] = true
			continue
		}
		result := a.write(ctx, owner, o)
		failed[o.Key] = result.Outcome == Failed
		results.Objects = append(results.Objects, result)
		results.fail(o.Part, result.err)
	}
	for _, old := range plan.Delete {
		results.fail("", a.delete(ctx, old))
	}
	for _, old := range plan.Abandon {
		results.fail("", a.abandon(ctx, owner, old))
	}
	return results
}

func (a *Applier) write(ctx context.Context, owner client.Object, o *Object) Result {
	answer, err := a.send(ctx, o)
	result := Result{Object: o, Outcome: Updated}
	switch {
	case err != nil:
		result.Outcome, result.err = Failed, a.failure(o.Key, o.Kind+" "+o.Name, err, a.invalid(o))
	case o.Live == nil:
		result.Outcome = Created
	case !changed(o.Live, answer):
		result.Outcome = NotChanged
	}
	logf.FromContext(ctx).V(1).Info("applied", "kind", o.Kind, "object", o.Name, "result", result.Outcome)
	if err != nil {
		return result
	}
	if o.synced && !InSync(a.Owner, answer, o.Desired) {
		a.remember(owner.GetUID(), o.Key, fingerprint(a.Owner, answer, o.Desired))
		result.err = ErrStale
	}
	a.Expectations.Expect(o.Key, answer.GetResourceVersion())
	a.refused.Remove(o.Key)
	a.existing.Remove(o.Key)
	return result
}

func (a *Applier) send(ctx context.Context, o *Object) (client.Object, error) {
	if o.Live == nil {
		return a.create(ctx, o.Desired)
	}
	if err := a.upgrade(ctx, o); err != nil {
		return nil, err
	}
	answer, err := a.apply(ctx, o)
	if apierrors.IsInvalid(err) && o.ReplaceSpec != nil {
		if err = a.replaceSpec(ctx, o); err == nil {
			answer, err = a.apply(ctx, o)
		}
	}
	return answer, err
}

// create uses POST. An apply costs more, and would adopt a foreign object of the same name.
func (a *Applier) create(ctx context.Context, desired *unstructured.Unstructured) (client.Object, error) {
	object := &unstructured.Unstructured{Object: maps.Clone(desired.Object)}
	object.Object["metadata"] = maps.Clone(desired.Object["metadata"].(map[string]any))
	annotations := map[string]string{ShapeAnnotation: shape(desired)}
	maps.Copy(annotations, desired.GetAnnotations())
	object.SetAnnotations(annotations)
	return object, a.client.Create(ctx, object)
}

func (a *Applier) apply(ctx context.Context, o *Object) (client.Object, error) {
	object := o.Desired.DeepCopy()
	object.SetUID(o.Live.GetUID())
	if o.Pinned {
		object.SetResourceVersion(o.Live.GetResourceVersion())
	}
	return object, a.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.ForceOwnership)
}

func (a *Applier) upgrade(ctx context.Context, o *Object) error {
	applied, updated := ownedFields(a.Owner, o.Live)
	if !outgrown(updated, o.Live, o.Desired) {
		return nil
	}
	patch, err := upgradePatch(a.Owner, o.Live, union(applied, updated))
	if err != nil {
		return fmt.Errorf("encode the managed fields of %s %s: %w", o.Kind, o.Name, err)
	}
	return a.client.Patch(ctx, o.Desired.DeepCopy(), client.RawPatch(types.JSONPatchType, patch))
}

func (a *Applier) replaceSpec(ctx context.Context, o *Object) error {
	patch, err := json.Marshal([]map[string]any{
		// If the UID differs, the API server refuses the patch.
		{"op": "replace", "path": "/metadata/uid", "value": o.Live.GetUID()},
		{"op": "replace", "path": "/spec", "value": o.ReplaceSpec},
	})
	if err != nil {
		return fmt.Errorf("encode %s %s: %w", o.Kind, o.Name, err)
	}
	return a.client.Patch(ctx, o.Desired.DeepCopy(), client.RawPatch(types.JSONPatchType, patch))
}

// changed reports whether a write has changed an object. It ignores the status, which other clients
// change concurrently.
func changed(before, after client.Object) bool {
	state := func(o client.Object) []any {
		return []any{version(o), o.GetLabels(), o.GetAnnotations(), o.GetOwnerReferences()}
	}
	return !equality.Semantic.DeepEqual(state(before), state(after))
}

func (a *Applier) remember(owner types.UID, key expectations.Key, fingerprint string) {
	known := Unchanged{}
	maps.Copy(known, a.Unchanged(owner))
	known[key] = fingerprint
	a.unchanged.Add(owner, known, 24*time.Hour)
}

func (a *Applier) delete(ctx context.Context, old Deletion) error {
	err := a.client.Delete(ctx, old.Object, client.Preconditions{UID: new(old.Object.GetUID())},
		client.PropagationPolicy(metav1.DeletePropagationBackground))
	if client.IgnoreNotFound(err) != nil {
		return a.failure(old.Key, fmt.Sprintf("deletion of the %s %s", old.Kind, old.Name), err, Refusal{})
	}
	a.refused.Remove(old.Key)
	logf.FromContext(ctx).V(1).Info("deleted", "kind", old.Kind, "object", old.Name)
	if len(old.Object.GetFinalizers()) == 0 {
		a.Expectations.ExpectDeleted(old.Key, old.Object.GetUID())
	}
	return nil
}

// abandon sets an owner that does not exist, so the garbage collector deletes the object:
// https://kubernetes.io/docs/concepts/architecture/garbage-collection/#owners-dependents.
func (a *Applier) abandon(ctx context.Context, owner client.Object, old Deletion) error {
	gvk, err := a.client.GroupVersionKindFor(owner)
	if err != nil {
		return err
	}
	missingOwner := metav1.OwnerReference{
		APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Name: owner.GetName(), UID: uuid.NewUUID(),
		Controller: new(true),
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": old.Object.GetUID(), "resourceVersion": old.Object.GetResourceVersion(),
		"ownerReferences": []metav1.OwnerReference{missingOwner},
	}})
	if err != nil {
		return fmt.Errorf("encode the owner of %s %s: %w", old.Kind, old.Name, err)
	}
	after := old.Object.DeepCopyObject().(client.Object)
	err = a.client.Patch(ctx, after, client.RawPatch(types.MergePatchType, patch))
	if client.IgnoreNotFound(err) != nil {
		what := fmt.Sprintf("update of the owner references of the %s %s", old.Kind, old.Name)
		return a.failure(old.Key, what, err, Refusal{})
	}
	a.refused.Remove(old.Key)
	logf.FromContext(ctx).V(1).Info("abandoned", "kind", old.Kind, "object", old.Name)
	return nil
}

func (a *Applier) setFinalizers(ctx context.Context, owner client.Object, finalizers []string) error {
	gvk, err := a.client.GroupVersionKindFor(owner)
	if err != nil {
		return err
	}
	key := expectations.KeyOf(gvk.Kind, owner.GetNamespace(), owner.GetName())
	after := owner.DeepCopyObject().(client.Object)
	after.SetFinalizers(finalizers)
	err = a.client.Patch(ctx, after, client.MergeFromWithOptions(owner, client.MergeFromWithOptimisticLock{}))
	if err != nil {
		return a.failure(key, "finalizers of the "+gvk.Kind, err, Refusal{})
	}
	a.refused.Remove(key)
	owner.SetFinalizers(finalizers)
	owner.SetResourceVersion(after.GetResourceVersion())
	if len(finalizers) > 0 || owner.GetDeletionTimestamp() == nil {
		a.Expectations.Expect(key, after.GetResourceVersion())
	}
	return nil
}
