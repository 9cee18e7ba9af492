// SPDX-License-Identifier: Apache-2.0

package cnpg

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/apply/expectations"
	"jutsu.com/operators/libs/conditions"
)

// Input is the input of every step.
type Input struct {
	Now time.Time
	// Deadline limits the wait of a step. ProgressDeadline limits a wait that a user may have to end,
	// such as for an object that CloudNativePG reports as failed.
	Deadline, ProgressDeadline time.Duration
	Unchanged                  apply.Unchanged
}

// Sync returns the write of the desired object, or nil if the live object is in sync.
func Sync[L apply.Live](in Input, live L, desired *unstructured.Unstructured) *apply.Object {
	return apply.Sync(ownership.FieldOwner, live, desired, in.Unchanged)
}

// Step is the result of one step. If Blocks is set, the later steps are not planned.
type Step struct {
	Apply  []*apply.Object
	Delete []apply.Deletion
	Blocks *conditions.Issue
	// Incomplete is an issue that leaves the database usable. It is reported only if no step
	// blocks.
	Incomplete *conditions.Issue
	// PasswordCurrent reports whether Postgres has the password that the application should use.
	PasswordCurrent bool
}

// Blocked returns a step that blocks with an issue, or an empty step if the issue is nil.
func Blocked(issue *conditions.Issue) Step { return Step{Blocks: issue} }

// Write returns a step that writes the objects that are not nil.
func Write(objects ...*apply.Object) (s Step) {
	for _, o := range objects {
		if o != nil {
			s.Apply = append(s.Apply, o)
		}
	}
	return s
}

// Then returns s if s blocks, else s joined with the next step.
func (s Step) Then(next Step) Step {
	if s.Blocks != nil {
		return s
	}
	both := s.With(next)
	both.Incomplete = cmp.Or(next.Incomplete, s.Incomplete)
	return both
}

// With joins two steps even if s blocks. The issues of s have priority.
func (s Step) With(other Step) Step {
	return Step{
		Apply: slices.Concat(s.Apply, other.Apply), Delete: slices.Concat(s.Delete, other.Delete),
		Blocks: cmp.Or(s.Blocks, other.Blocks), Incomplete: cmp.Or(s.Incomplete, other.Incomplete),
		PasswordCurrent: s.PasswordCurrent || other.PasswordCurrent,
	}
}

// Plan converts the step to an [apply.Plan] with at most one issue.
func (s Step) Plan() apply.Plan {
	p := apply.Plan{Apply: s.Apply, Delete: s.Delete}
	p.Report(cmp.Or(s.Blocks, s.Incomplete))
	return p
}

// After delays the write of an object until the Cluster and the Secret of a login are written.
func After(dojo *corev1api.Dojo, l Login, o *apply.Object) *apply.Object {
	if o == nil {
		return nil
	}
	for _, before := range []expectations.Key{
		expectations.KeyOf(ClusterKind.Kind, dojo.Namespace, ObjectName(dojo)),
		expectations.KeyOf("Secret", dojo.Namespace, l.ObjectName(dojo)),
	} {
		if before != o.Key {
			o.After = append(o.After, before)
		}
	}
	return o
}

// Change is a change of the desired Cluster. A nil value in Spec removes the field.
type Change struct {
	Spec        map[string]any
	Annotations map[string]string
}

// Make applies the change to a desired Cluster.
func (c Change) Make(desired *unstructured.Unstructured) {
	spec := desired.Object["spec"].(map[string]any)
	maps.Copy(spec, c.Spec)
	maps.DeleteFunc(spec, func(_ string, field any) bool { return field == nil })
	for key, value := range c.Annotations {
		ownership.Annotate(desired, key, value)
	}
}
