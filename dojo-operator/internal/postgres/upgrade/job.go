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
	// role is that of CloudNativePG's Job that runs pg_upgrade, and the name of the container that does
	// (pkg/reconciler/majorupgrade/job.go).
	role = "major-upgrade"
	// jobSuffix ends the name of the Job (CreatePrimaryJob in pkg/specs/jobs.go).
	jobSuffix = "-" + role
)

// observeJob reads CloudNativePG's Job that upgrades a Cluster, and its pods. The cache does not have these pods, and
// whether they have started must not be known too late: they are read from the API server.
func (s *State) observeJob(ctx context.Context, r apply.Reader, c *cnpgv1.Cluster) error {
	var jobs batchv1.JobList
	if err := r.Cache.List(ctx, &jobs, client.InNamespace(c.Namespace)); err != nil {
		return fmt.Errorf("list Jobs: %w", err)
	}
	for i := range jobs.Items {
		if job := &jobs.Items[i]; metav1.IsControlledBy(job, c) && strings.HasSuffix(job.Name, jobSuffix) {
			s.Job = job
		}
	}
	if s.Job == nil {
		return nil
	}
	var pods corev1.PodList
	of := client.MatchingLabels{batchv1.JobNameLabel: s.Job.Name}
	if err := r.Live.List(ctx, &pods, client.InNamespace(c.Namespace), of); err != nil {
		return fmt.Errorf("list the pods of the Job %s: %w", s.Job.Name, err)
	}
	s.Pods = slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return !metav1.IsControlledBy(&pod, s.Job) })
	return nil
}

// Strip leaves of a Job that CloudNativePG has made for a Cluster when it started and how it has ended, beside what
// strip leaves.
func Strip(job *batchv1.Job, strip func(*batchv1.Job)) {
	was := job.Status
	hasFailed := failed(job)
	strip(job)
	if cnpg.OfCluster(job) == "" {
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

// committed reports whether pg_upgrade runs, or has succeeded. CloudNativePG deletes its Job as soon as the Cluster
// names the former version again (handleRollbackIfNeeded in pkg/reconciler/majorupgrade/reconciler.go), however far
// that is: Postgres of the former version does not start once files are linked. Of a Job that has succeeded, it
// records that the data is of the version that the Cluster names.
func committed(job *batchv1.Job, pods []corev1.Pod) bool {
	switch {
	case job == nil || failed(job):
		return false
	case job.Status.Succeeded > 0:
		return true
	}
	return slices.ContainsFunc(pods, started)
}

// untouched reports whether a Job that has failed has not run pg_upgrade. Without its pods that is not known.
func untouched(pods []corev1.Pod) bool { return len(pods) > 0 && !slices.ContainsFunc(pods, started) }

// started reports whether the container that runs pg_upgrade has started in a pod, be it that it has ended since.
func started(pod corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.Name == role &&
			(c.State.Running != nil || c.State.Terminated != nil || c.LastTerminationState.Terminated != nil)
	})
}
