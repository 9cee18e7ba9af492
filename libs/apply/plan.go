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

// Plan is what has to be done so that a part of an object matches its spec. It is a value: made by
// pure functions, and read only after that.
type Plan struct {
	// Finalizers are those that the owner should have, written before anything else; nil where it
	// has them.
	Finalizers []string
	// Apply are the objects to write, in this order.
	Apply []*Object
	// Delete are the objects to delete, after that.
	Delete []Deletion
	// Abandon are the objects to leave to the garbage collector, after that: as [Applier.Run] says, it
	// deletes them, and takes the permission to patch alone.
	Abandon []Deletion
	// Issues keep the object from matching its spec, whatever comes of the writes.
	Issues []conditions.Issue
}

// Object is an object that has to be written.
type Object struct {
	expectations.Key
	// Desired holds exactly the fields that we own.
	Desired *unstructured.Unstructured
	// Live is the object that exists and is ours; nil where there is none.
	Live client.Object
	// After are the objects without which this one must not be written: when one of them could not
	// be, it waits.
	After []expectations.Key
	// Part is the part of the owner that the object belongs to, as in conditions.Issue.
	Part string
	// Drift is whether another client has changed what we wrote, or taken it away. It is also true
	// of what is desired for the first time, so that it counts only while the spec is unchanged.
	Drift bool
	// Rotation is whether the write passes on credentials that have changed.
	Rotation bool
	// Pinned is whether the write fails where the object is not as it was observed any more: what is
	// desired depends on it. It is observed again.
	Pinned bool
	// synced is whether the object is written only while it is not in sync, so that a write that
	// does not bring it there is remembered.
	synced bool
	// Invalid is what it means where the API server, or a webhook of the kind, calls the object invalid;
	// zero for the same as any other refusal.
	Invalid Refusal
	// ReplaceSpec replaces the spec as a whole where the API server calls our apply invalid: an
	// apply leaves the fields of others, and one of them may exclude ours (a value beside our
	// valueFrom). Nil for kinds where that cannot happen.
	ReplaceSpec map[string]any
}

// Refusal is what it means for the owner that an object is refused.
type Refusal struct {
	// Reason is that of the issue (Degraded).
	Reason string
	// Advice follows the error of the API server in the message: sentences that say what to do.
	Advice string
}

// Deletion is an object of ours that is no longer desired.
type Deletion struct {
	expectations.Key
	Object client.Object
}

// Typed is the desired state in an apply configuration of client-go. It cannot fail on one that
// client-go's builders made.
func Typed(config runtime.ApplyConfiguration) *unstructured.Unstructured {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(config)
	if err != nil {
		panic(err)
	}
	return &unstructured.Unstructured{Object: fields}
}

// Live is a pointer to an object as the cache shows it, nil where there is none.
type Live interface {
	comparable
	client.Object
}

// Write returns the object to be written over the live one, or to be created where there is none.
func Write[L Live](owner string, live L, desired *unstructured.Unstructured) *Object {
	o := &Object{Key: keyOf(desired), Desired: desired}
	var absent L
	if live != absent {
		o.Live, o.Drift = live, drifted(owner, live, desired)
	}
	return o
}

// Sync is Write where the live object is not in sync, and nil where it is.
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

// Add takes up objects to write; nil ones are in sync.
func (p *Plan) Add(objects ...*Object) {
	for _, o := range objects {
		if o != nil {
			p.Apply = append(p.Apply, o)
		}
	}
}

// Report adds an issue; nil is none.
func (p *Plan) Report(issue *conditions.Issue) {
	if issue != nil {
		p.Issues = append(p.Issues, *issue)
	}
}

// ForPart marks all that is planned as belonging to a part of the owner.
func (p Plan) ForPart(part string) Plan {
	for _, o := range p.Apply {
		o.Part = part
	}
	for i := range p.Issues {
		p.Issues[i].Part = part
	}
	return p
}

// Join is one plan of several, in their order.
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

// Outcome is what came of a write.
type Outcome string

// What can come of a write.
const (
	// Created: the object did not exist.
	Created Outcome = "created"
	// Updated: the object was changed.
	Updated Outcome = "updated"
	// NotChanged: the write changed nothing, as when an admission policy rewrites what we apply.
	NotChanged Outcome = "unchanged"
	// Failed: the object could not be written.
	Failed Outcome = "failed"
)

// Result is what came of one object of a plan.
type Result struct {
	Object  *Object
	Outcome Outcome
	err     error
}

// Results are what came of a plan.
type Results struct {
	// Objects are those that were written or tried, in the plan's order. One that waits for another
	// is not among them.
	Objects []Result
	// Issues are what kept objects from being written or deleted.
	Issues []conditions.Issue
	// Stale is whether something is not what the plan was made from, so that there is nothing to
	// report: reconcile again after StaleRetry. So it is after a write that does not bring an object
	// into sync, which counts as in sync from then on.
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
