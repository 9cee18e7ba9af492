// SPDX-License-Identifier: Apache-2.0

package release

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/pods"
	"jutsu.com/operators/dojo-operator/internal/release/migrations"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/apply/expectations"
	"jutsu.com/operators/libs/conditions"
)

// Config has the operator's flags.
type Config struct {
	MigrateImage     string
	ProgressDeadline time.Duration
	Users            pods.Users
}

// Input has the values that other packages compute for the release step.
type Input struct {
	// Ready is true if the database is usable and the Dojo has its credentials.
	Ready bool
	// Stopped is true if no step may begin: the Dojo is suspended, or Postgres is being upgraded.
	Stopped bool
	// Revision is the revision of the credentials.
	Revision string
	// Keys are the environment variables of the credentials. Host, unless empty, replaces the value
	// of DB_ENDPOINT, which may be a Pooler: a Pooler does not keep the session of a lock.
	Keys []string
	Host string
	// Command is the spec of a pod that runs release.command, or nil.
	Command *corev1ac.PodSpecApplyConfiguration
}

// Step has the planned writes. Hold is true until the step has succeeded.
type Step struct {
	Plan apply.Plan
	Hold bool
}

// Plan plans the release step of a Dojo.
func Plan(dojo *corev1api.Dojo, s State, in Input, cfg Config) Step {
	if dojo.Spec.Release == nil {
		return Step{Plan: s.Stop()}
	}
	p := &planner{State: s, dojo: dojo, in: in, cfg: cfg}
	if s.Succeeded(dojo) {
		p.deleteFormer()
		return Step{Plan: p.plan}
	}
	p.plan.Report(p.run())
	return Step{Plan: p.plan, Hold: true}
}

type planner struct {
	State
	dojo *corev1api.Dojo
	in   Input
	cfg  Config
	plan apply.Plan
}

// run plans the writes for a step that has not succeeded. It returns the issue of the step, or nil
// if the Dojo is suspended.
func (p *planner) run() *conditions.Issue {
	p.deleteFormer()
	job := p.job()
	switch {
	case p.in.Stopped:
		p.deleteIdle(job)
		if p.dojo.Spec.Suspend {
			return nil
		}
		return p.progressing("waits until Postgres has been upgraded")
	case p.Missing != "" || p.Invalid != "":
		return p.filesIssue()
	case job == nil && p.recordedFailure(p.dojo) != nil:
		return p.failed(p.recordedFailure(p.dojo).Message)
	case p.Step == "" || job == nil && !p.in.Ready:
		return p.progressing("waits for the database and its credentials")
	case ownership.Conflicts(p.dojo, p.SameName):
		return ownership.NameConflict(p.dojo, "Job", p.SameName).After(time.Minute) // its deletion causes no reconcile
	case hasFiles(p.dojo) && p.cfg.MigrateImage == "":
		return conditions.Degraded(corev1api.ReasonMigrationsInvalid,
			"spec.release.migrations needs the image of dojo-migrate, but the operator runs without the flag "+
				"--migrate-image. Ask the platform team to set that flag, or use spec.release.command instead.")
	}
	if former := p.former(); len(former) > 0 {
		return p.waitForFormer(former)
	}
	if job == nil {
		create := apply.Write(ownership.FieldOwner, job, apply.Typed(jobFor(p.dojo, &p.State, p.in, p.cfg)))
		create.After = []expectations.Key{expectations.KeyOf("Secret", p.dojo.Namespace, p.Target.SecretName)}
		p.plan.Add(create)
		return p.progressing("begins")
	}
	if failure := failureOf(p.dojo, p.State); failure != nil {
		return p.failed(failure.Message)
	}
	return p.progress(job)
}

func (p *planner) progressing(does string) *conditions.Issue {
	return conditions.Progressing(corev1api.ReasonReleasing, "The release step of the image %s %s. %s",
		p.Target.Image, does, p.kept())
}

func (p *planner) kept() string {
	if image := serving(p.dojo); image != "" && image != p.Target.Image {
		return "The Deployment keeps the image " + image + "."
	}
	return "Pods get the new spec only after the release step has succeeded."
}

// serving returns the image of the Deployment during a release step, or "" if it is unknown. After
// an automatic rollback, it can differ from the image of the last successful step.
func serving(dojo *corev1api.Dojo) string {
	if rollout := dojo.Status.Rollout; dojo.RollsBack() && rollout != nil && rollout.RefusedImage != "" {
		return rollout.ServedImage
	}
	if known := dojo.Status.Release; known != nil {
		return known.Image
	}
	return ""
}

func (p *planner) failed(why string) *conditions.Issue {
	retry := fmt.Sprintf("`kubectl annotate dojos.core.jutsu.com %s -n %s --overwrite %s=$(date +%%s)`",
		p.dojo.Name, p.dojo.Namespace, corev1api.RetryReleaseAnnotation)
	advice := fmt.Sprintf("Fix the cause, then set another image, or retry with %s. Or set the former image again. "+
		"Changes that the step has made in the database stay.", retry)
	if hasFiles(p.dojo) { // the step does not depend on the image
		advice = fmt.Sprintf("Correct the files of spec.release.migrations; the step then runs again. If the files are "+
			"correct, fix the cause, then retry with %s. Another image does not start the step again. Changes that the step "+
			"has made in the database stay.",
			retry)
	}
	return conditions.Degraded(corev1api.ReasonReleaseFailed, "The release step of the image %s has failed: %s. %s %s",
		p.Target.Image, strings.TrimRight(why, ". "), p.kept(), advice)
}

func (p *planner) filesIssue() *conditions.Issue {
	if p.Invalid != "" {
		return conditions.Degraded(corev1api.ReasonMigrationsInvalid, "spec.release.migrations: %s. %s", p.Invalid, p.kept())
	}
	missing := "The " + p.Missing + " of spec.release.migrations does not exist. Create it, or remove the reference."
	if p.NoFiles {
		missing = "No key of the ConfigMaps in spec.release.migrations ends with " + migrations.Suffix + ". Add a key with " +
			"this suffix, or name other ConfigMaps."
	}
	return conditions.WaitUntil(p.Now, p.dojo.WaitingSince(p.Missing, p.Now), p.cfg.ProgressDeadline,
		conditions.Progressing(corev1api.ReasonWaitingForMigrations,
			"Waiting for the %s of spec.release.migrations.", p.Missing).For(p.Missing),
		conditions.Degraded(corev1api.ReasonMigrationsNotFound, "%s %s", missing, p.kept()).For(p.Missing))
}

// isFormer reports whether a Job must be gone before the desired step begins.
func (p *planner) isFormer(job *batchv1.Job) bool {
	return stepOf(job) != p.Step || job.DeletionTimestamp != nil ||
		ended(job, batchv1.JobFailed) && retried(p.dojo, job.Annotations[retryAnnotation])
}

func (p *planner) deleteFormer() {
	for _, job := range p.Jobs {
		if p.isFormer(job) && p.Step != "" {
			p.deleteIdle(job)
		}
	}
}

// deleteIdle deletes a Job that has ended, or whose containers have not started. It keeps a failed
// Job of the desired step until a retry is requested, and a completed Job until the status records
// the success.
func (p *planner) deleteIdle(job *batchv1.Job) {
	if job == nil || ended(job, batchv1.JobFailed) && !p.isFormer(job) {
		return
	}
	if p.unrecorded(job) {
		return // deleted once the status has recorded the success
	}
	began := slices.ContainsFunc(p.podsOf(job), func(pod corev1.Pod) bool {
		c := container(&pod)
		return c.Running != nil || c.Terminated != nil
	})
	if hasEnded(job) || !began {
		p.plan.Delete = append(p.plan.Delete, deletion(job)...)
	}
}

// unrecorded reports whether the status lacks the success of the Job. It is false for a Job whose
// step annotation another client has removed: the status never records such a Job.
func (p *planner) unrecorded(job *batchv1.Job) bool {
	known, step := p.dojo.Status.Release, stepOf(job)
	return ended(job, batchv1.JobComplete) && step != "" && (known == nil || !slices.Contains(known.Succeeded, step))
}

// former lists Jobs and pods that must end before the step, with their creation or deletion times.
func (p *planner) former() map[string]time.Time {
	found := map[string]time.Time{}
	own := p.job()
	for _, job := range p.Jobs {
		if p.isFormer(job) {
			since := job.CreationTimestamp.Time
			if job.DeletionTimestamp != nil {
				since = job.DeletionTimestamp.Time
			}
			found["Job "+job.Name] = since
		}
	}
	for _, pod := range p.Alive() {
		if own == nil || !slices.ContainsFunc(p.podsOf(own), func(o corev1.Pod) bool { return o.Name == pod.Name }) {
			found["pod "+pod.Name] = pod.CreationTimestamp.Time
		}
	}
	return found
}

func (p *planner) waitForFormer(former map[string]time.Time) *conditions.Issue {
	var names []string
	since := p.Now
	for name, at := range former {
		names = append(names, name)
		if at.Before(since) {
			since = at
		}
	}
	slices.Sort(names)
	if slices.ContainsFunc(p.Jobs, p.unrecorded) { // the update of our own status causes no event
		return p.progressing("waits until the operator has recorded that an earlier step succeeded").After(apply.StaleRetry)
	}
	what := strings.Join(names[:min(len(names), 5)], ", ")
	limit := timeoutOf(p.dojo)
	for _, job := range p.Jobs {
		if p.isFormer(job) {
			limit = max(limit, limitOf(p.dojo, job))
		}
	}
	return conditions.WaitUntil(p.Now, since, limit+p.cfg.ProgressDeadline,
		p.progressing("waits until an earlier step has ended: "+what),
		p.stalled("The release step does not begin, because an earlier step has not ended: %s. Find out why with "+
			"`kubectl describe jobs.batch,pods -n %s`, and remove the cause.", what, p.dojo.Namespace))
}

func (p *planner) stalled(format string, args ...any) *conditions.Issue {
	return conditions.Degraded(corev1api.ReasonReleaseStalled, "%s %s", fmt.Sprintf(format, args...), p.kept()).
		After(cmp.Or(p.cfg.ProgressDeadline, time.Minute))
}

func (p *planner) progress(job *batchv1.Job) *conditions.Issue {
	if trouble := pods.Worst(p.Now, p.podsOf(job)); trouble.Persistent {
		return p.stalled("The release step of the image %s does not start: %s.", p.Target.Image,
			strings.TrimRight(trouble.Message, ". "))
	}
	return conditions.WaitUntil(p.Now, job.CreationTimestamp.Time, limitOf(p.dojo, job)+p.cfg.ProgressDeadline,
		p.progressing("runs in the Job "+job.Name),
		p.stalled("The deadline of the release step's Job %s has passed, but the Job has not ended. "+
			"See `kubectl describe jobs.batch %s -n %s`.", job.Name, job.Name, job.Namespace))
}
