// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/pods"
	"jutsu.com/operators/libs/apply"
)

// Target is the image and the database of the desired step.
type Target struct {
	Image string
	// Database identifies the database of spec.postgres, or is "" while there is none.
	Database string
	// SecretName is the name of the Dojo's own Secret with credentials.
	SecretName string
}

// State has the observed step.
type State struct {
	Now    time.Time
	Target Target
	// Step is the hash of the desired step, or "" while the database or valid files are missing.
	Step string
	// Missing names a missing ConfigMap or key. Invalid says why the files cannot run.
	Missing, Invalid string
	// NoFiles reports whether all ConfigMaps exist, but none has a file. Missing then names a key.
	NoFiles bool
	Files   []file
	Digest  string
	// SameName is the Job, of any controller, with the name that the step needs.
	SameName *batchv1.Job
	// Jobs are the Dojo's release Jobs of all steps. Pods include pods of deleted release Jobs.
	Jobs []*batchv1.Job
	Pods []corev1.Pod
	// LogEnd is the last line of the failed step's log, without the values of Secrets.
	LogEnd string
}

// Observe reads the Jobs, the pods and the migration files of the release step.
func Observe(
	ctx context.Context, r apply.Reader, dojo *corev1api.Dojo, target Target, now time.Time,
) (s State, err error) {
	s = State{Now: now, Target: target}
	if err := s.observeRuns(ctx, r.Cache, dojo, client.MatchingFields{pods.JobOfRelease: dojo.Name},
		client.MatchingFields{pods.OfRelease: dojo.Name}); err != nil {
		return s, err
	}
	if dojo.Spec.Release == nil || dojo.DeletionTimestamp != nil {
		return s, nil
	}
	if err := s.observeStep(ctx, r, dojo); err != nil || s.Step == "" {
		return s, err
	}
	name := types.NamespacedName{Namespace: dojo.Namespace, Name: jobName(dojo, s.Step)}
	if s.SameName, err = apply.Get(ctx, r, "Job", name, &batchv1.Job{}); err != nil {
		return s, err
	}
	if s.mayBegin(dojo) { // the cache may lack the Job of another step
		labels := client.MatchingLabels(ownership.Labels(dojo, ownership.Release))
		if err := s.observeRuns(ctx, r.Live, dojo, labels, labels); err != nil {
			return s, err
		}
	}
	s.LogEnd = s.logEnd(ctx, r, dojo)
	return s, nil
}

func (s *State) observeRuns(
	ctx context.Context, r client.Reader, dojo *corev1api.Dojo, jobsOf, podsOf client.ListOption,
) error {
	var jobs batchv1.JobList
	if err := r.List(ctx, &jobs, client.InNamespace(dojo.Namespace), jobsOf); err != nil {
		return fmt.Errorf("list Jobs: %w", err)
	}
	var all corev1.PodList
	if err := r.List(ctx, &all, client.InNamespace(dojo.Namespace), podsOf); err != nil {
		return fmt.Errorf("list pods: %w", err)
	}
	s.Jobs, s.Pods = nil, all.Items
	for i := range jobs.Items {
		if job := &jobs.Items[i]; metav1.IsControlledBy(job, dojo) {
			s.Jobs = append(s.Jobs, job)
		}
	}
	return nil
}

func (s *State) observeStep(ctx context.Context, r apply.Reader, dojo *corev1api.Dojo) error {
	if dojo.Spec.Postgres != nil && s.Target.Database == "" {
		return nil
	}
	if command := dojo.Spec.Release.Command; command != nil {
		of := []string{string(dojo.UID), "command", s.Target.Database, imageID(s.Target.Image)}
		s.Step = hash(append(of, command...)...)
		return nil
	}
	if err := s.observeFiles(ctx, r, dojo); err != nil || s.Digest == "" {
		return err
	}
	s.Step = hash(string(dojo.UID), "migrations", s.Target.Database, s.Digest)
	return nil
}

func imageID(image string) string {
	if _, digest, found := strings.Cut(image, "@"); found {
		return digest
	}
	return image
}

func hash(texts ...string) string {
	h := sha256.New()
	for _, text := range texts {
		_, _ = fmt.Fprintf(h, "%d:%s", len(text), text)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

func jobName(dojo *corev1api.Dojo, step string) string {
	// A Job's name is also a label value of its pods, with at most 63 characters.
	const maxLength = 63
	suffix := "-release-" + step[:min(len(step), 10)]
	return dojo.Name[:min(len(dojo.Name), maxLength-len(suffix))] + suffix
}

func (s *State) job() *batchv1.Job {
	i := slices.IndexFunc(s.Jobs, func(job *batchv1.Job) bool { return s.Step != "" && stepOf(job) == s.Step })
	if i < 0 {
		return nil
	}
	return s.Jobs[i]
}

func (s *State) mayBegin(dojo *corev1api.Dojo) bool {
	return !dojo.Spec.Suspend && s.job() == nil && !s.Succeeded(dojo) && s.recordedFailure(dojo) == nil
}

// Succeeded reports whether the desired step has succeeded.
func (s *State) Succeeded(dojo *corev1api.Dojo) bool {
	if s.Step == "" {
		return false
	}
	known := dojo.Status.Release
	if known != nil && slices.Contains(known.Succeeded, s.Step) {
		return true
	}
	job := s.job()
	return job != nil && ended(job, batchv1.JobComplete) || s.succeededPod(dojo) != nil
}

// succeededPod returns a succeeded pod of the step, or nil. The Job of the pod may be gone.
func (s *State) succeededPod(dojo *corev1api.Dojo) *corev1.Pod {
	for i := range s.Pods {
		owner := metav1.GetControllerOfNoCopy(&s.Pods[i])
		done := container(&s.Pods[i]).Terminated
		ours := owner != nil && owner.Kind == "Job" && owner.Name == jobName(dojo, s.Step)
		if ours && done != nil && done.ExitCode == 0 {
			return &s.Pods[i]
		}
	}
	return nil
}

// recordedFailure returns the desired step's failure from the status. It returns nil if the status
// has none, or if a retry is requested.
func (s *State) recordedFailure(dojo *corev1api.Dojo) *corev1api.ReleaseFailure {
	known := dojo.Status.Release
	if known == nil || known.Failure == nil || known.Failure.Step != s.Step || retried(dojo, known.Failure.Retry) {
		return nil
	}
	return known.Failure
}

func (s *State) recordedFor(dojo *corev1api.Dojo, job *batchv1.Job) *corev1api.ReleaseFailure {
	if known := s.recordedFailure(dojo); known != nil && known.Retry == job.Annotations[retryAnnotation] {
		return known
	}
	return nil
}

func retried(dojo *corev1api.Dojo, before string) bool {
	requested := retryOf(dojo)
	return requested != "" && requested != before
}

func retryOf(dojo *corev1api.Dojo) string {
	requested := dojo.Annotations[corev1api.RetryReleaseAnnotation]
	const longest = 1024 // the limit of the field in the status
	return strings.ToValidUTF8(requested[:min(len(requested), longest)], "")
}

// Alive lists the pods that may have a session in the database.
func (s *State) Alive() []corev1.Pod {
	return slices.DeleteFunc(slices.Clone(s.Pods), func(pod corev1.Pod) bool { return pods.Ended(&pod) })
}

// MayRun reports whether a pod runs, or a Job may still start a pod.
func (s *State) MayRun() bool {
	return len(s.Alive()) > 0 || slices.ContainsFunc(s.Jobs, func(job *batchv1.Job) bool { return !hasEnded(job) })
}

// Stop plans the deletion of all release Jobs.
func (s *State) Stop() (p apply.Plan) {
	for _, job := range s.Jobs {
		p.Delete = append(p.Delete, deletion(job)...)
	}
	return p
}

func deletion(job *batchv1.Job) []apply.Deletion {
	if job.DeletionTimestamp != nil {
		return nil
	}
	return []apply.Deletion{apply.Delete("Job", job)}
}

func stepOf(job *batchv1.Job) string { return job.Annotations[stepAnnotation] }

func container(pod *corev1.Pod) corev1.ContainerState {
	for _, c := range pod.Status.ContainerStatuses {
		if c.Name == ContainerName {
			return c.State
		}
	}
	return corev1.ContainerState{}
}

func ended(job *batchv1.Job, kind batchv1.JobConditionType) bool {
	return endOf(job, kind) != nil
}

func endOf(job *batchv1.Job, kind batchv1.JobConditionType) *batchv1.JobCondition {
	for i := range job.Status.Conditions {
		if c := &job.Status.Conditions[i]; c.Type == kind && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}

func hasEnded(job *batchv1.Job) bool {
	return ended(job, batchv1.JobComplete) || ended(job, batchv1.JobFailed)
}

func (s *State) podsOf(job *batchv1.Job) []corev1.Pod {
	return slices.DeleteFunc(slices.Clone(s.Pods), func(pod corev1.Pod) bool { return !metav1.IsControlledBy(&pod, job) })
}

// References names the ConfigMaps of a Dojo's migrations.
func References(dojo *corev1api.Dojo) (names []string) {
	if release := dojo.Spec.Release; release != nil && release.Migrations != nil {
		for _, ref := range release.Migrations.ConfigMapRefs {
			names = append(names, ref.Name)
		}
	}
	return names
}
