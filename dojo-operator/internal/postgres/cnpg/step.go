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

// Input is what every step is planned from, beside its State.
type Input struct {
	Now time.Time
	// Deadline is how long CloudNativePG may take for a step before the Dojo is Degraded, ProgressDeadline
	// the same for a step that it reports as impossible.
	Deadline, ProgressDeadline time.Duration
	// Unchanged are the objects whose last apply changed nothing.
	Unchanged apply.Unchanged
}

// Sync returns an object of CloudNativePG to be written, nil where it is in sync.
func Sync[L apply.Live](in Input, live L, desired *unstructured.Unstructured) *apply.Object {
	return apply.Sync(ownership.FieldOwner, live, desired, in.Unchanged)
}

// Step is what one step towards a database has to do.
type Step struct {
	Apply  []*apply.Object
	Delete []apply.Deletion
	// Blocks keeps the next step from being taken.
	Blocks *conditions.Issue
	// Incomplete is reported when no step blocks: the database can be used meanwhile.
	Incomplete *conditions.Issue
	// PasswordCurrent reports whether Postgres has the password that the application should have.
	PasswordCurrent bool
}

// Blocked is a step that only waits; nil is one that has nothing to do.
func Blocked(issue *conditions.Issue) Step { return Step{Blocks: issue} }

// Write is a step that writes objects; nil ones are in sync.
func Write(objects ...*apply.Object) (s Step) {
	for _, o := range objects {
		if o != nil {
			s.Apply = append(s.Apply, o)
		}
	}
	return s
}

// Then returns s with the next step, which is not taken where s blocks.
func (s Step) Then(next Step) Step {
	if s.Blocks != nil {
		return s
	}
	both := s.With(next)
	both.Incomplete = cmp.Or(next.Incomplete, s.Incomplete)
	return both
}

// With returns s with another step, which is taken in any case. The issues of s come first.
func (s Step) With(other Step) Step {
	return Step{
		Apply: slices.Concat(s.Apply, other.Apply), Delete: slices.Concat(s.Delete, other.Delete),
		Blocks: cmp.Or(s.Blocks, other.Blocks), Incomplete: cmp.Or(s.Incomplete, other.Incomplete),
		PasswordCurrent: s.PasswordCurrent || other.PasswordCurrent,
	}
}

// Plan returns what the step does, with one issue.
func (s Step) Plan() apply.Plan {
	p := apply.Plan{Apply: s.Apply, Delete: s.Delete}
	p.Report(cmp.Or(s.Blocks, s.Incomplete))
	return p
}

// After holds an object back until the Cluster and the password of a login are written.
func After(d *corev1api.Dojo, l Login, o *apply.Object) *apply.Object {
	if o == nil {
		return nil
	}
	for _, before := range []expectations.Key{
		expectations.KeyOf(ClusterKind.Kind, d.Namespace, ObjectName(d)),
		expectations.KeyOf("Secret", d.Namespace, l.ObjectName(d)),
	} {
		if before != o.Key {
			o.After = append(o.After, before)
		}
	}
	return o
}

// Change is what a step has changed of the Cluster that the spec asks for.
type Change struct {
	// Spec are fields that the Cluster gets; a nil one is taken away.
	Spec map[string]any
	// Annotations are those that the Cluster gets.
	Annotations map[string]string
}

// Make changes a desired Cluster.
func (c Change) Make(desired *unstructured.Unstructured) {
	spec := desired.Object["spec"].(map[string]any)
	maps.Copy(spec, c.Spec)
	maps.DeleteFunc(spec, func(_ string, field any) bool { return field == nil })
	for key, value := range c.Annotations {
		ownership.Annotate(desired, key, value)
	}
}
