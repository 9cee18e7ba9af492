// SPDX-License-Identifier: Apache-2.0

// Package view renders a server, its objects and the needed permissions. It does no I/O.
package view

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/cli/kinds"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/kubectl/term"
)

// Health is the state of an object in one word.
type Health string

// The states, the worst last.
const (
	Ready       Health = "Ready"
	Paused      Health = "Paused"
	Progressing Health = "Progressing"
	Deleting    Health = "Deleting"
	Unknown     Health = "Unknown"
	Degraded    Health = "Degraded"
)

const notObserved = "NotObserved"

// If no operator has read a spec within unseen after the last write, the health is Unknown, unless
// only finalizers of other clients delay a deletion.
const unseen = time.Minute

// State is the health of an object with the reason.
type State struct {
	Kind      string    `json:"kind"`
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	ID        string    `json:"id,omitempty"`
	Health    Health    `json:"health"`
	Reason    string    `json:"reason"`
	Message   string    `json:"message,omitempty"`
	Since     time.Time `json:"since,omitzero"`
	// Drift lists the differences on Discord that remain because of managementPolicy Observe.
	Drift []string `json:"drift,omitempty"`
	// Broken reports whether a user must act.
	Broken bool `json:"broken"`
}

// StateOf returns the state of an object.
func StateOf(o status.Object, now time.Time) State {
	s := State{
		Kind: kinds.Of(o).Kind, Namespace: o.GetNamespace(), Name: o.GetName(), ID: status.ID(o), Drift: o.GetDifferences(),
	}
	find := func(kind string) *metav1.Condition { return meta.FindStatusCondition(o.GetConditions(), kind) }
	ready, progressing := find(conditions.TypeReady), find(conditions.TypeProgressing)
	is := func(c *metav1.Condition) bool { return c != nil && c.Status == metav1.ConditionTrue }
	of := func(health Health, c *metav1.Condition) State {
		s.Health, s.Reason, s.Message, s.Since = health, c.Reason, c.Message, c.LastTransitionTime.Time
		s.Broken = health == Degraded || health == Unknown
		return s
	}
	behind := ready == nil || ready.ObservedGeneration < o.GetGeneration()
	switch asked := lastWrite(o); {
	case behind && heldByOthers(o):
		return of(Deleting, &metav1.Condition{
			Reason: "Deleting", LastTransitionTime: *o.GetDeletionTimestamp(),
			Message: "discord-operator has no finalizer on this object. Other clients must remove their finalizers: " +
				strings.Join(o.GetFinalizers(), ", ") + ".",
		})
	case behind && now.Sub(asked) > unseen:
		return of(Unknown, &metav1.Condition{
			Reason: notObserved, LastTransitionTime: metav1.NewTime(asked),
			Message: "No operator has read this spec. Check that discord-operator runs, and that it watches this namespace.",
		})
	case is(find(conditions.TypeDegraded)):
		return of(Degraded, find(conditions.TypeDegraded))
	case o.GetDeletionTimestamp() != nil && is(progressing):
		return of(Deleting, progressing)
	case o.GetDeletionTimestamp() != nil:
		return of(Deleting, &metav1.Condition{Reason: "Deleting", LastTransitionTime: *o.GetDeletionTimestamp()})
	case ready == nil:
		return of(Progressing, &metav1.Condition{
			Reason: "Observing", Message: "The operator has not read the spec yet.", LastTransitionTime: metav1.NewTime(asked),
		})
	case is(find(v1alpha1.TypePaused)):
		return of(Paused, ready)
	case is(progressing):
		return of(Progressing, progressing)
	case is(ready):
		return of(Ready, ready)
	}
	return of(Unknown, ready)
}

// heldByOthers reports whether only finalizers of other clients delay the deletion.
func heldByOthers(o status.Object) bool {
	own := slices.Contains(o.GetFinalizers(), v1alpha1.CleanupFinalizer)
	return o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) > 0 && !own
}

// lastWrite returns the time of the last write to an object. It ignores writes of the status.
func lastWrite(o status.Object) time.Time {
	last := o.GetCreationTimestamp().Time
	for _, m := range o.GetManagedFields() {
		if m.Subresource == "" && m.Time != nil && m.Time.After(last) {
			last = m.Time.Time
		}
	}
	if at := o.GetDeletionTimestamp(); at != nil && at.After(last) {
		last = at.Time
	}
	return last
}

// Paint colours a text by the state: good, busy or bad.
func (s State) Paint(style term.Style, text string) string {
	switch {
	case s.Broken:
		return style.Bad(text)
	case s.Health == Ready:
		return style.Good(text)
	}
	return style.Busy(text)
}
