// SPDX-License-Identifier: Apache-2.0

package schema

import (
	_ "embed"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/pods"
	"jutsu.com/operators/libs/apply"
)

//go:embed statistics.sh
var statisticsScript string

const statisticsSuffix = "-statistics-"

const statisticsTTL = 24 * 60 * 60

// Statistics plans the Job that analyzes an upgraded database, while the application serves.
func Statistics(dojo *corev1api.Dojo, s State, id string, as As, users pods.Users) *apply.Object {
	template := podFor(dojo, containerFor(dojo, as, statisticsScript), users)
	t := task{digest: digest(statisticsScript, id), template: template}
	name := nameOf(dojo, statisticsSuffix, t.digest)
	for _, job := range s.statistics {
		if job.Name == name {
			return nil
		}
	}
	job := jobFor(dojo, t).WithName(name)
	job.Spec.WithTTLSecondsAfterFinished(statisticsTTL)
	return apply.Write(ownership.FieldOwner, (*batchv1.Job)(nil), apply.Typed(job))
}

func isStatisticsJob(dojo *corev1api.Dojo, job *batchv1.Job) bool {
	return job.Name == nameOf(dojo, statisticsSuffix, job.Annotations[digestAnnotation])
}

func (s *State) isStatisticsPod(pod corev1.Pod) bool {
	for _, job := range s.statistics {
		if metav1.IsControlledBy(&pod, job) {
			return true
		}
	}
	return false
}
