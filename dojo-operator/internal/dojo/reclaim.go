package dojo

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/conditions"
)

// finalizes reports whether the Dojo's deletion waits for its data to be deleted.
func finalizes(d *corev1api.Dojo) bool {
	return slices.Contains(d.Finalizers, corev1api.DatabaseFinalizer)
}

// planFinalizers returns the finalizers that a Dojo should have, nil where it has them. One whose data outlives it needs none: nothing
// that holds data is owned, so the garbage collector leaves it alone.
func planFinalizers(d *corev1api.Dojo) []string {
	wanted := d.Spec.Postgres != nil && reclaim(d) == reclaimDelete
	switch {
	case wanted && !finalizes(d):
		return append(slices.Clone(d.Finalizers), corev1api.DatabaseFinalizer)
	case !wanted && finalizes(d):
		return withoutOurs(d)
	}
	return nil
}

func withoutOurs(d *corev1api.Dojo) []string {
	return slices.DeleteFunc(append([]string{}, d.Finalizers...), func(f string) bool { return f == corev1api.DatabaseFinalizer })
}

// planReclaim deletes the data of a Dojo that is being deleted, one after the other, since the other way round hangs: a database with open
// sessions is not dropped, a role that owns something neither, and without its Cluster nobody drops anything.
func planReclaim(d *corev1api.Dojo, seen *observed) *steps {
	s := &steps{replicas: *d.Spec.Replicas}
	s.database = s.reclaim(d, seen)
	s.verdict = s.database
	for _, c := range s.apply {
		c.part = corev1api.ConditionDatabaseReady
	}
	if s.verdict == nil {
		s.finalizers = withoutOurs(d)
	}
	return s
}

// reclaim returns nil once there is nothing left.
func (s *steps) reclaim(d *corev1api.Dojo, seen *observed) error {
	if d.Spec.Postgres == nil || reclaim(d) != reclaimDelete {
		return nil // the policy was changed at the last moment: the data stays
	}
	installed := seen.db.missing == ""
	if installed {
		if wait := s.planFinalBackup(d, seen); wait != nil {
			return wait
		}
	}
	if wait := s.stop(d, seen); wait != nil || !installed {
		return wait
	}
	if wait := s.drop(d, seen.db.database, databaseFor(d)); wait != nil {
		return wait
	}
	if wait := s.drop(d, seen.db.role, roleFor(d, seen.db.role)); wait != nil {
		return wait
	}
	if d.Spec.Postgres.Cluster == nil {
		return nil
	}
	if wait := s.drop(d, seen.db.schedule, nil); wait != nil {
		return wait
	}
	return s.drop(d, seen.db.cluster, nil)
}

// stop ends everything that may have a session in the database.
func (s *steps) stop(d *corev1api.Dojo, seen *observed) error {
	if live := seen.deployment; live != nil && !taken(d, live) {
		if live.DeletionTimestamp == nil {
			s.add(nil, &leftover{kindDeployment, live})
		}
		return deleting("the application to stop")
	}
	if job := seen.db.job; job != nil && !taken(d, job) {
		s.add(nil, &leftover{kindJob, job})
	}
	for _, job := range seen.db.formerJobs {
		s.add(nil, &leftover{kindJob, job})
	}
	if left := len(seen.pods) + len(seen.db.jobPods); left > 0 {
		return deleting(fmt.Sprintf("%d pods to end", left))
	}
	return nil
}

// drop deletes an object of ours, with the policy that want has, and waits until it is gone.
func (s *steps) drop(d *corev1api.Dojo, live, want *unstructured.Unstructured) error {
	if live == nil || !kept(d, live) {
		return nil
	}
	what := fmt.Sprintf("the %s %s to be deleted", live.GetKind(), live.GetName())
	if says := stateOf(live).message; says != "" {
		what += "; CloudNativePG says: " + says
	}
	if live.GetDeletionTimestamp() == nil {
		if want != nil {
			if c := planCustom(live, want); c != nil {
				s.add(c, nil) // the policy may have changed a moment ago
				return deleting(what)
			}
		}
		s.add(nil, &leftover{live.GetKind(), live})
	}
	return deleting(what)
}

func deleting(what string) error {
	return &conditions.Waiting{
		Reason:  corev1api.ReasonDeletingDatabase,
		Message: "The Dojo is being deleted with its data. Waiting for " + what + ".",
		Retry:   deletionRetry,
	}
}
