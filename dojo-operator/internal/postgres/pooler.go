// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/postgres/pooler"
	"jutsu.com/operators/libs/conditions"
)

// Host is where the application should connect, empty for the primary's own Service.
func Host(d *corev1api.Dojo, s State) string {
	return pooler.Host(d, s.Pooler, s.Application.Connected, s.Application.Pooled)
}

// WaitsForPods reports whether something goes as soon as no pod has former credentials any more: a
// login, or the Pooler.
func WaitsForPods(d *corev1api.Dojo, s State) bool {
	return Retires(d, s) || !s.Application.Pooled && pooler.Leaves(d, s.Pooler)
}

// cutOff reports whether the application's credentials name a Pooler that does not answer.
func cutOff(d *corev1api.Dojo, s State) bool {
	return s.readable() && s.Application.Pooled && !pooler.Answers(d, s.Pooler)
}

// startPooler writes the Pooler of the Dojo's own Cluster, whose pods then start while roles and database
// are made.
func (w *way) startPooler() *conditions.Issue {
	w.waitingForPooler = w.planPooler(false)
	return nil
}

// pooler waits until the Pooler answers.
func (w *way) pooler() *conditions.Issue {
	if pooler.Wanted(w.dojo) != nil && !pooler.Answers(w.dojo, w.state.Pooler) {
		return w.waitingForPooler
	}
	w.incomplete = cmp.Or(w.incomplete, w.waitingForPooler)
	return nil
}

// stopPooler takes the pods of the Pooler away, once those of the application have ended.
func (w *way) stopPooler() *conditions.Issue {
	if w.state.Pooler.Pooler == nil {
		return nil
	}
	return w.planPooler(true)
}

func (w *way) planPooler(stopped bool) *conditions.Issue {
	step := pooler.Plan(w.dojo, w.state.Pooler, pooler.Input{
		Now: w.state.Now, Deadline: w.config.Deadline, Unchanged: w.state.Unchanged,
		InUse: w.state.Application.Pooled && !stopped, Behind: w.state.Application.Behind, Stopped: stopped,
	})
	w.write(step.Write)
	if step.Delete != nil {
		w.Plan.Delete = append(w.Plan.Delete, *step.Delete)
	}
	return step.Issue
}
