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

// Plan is the work that makes a part of an object match its spec. It is read-only.
type Plan struct {
	// Finalizers replaces the owner's finalizers, before all other writes. Nil changes nothing.
	Finalizers []string
	// Apply are the objects to write, in this order.
	Apply []*Object
	// Delete are the objects to delete, after the writes.
	Delete []Deletion
	// Abandon are the objects that the garbage collector should delete. The operator then needs no
	// permission to delete these objects, only to patch them.
	Abandon []Deletion
	// Issues are known regardless of the writes.
	Issues []conditions.Issue
}

// Object is an object to write.
type Object struct {
	expectations.Key
	// Desired has exactly our fields. Live is our existing object, or nil.
	Desired *unstructured.Unstructured
	Live    client.Object
	// After are the objects that must be written first. If the write of such an object fails, this
	// object waits.
	After []expectations.Key
	// Part is the owner's part, as in conditions.Issue.
	Part string
	// Drift reports whether another client changed or removed our fields. A newly desired field also
	// sets Drift, so rely on Drift only while the spec is unchanged.
	Drift bool
	// Rotation reports whether the write passes on changed credentials.
	Rotation bool
	// Pinned makes the write fail if the object has changed since Desired was computed from it.
	Pinned bool
	// synced says that [Sync] planned the write. If the write does not bring the object into sync,
	// the applier records this, and Sync does not plan the same write again.
	synced  bool
	Invalid Refusal
	// ReplaceSpec replaces the whole spec if the API server calls our apply invalid. An apply keeps
	// foreign fields, and some exclude our own (a value beside our valueFrom). Nil replaces nothing.
	ReplaceSpec map[string]any
}

// Deletion is an object of ours that is no longer desired.
type Deletion struct {
	expectations.Key
	Object client.Object
}

// Typed converts an apply configuration of client-go's builders into a desired state.
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

// Write returns the object to write over the live one, or to create.
func Write[L Live](owner string, live L, desired *unstructured.Unstructured) *Object {
	o := &Object{Key: keyOf(desired), Desired: desired}
	var absent L
	if live != absent {
		o.Live, o.Drift = live, drifted(owner, live, desired)
	}
	return o
}

// Sync returns nil if the live object is in sync, or if unchanged shows that another write would
// have no effect. Otherwise it returns the result of [Write].
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

// ForPart sets the part of all objects and issues.
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

// Outcome is the result of a write.
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

// Result is the result for one object of a plan.
type Result struct {
	Object  *Object
	Outcome Outcome
	err     error
}

// Results are the results of a plan.
type Results struct {
	// Objects are the objects that Run tried to write, in the plan's order. Objects that wait for a
	// failed object are missing.
	Objects []Result
	Issues  []conditions.Issue
	// Stale reports that the plan is outdated, or that a write did not bring its object into sync.
	// Reconcile again after StaleRetry, and until then report nothing.
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

// Wrote reports whether an object was written.
func (r *Results) Wrote(key expectations.Key) bool {
	return slices.ContainsFunc(r.Objects, func(o Result) bool { return o.Object.Key == key && o.Outcome != Failed })
}
