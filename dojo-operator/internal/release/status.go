// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/release/migrations"
)

const maxSucceeded = 16

// Status returns the release part of the Dojo's status; nil without spec.release.
func Status(dojo *corev1api.Dojo, s State) *corev1api.ReleaseStatus {
	if dojo.Spec.Release == nil {
		return nil
	}
	next := &corev1api.ReleaseStatus{}
	if dojo.Status.Release != nil {
		next = dojo.Status.Release.DeepCopy()
	}
	if s.Step == "" {
		return emptyAsNil(next)
	}
	// Record former steps too: after a rollback to their image, they must not run again.
	for _, job := range s.Jobs {
		if end := endOf(job, batchv1.JobComplete); end != nil {
			fromMigrate := job.Annotations[migrationsAnnotation] == "true"
			record(next, stepOf(job), end.LastTransitionTime, reportOf(fromMigrate, s.podsOf(job)))
		}
	}
	if pod := s.succeededPod(dojo); pod != nil {
		record(next, s.Step, container(pod).Terminated.FinishedAt, reportOf(hasFiles(dojo), []corev1.Pod{*pod}))
	}
	next.Failure = failureOf(dojo, s)
	next.Message = ""
	if slices.Contains(next.Succeeded, s.Step) {
		next.Image, next.Failure = s.Target.Image, nil
		next.Message = rollbackMessage(next, s)
	}
	return emptyAsNil(next)
}

func emptyAsNil(s *corev1api.ReleaseStatus) *corev1api.ReleaseStatus {
	if s.Image == "" && s.Failure == nil && len(s.Succeeded) == 0 {
		return nil
	}
	return s
}

// rollbackMessage returns a message if another step has succeeded after the desired step; else "".
func rollbackMessage(next *corev1api.ReleaseStatus, s State) string {
	if next.Succeeded[len(next.Succeeded)-1] == s.Step {
		return ""
	}
	has := "the changes of the later step"
	if next.Migration != "" {
		has = "the migration " + next.Migration
	}
	return fmt.Sprintf("The release step of the image %s does not run again: it succeeded earlier, and the step of a "+
		"later image has run since. Nothing migrates the database down, so the database still has %s.", s.Target.Image, has)
}

func record(next *corev1api.ReleaseStatus, step string, at metav1.Time, report string) {
	if step == "" || slices.Contains(next.Succeeded, step) {
		return
	}
	next.Succeeded = append(next.Succeeded, step)
	next.Succeeded = next.Succeeded[max(0, len(next.Succeeded)-maxSucceeded):]
	next.FinishedAt = &at
	next.Migrations, next.Migration = migrations.ParseReport(report)
}

// reportOf returns the report of dojo-migrate, or "". The message of a user's command may contain a
// secret, so reportOf ignores it.
func reportOf(fromMigrate bool, pods []corev1.Pod) string {
	for i := range pods {
		if ended := container(&pods[i]).Terminated; fromMigrate && ended != nil && ended.ExitCode == 0 {
			return ended.Message
		}
	}
	return ""
}

func failureOf(dojo *corev1api.Dojo, s State) *corev1api.ReleaseFailure {
	job := s.job()
	if job == nil {
		return s.recordedFailure(dojo)
	}
	end, retry := endOf(job, batchv1.JobFailed), job.Annotations[retryAnnotation]
	if end == nil || retried(dojo, retry) {
		return nil
	}
	if known := s.recordedFor(dojo, job); known != nil {
		return known
	}
	return &corev1api.ReleaseFailure{
		Step: s.Step, Retry: retry, Message: why(dojo, s, job, end), Time: end.LastTransitionTime,
	}
}

func why(dojo *corev1api.Dojo, s State, job *batchv1.Job, end *batchv1.JobCondition) string {
	switch {
	case end.Reason == batchv1.JobReasonDeadlineExceeded:
		return fmt.Sprintf("it has not ended within %s", limitOf(dojo, job))
	case s.LogEnd != "":
		return s.LogEnd
	}
	return fmt.Sprintf("the operator cannot show the last line of the step's log; see `kubectl logs job/%s -n %s`",
		job.Name, job.Namespace)
}
