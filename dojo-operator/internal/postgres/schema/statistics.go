// SPDX-License-Identifier: Apache-2.0

package schema

import (
	_ "embed"
	"slices"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/pods"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
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
	for _, job := range s.Statistics {
		if job.Name == name {
			return nil
		}
	}
	job := jobFor(dojo, t).WithName(name)
	job.Spec.WithTTLSecondsAfterFinished(statisticsTTL)
	return apply.Write(ownership.FieldOwner, (*batchv1.Job)(nil), apply.Typed(job))
}

// unanalyzedAnnotation on the Cluster has the UID of a statistics Job that has not completed.
const unanalyzedAnnotation = "core.jutsu.com/unanalyzed"

// Unanalyzed returns the change that records a statistics Job before a hibernation ends the Job.
// Without the record, a failed Job would be forgotten once Kubernetes has deleted it.
func Unanalyzed(s State, cluster *cnpgv1.Cluster) (change cnpg.Change) {
	if cluster == nil {
		return change
	}
	if id := unanalyzed(s, cluster); id != "" {
		change.Annotations = map[string]string{unanalyzedAnnotation: id}
	}
	return change
}

func unanalyzed(s State, cluster *cnpgv1.Cluster) string {
	if len(s.Statistics) == 0 {
		return cluster.Annotations[unanalyzedAnnotation]
	}
	last := slices.MaxFunc(s.Statistics, func(a, b *batchv1.Job) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	if jobIs(last, batchv1.JobComplete) {
		return ""
	}
	return string(last.UID)
}

// StatisticsAgain plans a new Job for the recorded Job once Postgres is up. Until then, the change
// keeps the record.
func StatisticsAgain(
	dojo *corev1api.Dojo, s State, cluster *cnpgv1.Cluster, as As, users pods.Users,
) (again *apply.Object, change cnpg.Change) {
	recorded := cluster.Annotations[unanalyzedAnnotation]
	switch {
	case recorded == "" || unanalyzed(s, cluster) == "":
	case cnpg.Up(cluster):
		again = Statistics(dojo, s, "again after "+recorded, as, users)
	default:
		change.Annotations = map[string]string{unanalyzedAnnotation: recorded}
	}
	return again, change
}

func isStatisticsJob(dojo *corev1api.Dojo, job *batchv1.Job) bool {
	return job.Name == nameOf(dojo, statisticsSuffix, job.Annotations[digestAnnotation])
}

func (s *State) isStatisticsPod(pod corev1.Pod) bool {
	for _, job := range s.Statistics {
		if metav1.IsControlledBy(&pod, job) {
			return true
		}
	}
	return false
}
