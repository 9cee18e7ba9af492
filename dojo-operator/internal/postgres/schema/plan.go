// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/pods"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/apply/expectations"
	"jutsu.com/operators/libs/conditions"
)

// Config has the deadlines for SQL, and the user of its pods.
type Config struct {
	// Deadline limits the run of SQL and the end of former Jobs. ProgressDeadline limits waits for
	// missing SQL and for the start and the end of pods. A wait continues after its deadline.
	Deadline         time.Duration
	ProgressDeadline time.Duration
	Users            pods.Users
}

// As selects the login that runs SQL, and the image of Postgres.
type As struct {
	Login cnpg.Login
	Image string
}

// Record identifies the SQL that has run. It always has all keys, because the first new key after
// the create of the Database would cost an extra patch (libs/apply).
type Record map[string]string

const noRecord = "none"

// Recorded returns the record of a Database.
func Recorded(db *cnpgv1.Database) Record {
	r := Record{digestAnnotation: noRecord, versionsAnnotation: noRecord}
	if db != nil {
		for key := range r {
			r[key] = cmp.Or(db.Annotations[key], noRecord)
		}
	}
	return r
}

// rerunRequested reports whether a client has removed the digest, so that the SQL runs again.
func (r Record) rerunRequested() bool {
	return r[digestAnnotation] == noRecord && r[versionsAnnotation] != noRecord
}

// Step has the planned writes. Record is written before the Job. Issue is nil once the SQL has run.
type Step struct {
	Record Record
	Job    *apply.Object
	Delete []apply.Deletion
	Issue  *conditions.Issue
}

// Run returns the step without its record. The step blocks until the SQL has run.
func (s Step) Run(dojo *corev1api.Dojo) cnpg.Step {
	step := cnpg.Step{Delete: s.Delete, Blocks: s.Issue}
	if s.Job != nil {
		database := expectations.KeyOf(cnpg.DatabaseKind.Kind, dojo.Namespace, cnpg.ObjectName(dojo))
		s.Job.After = append(s.Job.After, database)
		step.Apply = cnpg.Write(cnpg.After(dojo, cnpg.Owner, s.Job)).Apply
	}
	return step
}

// Begins reports whether the plan starts SQL, or first deletes former Jobs.
func (s Step) Begins() bool { return s.Issue != nil && (s.Job != nil || len(s.Delete) > 0) }

// Plan plans the SQL of a Dojo whose database exists. db records the SQL that has run.
func Plan(dojo *corev1api.Dojo, s State, db *cnpgv1.Database, as As, cfg Config) Step {
	p := &planner{dojo: dojo, State: s, config: cfg, task: sqlTask(dojo, &s, as, cfg.Users)}
	p.step.Record = Recorded(db)
	p.divide()
	switch {
	case s.Missing != "":
		p.step.Issue = p.missing()
	case s.TooLarge:
		p.step.Issue = conditions.Degraded(corev1api.ReasonSchemaFailed,
			"spec.postgres.initSQL has more than %d MiB of SQL. Keep only the schema in that field, and load data in another "+
				"way, such as with pg_restore.", maxSQL>>20)
	case Applied(s, db):
		p.step.Record = p.record()
		p.deleteFormer()
	default:
		p.step.Issue = p.run()
	}
	return p.step
}

// PlanLogin plans the SQL that makes the sessions of a login act as the owner.
func PlanLogin(dojo *corev1api.Dojo, s State, id string, as As, cfg Config) Step {
	p := &planner{dojo: dojo, State: s, config: cfg, task: loginTask(dojo, id, as, cfg.Users)}
	p.divide()
	p.step.Issue = p.run()
	return p.step
}

// PlanVerification plans the query that verifies the major version. If it fails, failed says why.
func PlanVerification(
	dojo *corev1api.Dojo, s State, id string, major int, as As, cfg Config,
) (step Step, failed string) {
	p := &planner{dojo: dojo, State: s, config: cfg, task: verifyTask(dojo, id, major, as, cfg.Users)}
	p.divide()
	p.step.Issue = p.run()
	if p.failure != "" {
		failed = fmt.Sprintf("%s. To repeat the query, delete its Job: `kubectl delete job %s -n %s`", p.failure, p.job.Name,
			p.dojo.Namespace)
	}
	return p.step, failed
}

type planner struct {
	State
	dojo   *corev1api.Dojo
	config Config
	task   task
	step   Step

	job              *batchv1.Job
	former           []*batchv1.Job
	pods, formerPods []corev1.Pod
	failure          string
}

// divide separates the task's Job from former Jobs. A Job of the same SQL with another pod template
// is former, unless the Job runs or has succeeded.
func (p *planner) divide() {
	for _, job := range p.Jobs {
		mine := slices.DeleteFunc(slices.Clone(p.Pods), func(pod corev1.Pod) bool {
			return !metav1.IsControlledBy(&pod, job)
		})
		if p.job == nil && p.matchesTask(job, mine) {
			p.job, p.pods = job, mine
		} else {
			p.former = append(p.former, job)
		}
	}
	p.formerPods = slices.DeleteFunc(p.Alive(), func(pod corev1.Pod) bool {
		return p.job != nil && metav1.IsControlledBy(&pod, p.job)
	})
}

func (p *planner) matchesTask(job *batchv1.Job, itsPods []corev1.Pod) bool {
	if p.task.digest == "" || job.Annotations[digestAnnotation] != p.task.digest || job.DeletionTimestamp != nil {
		return false
	}
	if jobIs(job, batchv1.JobComplete) {
		return !p.step.Record.rerunRequested()
	}
	if slices.ContainsFunc(itsPods, runs) {
		return true
	}
	return job.Annotations[templateAnnotation] == templateHash(p.task.template)
}

func (p *planner) record() Record {
	return Record{digestAnnotation: p.task.digest, versionsAnnotation: p.task.versions}
}

func (p *planner) deleteFormer() {
	for _, job := range p.former {
		if job.DeletionTimestamp == nil {
			p.step.Delete = append(p.step.Delete, apply.Delete("Job", job))
		}
	}
}

func (p *planner) missing() *conditions.Issue {
	return conditions.WaitUntil(p.Now, p.dojo.WaitingSince(p.Missing, p.Now), p.config.ProgressDeadline,
		conditions.Progressing(corev1api.ReasonWaitingForSQL,
			"Waiting for the %s of spec.postgres.initSQL.", p.Missing).For(p.Missing),
		conditions.Degraded(corev1api.ReasonSQLNotFound,
			"The %s of spec.postgres.initSQL does not exist. Create it, or remove it from the list.", p.Missing).For(p.Missing))
}

func (p *planner) run() *conditions.Issue {
	p.deleteFormer()
	if len(p.former)+len(p.formerPods) > 0 {
		return p.waitForFormer()
	}
	if p.job == nil {
		p.step.Record = Recorded(nil) // the old record is wrong once this SQL runs
		p.step.Job = apply.Write(ownership.FieldOwner, p.job, apply.Typed(jobFor(p.dojo, p.task)))
		return p.applying()
	}
	trouble, failed := pods.Worst(p.Now, p.pods), exhausted(p.job)
	switch {
	case jobIs(p.job, batchv1.JobComplete):
		p.step.Record = p.record()
		return nil
	case failed != nil:
		return p.retry(failed.Time)
	case jobIs(p.job, batchv1.JobFailed):
		return p.failed(pods.TerminationMessage(p.pods))
	case trouble.Persistent:
		return p.failed(trouble.Message)
	}
	return p.progress(trouble)
}

// exhausted returns when a Job used up its retries, for example because Postgres was unreachable.
func exhausted(job *batchv1.Job) *metav1.Time {
	for _, c := range job.Status.Conditions {
		failed := c.Type == batchv1.JobFailed && c.Status == corev1.ConditionTrue
		if failed && c.Reason == batchv1.JobReasonBackoffLimitExceeded {
			return &c.LastTransitionTime
		}
	}
	return nil
}

// retry deletes an exhausted Job after a pause. Once the Job is gone, a reconcile creates it again.
func (p *planner) retry(failed time.Time) *conditions.Issue {
	pause := p.config.Deadline - p.Now.Sub(failed)
	if pause <= 0 {
		p.former = append(p.former, p.job)
		p.deleteFormer()
		return p.waitForFormer()
	}
	name, namespace := p.job.Name, p.dojo.Namespace
	why := cmp.Or(pods.TerminationMessage(p.pods), fmt.Sprintf("see `kubectl describe job %s -n %s`", name, namespace))
	next := failed.Add(p.config.Deadline).UTC().Format(time.RFC3339)
	return conditions.Degraded(corev1api.ReasonSchemaStalled,
		"The SQL could not run: %s. The operator tries again at %s. To try now, delete the Job: "+
			"`kubectl delete job %s -n %s`.",
		strings.TrimRight(why, ".\n "), next, name, namespace).After(pause)
}

func (p *planner) applying() *conditions.Issue {
	name := jobName(p.dojo, p.task.digest)
	return conditions.Progressing(corev1api.ReasonApplyingSchema, "The Job %s %s %s.", name,
		cmp.Or(p.task.doing, "updates"), p.task.object)
}

func (p *planner) failed(why string) *conditions.Issue {
	logs := fmt.Sprintf("see `kubectl logs job/%s -n %s`", p.job.Name, p.dojo.Namespace)
	p.failure = strings.TrimRight(cmp.Or(why, logs), ".\n ")
	if p.task.reason != "" {
		return p.checkFailed(p.failure)
	}
	return conditions.Degraded(corev1api.ReasonSchemaFailed,
		"%s cannot be updated: %s. Fix the cause, such as the SQL. To run the same SQL again, delete the Job: "+
			"`kubectl delete job %s -n %s`.",
		p.task.title(), p.failure, p.job.Name, p.dojo.Namespace)
}

func (p *planner) waitForFormer() *conditions.Issue {
	var names []string
	var since time.Time
	gone := func(kind string, o metav1.Object) {
		names = append(names, kind+" "+o.GetName())
		at := p.Now // this plan deletes the object
		if deleted := o.GetDeletionTimestamp(); deleted != nil {
			at = deleted.Time
		} else if kind == "pod" { // this plan deletes no pods, only Jobs
			at = o.GetCreationTimestamp().Time
		}
		if at.After(since) {
			since = at
		}
	}
	for _, job := range p.former {
		gone("Job", job)
	}
	for i := range p.formerPods {
		gone("pod", &p.formerPods[i])
	}
	slices.Sort(names)
	what := strings.Join(names, ", ")
	return p.stalledAfter(p.config.Deadline, since,
		conditions.Progressing(corev1api.ReasonApplyingSchema,
			"Waiting until the Jobs and pods of earlier SQL are gone: %s.", what),
		"Jobs or pods of earlier SQL still exist: %s. Until they are gone, no new SQL starts. Find out why with "+
			"`kubectl describe jobs.batch,pods -n %s`, and remove the cause.", what, p.dojo.Namespace)
}

func (p *planner) progress(trouble pods.Trouble) *conditions.Issue {
	applying := p.applying()
	if pod, c := p.findContainer(func(c corev1.ContainerState) bool { return c.Running != nil }); pod != nil {
		return p.stalledAfter(p.config.Deadline, c.Running.StartedAt.Time, applying,
			"The SQL has run for more than %s and still runs. See `kubectl logs %s -n %s`. pg_stat_activity shows what the "+
				"SQL waits for. To start the SQL again, delete the Job: `kubectl delete job %s -n %[3]s`.",
			p.config.Deadline, pod.Name, p.dojo.Namespace, p.job.Name)
	}
	ended := func(c corev1.ContainerState) bool { return c.Terminated != nil && c.Terminated.ExitCode == 0 }
	if pod, c := p.findContainer(ended); pod != nil {
		return p.stalledAfter(p.config.ProgressDeadline, c.Terminated.FinishedAt.Time, applying,
			"The SQL has succeeded, but the pod %s has not ended: an injected container keeps running. Exclude pods with the "+
				"label %s=%s from the injection.", pod.Name, ownership.NameLabel, ownership.Schema)
	}
	since := p.job.CreationTimestamp.Time
	failed := func(c corev1.ContainerState) bool { return c.Terminated != nil }
	if pod, _ := p.findContainer(failed); pod != nil {
		return p.stalledAfter(p.config.Deadline, since, applying,
			"For more than %s, the SQL could not run: %s. See `kubectl describe job %s -n %s`.", p.config.Deadline,
			strings.TrimRight(cmp.Or(pods.TerminationMessage(p.pods), "the Job's pods fail"), ".\n "), p.job.Name,
			p.dojo.Namespace)
	}
	why := cmp.Or(trouble.Message, fmt.Sprintf("see `kubectl describe job %s -n %s`", p.job.Name, p.dojo.Namespace))
	return p.stalledAfter(p.config.ProgressDeadline, since, applying,
		"No pod of the Job %s has started for more than %s: %s. Remove the cause, such as a quota, a policy or a lack of "+
			"nodes. The operator then continues automatically.", p.job.Name, p.config.ProgressDeadline, why)
}

func (p *planner) findContainer(matches func(corev1.ContainerState) bool) (*corev1.Pod, corev1.ContainerState) {
	for i := range p.pods {
		if c := container(&p.pods[i]); matches(c) {
			return &p.pods[i], c
		}
	}
	return nil, corev1.ContainerState{}
}

// stalledAfter always sets a requeue time, because the start of a container causes no event.
func (p *planner) stalledAfter(
	deadline time.Duration, since time.Time, waiting *conditions.Issue, format string, args ...any,
) *conditions.Issue {
	stalled := conditions.Degraded(corev1api.ReasonSchemaStalled, format, args...).After(p.config.ProgressDeadline)
	return conditions.WaitUntil(p.Now, since, deadline, waiting, stalled)
}

func container(pod *corev1.Pod) corev1.ContainerState {
	for _, c := range pod.Status.ContainerStatuses {
		if c.Name == ownership.Schema {
			return c.State
		}
	}
	return corev1.ContainerState{}
}

// Alive lists the pods that have not ended, and so may have a session.
func (s *State) Alive() []corev1.Pod {
	return slices.DeleteFunc(slices.Clone(s.Pods), func(pod corev1.Pod) bool { return pods.Ended(&pod) })
}

func runs(pod corev1.Pod) bool { return container(&pod).Running != nil }

func jobIs(job *batchv1.Job, kind batchv1.JobConditionType) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == kind && c.Status == corev1.ConditionTrue
	})
}

// StopIdle deletes the Jobs whose SQL does not run now, but could begin at any time.
func (s *State) StopIdle() []apply.Deletion {
	var idle []apply.Deletion
	for _, job := range s.Jobs {
		began := slices.ContainsFunc(s.Pods, func(pod corev1.Pod) bool {
			c := container(&pod)
			return metav1.IsControlledBy(&pod, job) &&
				(c.Running != nil || c.Terminated != nil && c.Terminated.ExitCode == 0)
		})
		ended := jobIs(job, batchv1.JobComplete) || jobIs(job, batchv1.JobFailed)
		if job.DeletionTimestamp == nil && !began && !ended {
			idle = append(idle, apply.Delete("Job", job))
		}
	}
	return idle
}

// Stop plans the deletion of all Jobs except statistics Jobs.
func (s *State) Stop() (p apply.Plan) {
	for _, job := range s.Jobs {
		if job.DeletionTimestamp == nil {
			p.Delete = append(p.Delete, apply.Delete("Job", job))
		}
	}
	return p
}
