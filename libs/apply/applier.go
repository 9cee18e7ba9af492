// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"jutsu.com/operators/libs/apply/expectations"
	"jutsu.com/operators/libs/conditions"
)

const (
	// StaleRetry is when to reconcile again after [ErrStale].
	StaleRetry = 50 * time.Millisecond
	// No watch reports changes of quotas and policies: retry with growing pauses.
	minRefusedRetry, maxRefusedRetry = 15 * time.Second, 10 * time.Minute
	maxLag                           = 2 * time.Second
	maxRemembered                    = 4096
)

// ErrStale reports that the cache lacks our last writes, so nothing can be decided.
var ErrStale = errors.New("the cache lags behind our own writes")

// Reasons are the reasons of issues that come from writes, out of the kind's documented list.
type Reasons struct {
	Refused              string
	NamespaceTerminating string
	// NameConflict (Degraded): a foreign object has the name.
	NameConflict string
}

// Applier carries out plans.
type Applier struct {
	Owner        string // field manager of all writes
	Expectations *expectations.Set

	client  client.Client
	reasons Reasons
	clock   clock.PassiveClock
	// Not state: losing an entry costs a write without effect, or an earlier retry.
	unchanged *cache.LRUExpireCache // Unchanged by the owner's UID
	refused   *cache.LRUExpireCache // start of the refusals, by expectations.Key
	existing  *cache.LRUExpireCache // the same for creates that find an object
}

// New returns an applier whose field manager is owner.
func New(c client.Client, owner string, reasons Reasons, now clock.PassiveClock) *Applier {
	return &Applier{
		Owner: owner, Expectations: expectations.NewSet(now),
		client: client.WithFieldOwner(c, owner), reasons: reasons, clock: now,
		unchanged: cache.NewLRUExpireCacheWithClock(maxRemembered, now),
		refused:   cache.NewLRUExpireCacheWithClock(maxRemembered, now),
		existing:  cache.NewLRUExpireCacheWithClock(maxRemembered, now),
	}
}

// Unchanged returns the objects of an owner that their last write could not bring into sync.
func (a *Applier) Unchanged(owner types.UID) Unchanged {
	known, _ := a.unchanged.Get(owner)
	u, _ := known.(Unchanged)
	return u
}

// Run carries out the plan of an owner. It skips an object only if one that it depends on failed.
// It gives an abandoned object an owner that does not exist: the garbage collector deletes it.
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
		result.Outcome, result.err = Failed, a.failure(o.Key, o.Kind+" "+o.Name, err, o.Invalid)
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

func (a *Applier) create(ctx context.Context, desired *unstructured.Unstructured) (client.Object, error) {
	object := &unstructured.Unstructured{Object: maps.Clone(desired.Object)} // the desired state must not change
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
		// The API server refuses this for another object.
		{"op": "replace", "path": "/metadata/uid", "value": o.Live.GetUID()},
		{"op": "replace", "path": "/spec", "value": o.ReplaceSpec},
	})
	if err != nil {
		return fmt.Errorf("encode %s %s: %w", o.Kind, o.Name, err)
	}
	return a.client.Patch(ctx, o.Desired.DeepCopy(), client.RawPatch(types.JSONPatchType, patch))
}

// changed ignores the status, which changes concurrently.
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

// The garbage collector deletes an object whose owner's UID does not exist
// (https://kubernetes.io/docs/concepts/architecture/garbage-collection/#owners-dependents).
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
		what := fmt.Sprintf("%s %s, which is to be left to the garbage collector", old.Kind, old.Name)
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

// failure turns the API server's error into an issue or an error. It drops the text of a Secret's
// error, which may quote the Secret. A conflict is retried quietly.
func (a *Applier) failure(key expectations.Key, what string, err error, invalid Refusal) error {
	refused, refusal := conditions.Refused(err), invalid
	if !apierrors.IsInvalid(err) || invalid.Reason == "" {
		refusal = Refusal{a.reasons.Refused, "Check quotas, admission policies and the operator's permissions."}
	}
	switch {
	case replaced(err): // the new object will be observed
		return ErrStale
	case apierrors.IsAlreadyExists(err):
		return a.exists(key, what)
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return conditions.Progressing(a.reasons.NamespaceTerminating,
			"The namespace %s is being deleted.", key.Namespace)
	case key.Kind == "Secret" && conditions.StatusCode(err) == http.StatusUnprocessableEntity:
		err = fmt.Errorf("%w. If the object is immutable, "+
			"delete it; the operator creates it again", conditions.Redacted(err))
	case key.Kind == "Secret" && !conditions.Conflict(err):
		err = conditions.Redacted(err)
	}
	if !refused {
		return fmt.Errorf("%s: %w", what, err)
	}
	return conditions.Degraded(refusal.Reason, "The API server refuses the %s: %s. %s",
		what, strings.TrimSuffix(err.Error(), "."), refusal.Advice).After(retryAfter(a.failingFor(a.refused, key)))
}

// exists handles a create of an unobserved object: the cache lags, or the object is foreign. A
// tenant can compute the names of Jobs and occupy them.
func (a *Applier) exists(key expectations.Key, what string) error {
	duration := a.failingFor(a.existing, key)
	if duration < maxLag {
		return ErrStale
	}
	return conditions.Degraded(a.reasons.NameConflict, "The %s cannot be created: an object with its name exists and "+
		"does not belong to the operator. Delete "+
		"that object; the operator then tries again.", what).After(retryAfter(duration))
}

func (a *Applier) failingFor(failures *cache.LRUExpireCache, key expectations.Key) time.Duration {
	now := a.clock.Now()
	since := now
	if known, ok := failures.Get(key); ok {
		since = known.(time.Time)
	}
	failures.Add(key, since, 2*maxRefusedRetry)
	return now.Sub(since)
}

func retryAfter(failing time.Duration) time.Duration {
	return wait.Jitter(min(max(failing, minRefusedRetry), maxRefusedRetry), 0.1)
}

func replaced(err error) bool {
	causes := conditions.StatusDetails(err).Causes
	return slices.ContainsFunc(causes, func(c metav1.StatusCause) bool { return c.Field == "metadata.uid" })
}
