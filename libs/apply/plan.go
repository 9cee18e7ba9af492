// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/libs/apply/expectations"
	"jutsu.com/operators/libs/conditions"
)

// Plan is the work that makes the objects of an owner, or of one part of it, match the owner's
// spec. [Applier.Run] does not change the plan.
type Plan struct {
	// Finalizers replaces the owner's finalizers, before all other writes. Nil changes nothing.
	Finalizers []string
	// Apply are the objects to write, in this order.
	Apply []*Object
	// Delete are the objects to delete, after the writes.
	Delete []Deletion
	// Abandon are the objects that the garbage collector should delete, after [Applier.Run] has
	// replaced their owner reference. The operator then needs no permission to delete these
	// objects, only to patch them.
	Abandon []Deletion
	// Issues are the problems that are known before the writes.
	Issues []conditions.Issue
}

// Object is an object to write.
type Object struct {
	expectations.Key
	// Desired has exactly the fields that we want to own. Live is the existing object, or nil.
	Desired *unstructured.Unstructured
	Live    client.Object
	// After are the objects that must be written first. If one of these writes fails, this object
	// is not written.
	After []expectations.Key
	// Part is the part of the owner that the object belongs to, as in conditions.Issue.
	Part string
	// Drift reports whether another client changed or removed our fields. A field that is desired
	// for the first time also sets Drift, so rely on Drift only while the spec is unchanged.
	Drift bool
	// Rotation reports whether the write distributes changed credentials.
	Rotation bool
	// Pinned reports whether the write must fail if the object has changed since Desired was
	// computed from it.
	Pinned bool
	// synced reports whether [Sync] planned the write. If the object stays out of sync after this
	// write, the applier records that, and Sync does not plan the same write again.
	synced  bool
	Invalid Refusal
	// ReplaceSpec replaces the whole spec if the API server calls our apply invalid. An apply keeps
	// the fields of other clients, which may conflict: a value beside our valueFrom is invalid.
	ReplaceSpec map[string]any
}

// Deletion is an object of ours that is no longer desired.
type Deletion struct {
	expectations.Key
	Object client.Object
}

// Typed converts an apply configuration, made with client-go's builders, into a desired state.
func Typed(config runtime.ApplyConfiguration) *unstructured.Unstructured {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(config)
	if err != nil {
		panic(err)
	}
	return &unstructured.Unstructured{Object: fields}
}

// Live is a pointer to an object in the cache, nil if the cache has no such object.
type Live interface {
	comparable
	client.Object
}

// Write plans the write of an object: a create if live is nil, and otherwise an apply.
func Write[L Live](owner string, live L, desired *unstructured.Unstructured) *Object {
	o := &Object{Key: keyOf(desired), Desired: desired}
	var absent L
	if live != absent {
		o.Live, o.Drift = live, drifted(owner, live, desired)
	}
	return o
}

// Sync returns nil if the live object is in sync, or if unchanged says that another write would
// have no effect. Otherwise it plans the write as [Write] does.
func Sync[L Live](owner string, live L, desired *unstructured.Unstructured, unchanged Unchanged) *Object {
	var absent L
	if live != absent && (InSync(owner, live, desired) || unchanged.has(owner, live, desired)) {
		return nil
	}
	o := Write(owner, live, desired)
	o.synced = true
	return o
}

// Delete plans the deletion of an object.
func Delete(kind string, object client.Object) Deletion {
	return Deletion{expectations.KeyOf(kind, object.GetNamespace(), object.GetName()), object}
}

// Add adds objects to write. It skips nil, which [Sync] returns for an object in sync.
func (p *Plan) Add(objects ...*Object) {
	for _, o := range objects {
		if o != nil {
			p.Apply = append(p.Apply, o)
		}
	}
}

// Report adds an issue, unless the issue is nil.
func (p *Plan) Report(issue *conditions.Issue) {
	if issue != nil {
		p.Issues = append(p.Issues, *issue)
	}
}

// ForPart sets the field Part of all objects and issues, and returns the plan.
func (p Plan) ForPart(part string) Plan {
	for _, o := range p.Apply {
		o.Part = part
	}
	for i := range p.Issues {
		p.Issues[i].Part = part
	}
	return p
}

// Join concatenates plans.
func Join(plans ...Plan) Plan {
	var all Plan
	for _, p := range plans {
		if p.Finalizers != nil {
			all.Finalizers = p.Finalizers
		}
		all.Apply = slices.Concat(all.Apply, p.Apply)
		all.Delete = slices.Concat(all.Delete, p.Delete)
		all.Abandon = slices.Concat(all.Abandon, p.Abandon)
		all.Issues = slices.Concat(all.Issues, p.Issues)
	}
	return all
}

// Outcome is the result of one write.
type Outcome string

// The results of a write.
const (
	Created Outcome = "created"
	Updated Outcome = "updated"
	// NotChanged means that the write had no effect, for example because an admission policy
	// rewrites the object.
	NotChanged Outcome = "unchanged"
	Failed     Outcome = "failed"
)

// Result is the outcome for one object of a plan.
type Result struct {
	Object  *Object
	Outcome Outcome
	err     error
}

// Results are the results of all writes of a plan.
type Results struct {
	// Objects are the objects that Run tried to write, in the plan's order. Skipped objects are
	// missing.
	Objects []Result
	Issues  []conditions.Issue
	// Stale reports whether the plan is outdated, or whether a write did not bring its object into
	// sync. Reconcile again after StaleRetry, and report nothing until then.
	Stale bool
}

func (r *Results) fail(part string, err error) {
	if errors.Is(err, ErrStale) || conditions.Conflict(err) {
		r.Stale = true
		return
	}
	for _, issue := range conditions.Of(err) {
		issue.Part = part
		r.Issues = append(r.Issues, issue)
	}
}

// Wrote reports whether an object was written without an error.
func (r *Results) Wrote(key expectations.Key) bool {
	return slices.ContainsFunc(r.Objects, func(o Result) bool { return o.Object.Key == key && o.Outcome != Failed })
}
