// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"context"
	"fmt"
	"slices"
	"strings"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/apply"
)

const (
	// jobRole names the container of the upgrade Job (pkg/reconciler/majorupgrade/job.go).
	jobRole = "major-upgrade"
	// jobSuffix ends the name of the upgrade Job (CreatePrimaryJob in pkg/specs/jobs.go).
	jobSuffix = "-" + jobRole
)

// observeJob reads the Job's pods from the API server, because the cache does not have them.
func (s *State) observeJob(ctx context.Context, r apply.Reader, cluster *cnpgv1.Cluster) error {
	var jobs batchv1.JobList
	if err := r.Cache.List(ctx, &jobs, client.InNamespace(cluster.Namespace)); err != nil {
		return fmt.Errorf("list Jobs: %w", err)
	}
	for i := range jobs.Items {
		if job := &jobs.Items[i]; metav1.IsControlledBy(job, cluster) && strings.HasSuffix(job.Name, jobSuffix) {
			s.Job = job
		}
	}
	if s.Job == nil {
		return nil
	}
	var pods corev1.PodList
	of := client.MatchingLabels{batchv1.JobNameLabel: s.Job.Name}
	if err := r.Live.List(ctx, &pods, client.InNamespace(cluster.Namespace), of); err != nil {
		return fmt.Errorf("list the pods of the Job %s: %w", s.Job.Name, err)
	}
	s.Pods = slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return !metav1.IsControlledBy(&pod, s.Job) })
	return nil
}

// Strip calls strip, but keeps the start and the result of a Job of CloudNativePG.
func Strip(job *batchv1.Job, strip func(*batchv1.Job)) {
	was := job.Status
	hasFailed := failed(job)
	strip(job)
	if cnpg.OwningCluster(job) == "" {
		return
	}
	job.Status.StartTime, job.Status.Succeeded = was.StartTime, was.Succeeded
	if hasFailed {
		job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}
	}
}

func failed(job *batchv1.Job) bool {
	return job != nil && slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == batchv1.JobFailed && c.Status == corev1.ConditionTrue
	})
}

// committed reports whether the Job's container has started, and the Job has not failed. If the
// Cluster then named the former image, CloudNativePG would delete the Job or record the former
// version for the new data (handleRollbackIfNeeded in majorupgrade/reconciler.go).
func committed(job *batchv1.Job, pods []corev1.Pod) bool {
	switch {
	case job == nil || failed(job):
		return false
	case job.Status.Succeeded > 0:
		return true
	}
	return slices.ContainsFunc(pods, started)
}

func neverStarted(pods []corev1.Pod) bool {
	return len(pods) > 0 && !slices.ContainsFunc(pods, started)
}

func started(pod corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.Name == jobRole &&
			(c.State.Running != nil || c.State.Terminated != nil || c.LastTerminationState.Terminated != nil)
	})
}
