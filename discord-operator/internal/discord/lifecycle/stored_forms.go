// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"maps"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/discord-operator/internal/discord/resource"
)

// StoredForms returns the values that Discord stores in another form or ignores. It omits ignored
// values after resource.NotAppliedRetry or a change of the spec: they are then requested again.
func (r *Records) StoredForms(o client.Object) resource.StoredForms {
	r.mu.Lock()
	defer r.mu.Unlock()
	stored := maps.Clone(r.stored[o.GetUID()])
	maps.DeleteFunc(stored, func(_ string, v resource.StoredForm) bool {
		return v.Ignored && (v.Generation != o.GetGeneration() || r.clock.Since(v.At) >= resource.NotAppliedRetry)
	})
	return stored
}

// Answered records the requested values that Discord stored in another form or ignored. It returns
// the changed and the ignored fields.
func (r *Records) Answered(
	o client.Object, rows resource.Rows, fields []string, asked, before, after any,
) (changed, ignored []string) {
	answer := rows.Compare(fields, asked, before, after)
	r.mu.Lock()
	defer r.mu.Unlock()
	stored := maps.Clone(r.stored[o.GetUID()])
	if stored == nil {
		stored = resource.StoredForms{}
	}
	for _, field := range answer.Asked {
		delete(stored, field)
	}
	for field, v := range answer.Stored {
		v.At, v.Generation = r.clock.Now(), o.GetGeneration()
		stored[field] = v
	}
	r.stored[o.GetUID()] = stored
	return answer.Changed, answer.Ignored
}
