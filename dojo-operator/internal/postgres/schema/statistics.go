// SPDX-License-Identifier: Apache-2.0

package schema

import (
	_ "embed"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/apply"
)

//go:embed statistics.sh
var statisticsScript string

const statisticsSuffix = "-statistics-"

// keepStatistics is how long the Job is kept after it has ended, in seconds.
const keepStatistics = 24 * 60 * 60

// Statistics plans the Job that gathers the statistics of the database after the upgrade that of identifies; nil
// where it exists. The application serves meanwhile, and no other SQL waits for it.
func Statistics(d *corev1api.Dojo, s State, of string, as As, users Users) *apply.Object {
	t := task{digest: digest(statisticsScript, of), template: podFor(d, containerFor(d, as, statisticsScript), users)}
	name := nameOf(d, statisticsSuffix, t.digest)
	for _, job := range s.statistics {
		if job.Name == name {
			return nil
		}
	}
	job := jobFor(d, t).WithName(name)
	job.Spec.WithTTLSecondsAfterFinished(keepStatistics)
	return apply.Write(ownership.FieldOwner, (*batchv1.Job)(nil), apply.Typed(job))
}

// gathersStatistics reports whether a Job of the Dojo is one of [Statistics].
func gathersStatistics(d *corev1api.Dojo, job *batchv1.Job) bool {
	return job.Name == nameOf(d, statisticsSuffix, job.Annotations[digestAnnotation])
}

// ofStatistics reports whether a pod is one of a Job of [Statistics].
func (s *State) ofStatistics(pod corev1.Pod) bool {
	for _, job := range s.statistics {
		if metav1.IsControlledBy(&pod, job) {
			return true
		}
	}
	return false
}
