// SPDX-License-Identifier: Apache-2.0

// Package view renders a Dojo, its children, and remedies for problems as text. It does no I/O.
package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/kubectl/term"
)

// Health is the state of a Dojo in one word.
type Health string

// The states of a Dojo, from good to bad.
const (
	Ready       Health = "Ready"
	Suspended   Health = "Suspended"
	Paused      Health = "Paused"
	Progressing Health = "Progressing"
	Deleting    Health = "Deleting"
	Unknown     Health = "Unknown"
	Degraded    Health = "Degraded"
)

// Head is the state of a Dojo and its cause.
type Head struct {
	Health  Health    `json:"health"`
	Reason  string    `json:"reason"`
	Since   time.Time `json:"since,omitzero"`
	Message string    `json:"message,omitempty"`
	// Broken is true if a user must act, such as in an outage or when backups fail.
	Broken bool `json:"broken"`
	// Also lists problems that the condition Ready does not cover, such as failed backups.
	Also []string `json:"also,omitempty"`
}

const notObserved = "NotObserved"

// unseen is the time after which a spec that no operator has read is a problem.
const unseen = time.Minute

// HeadOf returns the state of a Dojo.
func HeadOf(d *corev1api.Dojo, now time.Time) Head {
	h := state(d, now)
	find := func(kind string) *metav1.Condition { return meta.FindStatusCondition(d.Status.Conditions, kind) }
	if c := find(conditions.TypeAvailable); c != nil && outage(d, c) && h.Health != Degraded {
		h.Broken = true
		h.Also = append(h.Also, fmt.Sprintf("%s: %s", c.Reason, c.Message))
	}
	if c := find(corev1api.ConditionBackupSucceeded); c != nil && c.Status == metav1.ConditionFalse {
		h.Broken = true
		h.Also = append(h.Also, fmt.Sprintf("%s: %s", c.Reason, c.Message))
	}
	return h
}

func state(d *corev1api.Dojo, now time.Time) Head {
	find := func(kind string) *metav1.Condition { return meta.FindStatusCondition(d.Status.Conditions, kind) }
	ready, degraded := find(conditions.TypeReady), find(conditions.TypeDegraded)
	progressing := find(conditions.TypeProgressing)
	is := func(c *metav1.Condition) bool { return c != nil && c.Status == metav1.ConditionTrue }
	of := func(health Health, c *metav1.Condition, broken bool) Head {
		return Head{Health: health, Reason: c.Reason, Since: c.LastTransitionTime.Time, Message: c.Message, Broken: broken}
	}
	asked := cnpg.LastSpecWrite(d)
	if d.DeletionTimestamp != nil {
		asked = cnpg.Latest(asked, d.DeletionTimestamp.Time)
	}
	switch behind := ready == nil || d.Status.ObservedGeneration < d.Generation; {
	case behind && heldByOthers(d):
		return Head{
			Health: Deleting, Reason: "Deleting", Since: d.DeletionTimestamp.Time,
			Message: "dojo-operator has no finalizer on this Dojo. Other clients must remove their finalizers: " +
				strings.Join(d.Finalizers, ", ") + ".",
		}
	case behind && now.Sub(asked) > unseen:
		return Head{
			Health: Unknown, Reason: notObserved, Since: asked, Broken: true,
			Message: "No operator has read this spec. Does dojo-operator run, and does it watch this namespace?",
		}
	case is(degraded):
		return of(Degraded, degraded, true)
	case d.DeletionTimestamp != nil:
		h := Head{Health: Deleting, Reason: "Deleting", Since: d.DeletionTimestamp.Time}
		if is(progressing) {
			h.Reason, h.Message = progressing.Reason, progressing.Message
		}
		return h
	case behind && ready == nil:
		return Head{
			Health: Progressing, Reason: "Observing", Since: asked, Message: "The operator has not read the spec yet.",
		}
	case is(find(conditions.TypePaused)):
		return of(Paused, ready, false)
	case is(progressing):
		return of(Progressing, progressing, false)
	case is(ready) && ready.Reason == corev1api.ReasonSuspended:
		return of(Suspended, ready, false)
	case is(ready):
		return of(Ready, ready, false)
	}
	return of(Unknown, ready, true)
}

// heldByOthers reports whether only finalizers of other clients delay the deletion.
func heldByOthers(d *corev1api.Dojo) bool {
	own := slices.Contains(d.Finalizers, corev1api.DatabaseFinalizer)
	return d.DeletionTimestamp != nil && len(d.Finalizers) > 0 && !own
}

// outage reports whether the Dojo has an outage, except the planned outage in an upgrade of
// Postgres.
func outage(d *corev1api.Dojo, available *metav1.Condition) bool {
	upgraded := d.Status.Database != nil && d.Status.Database.Upgrade != nil
	return available.Status == metav1.ConditionFalse && !upgraded &&
		(available.Reason == corev1api.ReasonNoReadyReplicas || available.Reason == corev1api.ReasonDatabaseUnreachable)
}

// Paint colours a text according to the Dojo's state.
func (h Head) Paint(style term.Style, text string) string {
	switch {
	case h.Broken:
		return style.Bad(text)
	case h.Health == Ready:
		return style.Good(text)
	}
	return style.Busy(text)
}

// Broken returns the Dojos for which a user must act.
func Broken(dojos []corev1api.Dojo, now time.Time) []corev1api.Dojo {
	return slices.DeleteFunc(slices.Clone(dojos), func(d corev1api.Dojo) bool { return !HeadOf(&d, now).Broken })
}

// List renders a table of Dojos. If namespaces is true, the table has a column NAMESPACE.
func List(dojos []corev1api.Dojo, namespaces bool, now time.Time, style term.Style) string {
	rows := [][]string{{"NAME", "HEALTH", "REASON", "PODS", "DATABASE", "LAST-BACKUP", "AGE"}}
	if namespaces {
		rows[0] = slices.Insert(rows[0], 0, "NAMESPACE")
	}
	for i := range dojos {
		row := listRow(&dojos[i], now, style)
		if namespaces {
			row = slices.Insert(row, 0, dojos[i].Namespace)
		}
		rows = append(rows, row)
	}
	return term.Table(rows, 3)
}

func listRow(d *corev1api.Dojo, now time.Time, style term.Style) []string {
	h := HeadOf(d, now)
	reason := h.Reason
	if len(h.Also) > 0 && h.Health != Degraded {
		reason, _, _ = strings.Cut(h.Also[0], ":")
	}
	version, backup := "", ""
	if db := d.Status.Database; db != nil {
		version = "Postgres " + cmp.Or(db.Version, "?")
		if db.NewerVersion != "" {
			version += " (" + db.NewerVersion + " is available)"
		}
		if db.LastBackup != nil {
			backup = term.Age(db.LastBackup.Time.Time, now)
		}
	}
	return []string{
		d.Name, h.Paint(style, string(h.Health)), reason, d.Status.ReadyStatus, version, backup,
		term.Age(d.CreationTimestamp.Time, now),
	}
}
