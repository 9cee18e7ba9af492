package dojo

import (
	"fmt"
	"slices"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres"
	"jutsu.com/operators/dojo-operator/internal/postgres/schema"
	"jutsu.com/operators/libs/apply"
)

// planDeletion deletes the data of a Dojo that is being deleted, one step after the other; the
// finalizer goes last. The garbage collector takes everything else.
func planDeletion(d *corev1api.Dojo, s State) apply.Plan {
	var plan apply.Plan
	if postgres.Reclaims(d) { // unless the policy was changed at the last moment
		for _, step := range []apply.Plan{postgres.FinalBackup(d, s.Postgres), planStop(d, s), postgres.Drop(d, s.Postgres)} {
			plan = apply.Join(plan, step)
			if len(step.Issues) > 0 {
				return plan.ForPart(corev1api.ConditionDatabaseReady)
			}
		}
	}
	plan.Finalizers = withoutFinalizer(d)
	return plan
}

// planStop ends everything that may have a session in the database. The plan has an issue until all
// pods have ended.
func planStop(d *corev1api.Dojo, s State) (p apply.Plan) {
	if live := s.Workload.Deployment; live != nil && !ownership.Conflicts(d, live) {
		if live.DeletionTimestamp == nil {
			p.Delete = append(p.Delete, apply.Delete("Deployment", live))
		}
		p.Report(postgres.Deleting("the application to stop"))
		return p
	}
	p = schema.Stop(s.Postgres.Schema)
	if left := len(s.Workload.Pods) + len(s.Postgres.Schema.Pods); left > 0 {
		p.Report(postgres.Deleting(fmt.Sprintf("%d pods to end", left)))
	}
	return p
}

// finalizes reports whether the Dojo's deletion waits for its data to be deleted.
func finalizes(d *corev1api.Dojo) bool {
	return slices.Contains(d.Finalizers, corev1api.DatabaseFinalizer)
}

func withoutFinalizer(d *corev1api.Dojo) []string {
	ours := func(f string) bool { return f == corev1api.DatabaseFinalizer }
	return slices.DeleteFunc(append([]string{}, d.Finalizers...), ours)
}
