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

// Plan lists the writes that make an owner's objects match its spec.
type Plan struct {
	// Finalizers replaces the owner's finalizers, unless nil. A failure stops all other writes.
	Finalizers []string
	// Apply is in the order of the writes.
	Apply []*Object
	// Delete lists deletions, which follow the writes of Apply.
	Delete []Deletion
	// Abandon lists objects for the garbage collector. Run only patches their owner references.
	Abandon []Deletion
	// Issues are known before the writes.
	Issues []conditions.Issue
}

// Object is an object to write.
type Object struct {
	expectations.Key
	// Desired has exactly the fields that we want to own. Live is the existing object, or nil.
	Desired *unstructured.Unstructured
	Live    client.Object
	// After lists objects to write first. If the write of such an object fails or is skipped, the
	// write of this object is skipped.
	After []expectations.Key
	// Part is the part of the owner, as in conditions.Issue.
	Part string
	// Drift: another client changed our fields, or a desired field is new.
	Drift bool
	// Rotation reports whether the write distributes changed credentials.
	Rotation bool
	// Pinned makes the write fail if the object has changed since Desired was computed from it.
	Pinned bool
	// synced: Sync planned the write, so Unchanged records the object if it stays out of sync.
	synced  bool
	Invalid Refusal
	// ReplaceSpec replaces the whole spec after an invalid apply, because fields of other clients
	// may be the cause.
	ReplaceSpec map[string]any
}

// Deletion is an object of ours that is no longer desired.
type Deletion struct {
	expectations.Key
	Object client.Object
}

// Typed converts an apply configuration of client-go into a desired state.
func Typed(config runtime.ApplyConfiguration) *unstructured.Unstructured {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(config)
	if err != nil {
		panic(err)
	}
	return &unstructured.Unstructured{Object: fields}
}

// Live is a pointer to a cached object, or nil if the object is missing.
type Live interface {
	comparable
	client.Object
}

// Write plans a create if live is nil, and otherwise an apply.
func Write[L Live](owner string, live L, desired *unstructured.Unstructured) *Object {
	o := &Object{Key: keyOf(desired), Desired: desired}
	var absent L
	if live != absent {
		o.Live, o.Drift = live, drifted(owner, live, desired)
	}
	return o
}

// Sync plans a write like [Write]. It returns nil if the object is in sync, or if unchanged has the
// same fingerprint of the object.
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

// ForPart sets Part in all objects and issues.
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

// Outcome is the effect of a write.
type Outcome string

// The results of a write.
const (
	Created Outcome = "created"
	Updated Outcome = "updated"
	// NotChanged: the write had no effect, for example because an admission policy reverted it.
	NotChanged Outcome = "unchanged"
	Failed     Outcome = "failed"
)

// Result is the result for one object of a plan.
type Result struct {
	Object  *Object
	Outcome Outcome
	err     error
}

// Results are the results of all writes of a plan.
type Results struct {
	// Objects are in the order of the plan, without skipped objects.
	Objects []Result
	Issues  []conditions.Issue
	// Stale: report nothing, and reconcile again after StaleRetry.
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
