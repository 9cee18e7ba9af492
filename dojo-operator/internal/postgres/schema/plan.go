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

// Users says as whom pods run.
type Users = pods.Users

// Config says how long is waited, and as whom the pods run.
type Config struct {
	// Deadline is how long the SQL may run, and a former Job may take to end, before the Dojo is
	// Degraded.
	Deadline time.Duration
	// ProgressDeadline is the same for missing SQL, and for a pod that does not start or end.
	ProgressDeadline time.Duration
	// Users says as whom pods run.
	Users Users
}

// As says as which login SQL runs, and with which image of Postgres.
type As struct {
	Login cnpg.Login
	Image string
}

// Record is what a Database records of the SQL that has run in it last, as annotations. It has the
// same keys from the creation on: another field, later, would cost one more write (libs/apply).
type Record map[string]string

// nothing is recorded where no SQL has run, or other SQL has begun since.
const nothing = "none"

// Recorded is the record that a Database has.
func Recorded(db *cnpgv1.Database) Record {
	r := Record{digestAnnotation: nothing, versionsAnnotation: nothing}
	if db != nil {
		for key := range r {
			r[key] = cmp.Or(db.Annotations[key], nothing)
		}
	}
	return r
}

// taken reports whether a client has taken the digest away, so that the SQL runs once more: before
// SQL runs, there are no versions either.
func (r Record) taken() bool {
	return r[digestAnnotation] == nothing && r[versionsAnnotation] != nothing
}

// Step is what has to be done for the schema.
type Step struct {
	// Record is what the Database should record, written before Job.
	Record Record
	// Job is the Job to be created, nil where there is none.
	Job *apply.Object
	// Delete are Jobs.
	Delete []apply.Deletion
	// Issue is what keeps the SQL from having run, nil where it has.
	Issue *conditions.Issue
}

// Run returns what has to be done beside the record. It blocks until the SQL has run.
func (s Step) Run(d *corev1api.Dojo) cnpg.Step {
	step := cnpg.Step{Delete: s.Delete, Blocks: s.Issue}
	if s.Job != nil {
		database := expectations.KeyOf(cnpg.DatabaseKind.Kind, d.Namespace, cnpg.ObjectName(d))
		s.Job.After = append(s.Job.After, database)
		step.Apply = cnpg.Write(cnpg.After(d, cnpg.Owner, s.Job)).Apply
	}
	return step
}

// Begins reports whether SQL is about to begin, be it by ending what is left of other SQL.
func (s Step) Begins() bool { return s.Issue != nil && (s.Job != nil || len(s.Delete) > 0) }

// Plan decides about the SQL of a Dojo whose database Postgres has, and which the Database has
// recorded as db says.
func Plan(d *corev1api.Dojo, s State, db *cnpgv1.Database, as As, cfg Config) Step {
	p := &planner{dojo: d, State: s, config: cfg, task: sqlTask(d, &s, as, cfg.Users), step: Step{Record: Recorded(db)}}
	p.divide()
	switch {
	case s.Missing != "":
		p.step.Issue = p.missing()
	case s.TooLarge:
		p.step.Issue = conditions.Degraded(corev1api.ReasonSchemaFailed,
			"spec.postgres.initSQL has more than %d MiB of SQL. Keep the schema there, and load data in another way, "+
				"such as with pg_restore.", MaxSQL>>20)
	case Applied(s, db):
		p.step.Record = p.record()
		p.deleteFormer()
	default:
		p.step.Issue = p.run()
	}
	return p.step
}

// PlanLogin decides about the statement that makes the sessions of a login act as the owner. Digest
// identifies the login and the database. Of other SQL nothing may run meanwhile.
func PlanLogin(d *corev1api.Dojo, s State, digest string, as As, cfg Config) Step {
	p := &planner{dojo: d, State: s, config: cfg, task: loginTask(d, digest, as, cfg.Users)}
	p.divide()
	p.step.Issue = p.run()
	return p.step
}

// PlanVerification decides about the query that verifies that Postgres is of a major version, after an
// upgrade that of identifies. Of other SQL nothing may run meanwhile. failed is why the query fails, and
// what to do to run it again; empty while it does not.
func PlanVerification(d *corev1api.Dojo, s State, of string, major int, as As, cfg Config) (step Step, failed string) {
	p := &planner{dojo: d, State: s, config: cfg, task: verifyTask(d, of, major, as, cfg.Users)}
	p.divide()
	p.step.Issue = p.run()
	if p.why != "" {
		failed = fmt.Sprintf("%s. To repeat it, delete the Job with `kubectl delete job %s`", p.why, p.job.Name)
	}
	return p.step, failed
}

// planner is a Step in the making.
type planner struct {
	State
	dojo   *corev1api.Dojo
	config Config
	task   task
	step   Step
	// job is that for the present task and pod template, former are all others; each with its pods.
	job              *batchv1.Job
	former           []*batchv1.Job
	pods, formerPods []corev1.Pod
	// why the Job has failed, empty where it has not.
	why string
}

// divide finds out which Job is the one for the present SQL. One that should have another pod
// template is not, unless it runs or has ended well; one that has ended well is not where the SQL
// is to run once more.
func (p *planner) divide() {
	for _, job := range p.Jobs {
		mine := slices.DeleteFunc(slices.Clone(p.Pods), func(pod corev1.Pod) bool {
			return !metav1.IsControlledBy(&pod, job)
		})
		if p.job == nil && p.present(job, mine) {
			p.job, p.pods = job, mine
		} else {
			p.former = append(p.former, job)
		}
	}
	p.formerPods = slices.DeleteFunc(p.Alive(), func(pod corev1.Pod) bool {
		return p.job != nil && metav1.IsControlledBy(&pod, p.job)
	})
}

func (p *planner) present(job *batchv1.Job, itsPods []corev1.Pod) bool {
	if p.task.digest == "" || job.Annotations[digestAnnotation] != p.task.digest || job.DeletionTimestamp != nil {
		return false
	}
	if jobIs(job, batchv1.JobComplete) {
		return !p.step.Record.taken()
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

// run runs the SQL, once nothing is left of other SQL.
func (p *planner) run() *conditions.Issue {
	p.deleteFormer()
	if len(p.former)+len(p.formerPods) > 0 {
		return p.waitForFormer()
	}
	if p.job == nil {
		p.step.Record = Recorded(nil) // what is recorded is true no longer once this runs
		p.step.Job = apply.Write(ownership.FieldOwner, p.job, apply.Typed(jobFor(p.dojo, p.task)))
		return p.applying()
	}
	trouble := pods.Worst(p.Now, p.pods)
	switch {
	case jobIs(p.job, batchv1.JobComplete):
		p.step.Record = p.record()
		return nil
	case jobIs(p.job, batchv1.JobFailed):
		return p.failed(pods.TerminationMessage(p.pods))
	case trouble.Persistent:
		return p.failed(trouble.Message)
	}
	return p.progress(trouble)
}

func (p *planner) applying() *conditions.Issue {
	name := jobName(p.dojo, p.task.digest)
	return conditions.Progressing(corev1api.ReasonApplyingSchema, "The Job %s %s %s.", name,
		cmp.Or(p.task.doing, "updates"), p.task.object)
}

func (p *planner) failed(why string) *conditions.Issue {
	p.why = strings.TrimRight(cmp.Or(why, fmt.Sprintf("see `kubectl logs job/%s`", p.job.Name)), ".\n ")
	if p.task.reason != "" {
		return p.unchecked(p.why)
	}
	return conditions.Degraded(corev1api.ReasonSchemaFailed,
		"%s cannot be updated: %s. Fix the SQL; to retry the same SQL, delete the Job with `kubectl delete job %s`.",
		p.task.title(), p.why, p.job.Name)
}

// waitForFormer waits until the Jobs of other SQL and their pods have gone.
func (p *planner) waitForFormer() *conditions.Issue {
	var names []string
	var since time.Time
	gone := func(kind string, o metav1.Object) {
		names = append(names, kind+" "+o.GetName())
		at := p.Now // it is deleted now
		if deleted := o.GetDeletionTimestamp(); deleted != nil {
			at = deleted.Time
		} else if kind == "pod" { // the garbage collector deletes it, or it was orphaned
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
		conditions.Progressing(corev1api.ReasonApplyingSchema, "Waiting until nothing is left of former SQL: %s.", what),
		"Former SQL has not ended, and no other runs before it has: %s. Find out what keeps it, and delete it.", what)
}

// progress says how far the pods of the Job are, and that it is stalled where they make no progress.
func (p *planner) progress(trouble pods.Trouble) *conditions.Issue {
	applying := p.applying()
	if pod, c := p.containerThat(func(c corev1.ContainerState) bool { return c.Running != nil }); pod != nil {
		return p.stalledAfter(p.config.Deadline, c.Running.StartedAt.Time, applying,
			"The SQL has run for more than %s. See `kubectl logs %s`, and what it waits for in pg_stat_activity; "+
				"it goes on, unless you delete the Job with `kubectl delete job %s`.", p.config.Deadline, pod.Name, p.job.Name)
	}
	ended := func(c corev1.ContainerState) bool { return c.Terminated != nil && c.Terminated.ExitCode == 0 }
	if pod, c := p.containerThat(ended); pod != nil {
		return p.stalledAfter(p.config.ProgressDeadline, c.Terminated.FinishedAt.Time, applying,
			"The SQL has run, but the pod %s has not ended: another container, which was injected, keeps running. "+
				"Exclude pods with the label %s=%s from the injection.", pod.Name, ownership.NameLabel, ownership.Schema)
	}
	since := p.job.CreationTimestamp.Time
	failed := func(c corev1.ContainerState) bool { return c.Terminated != nil } // and is retried
	if pod, _ := p.containerThat(failed); pod != nil {
		return p.stalledAfter(p.config.Deadline, since, applying,
			"The SQL could not run for more than %s: %s. See `kubectl describe job %s`.", p.config.Deadline,
			strings.TrimRight(cmp.Or(pods.TerminationMessage(p.pods), "its pods fail"), ".\n "), p.job.Name)
	}
	why := cmp.Or(trouble.Message, fmt.Sprintf("see `kubectl describe job %s`", p.job.Name))
	return p.stalledAfter(p.config.ProgressDeadline, since, applying,
		"No pod of the Job %s has started for more than %s: %s. A quota, a policy or the lack of a node may keep it; "+
			"it continues automatically.", p.job.Name, p.config.ProgressDeadline, why)
}

// containerThat returns the first pod of the Job whose SQL container is in a state, nil for none.
func (p *planner) containerThat(is func(corev1.ContainerState) bool) (*corev1.Pod, corev1.ContainerState) {
	for i := range p.pods {
		if c := container(&p.pods[i]); is(c) {
			return &p.pods[i], c
		}
	}
	return nil, corev1.ContainerState{}
}

// stalledAfter is Degraded once a deadline has passed. No event shows that a container has started,
// so it is looked at again.
func (p *planner) stalledAfter(
	deadline time.Duration, since time.Time, waiting *conditions.Issue, format string, args ...any,
) *conditions.Issue {
	stalled := conditions.Degraded(corev1api.ReasonSchemaStalled, format, args...).After(p.config.ProgressDeadline)
	return conditions.WaitUntil(p.Now, since, deadline, waiting, stalled)
}

// container is the state of the container that runs the SQL.
func container(pod *corev1.Pod) corev1.ContainerState {
	for _, c := range pod.Status.ContainerStatuses {
		if c.Name == ownership.Schema {
			return c.State
		}
	}
	return corev1.ContainerState{}
}

// Alive are the pods that may have a session in the database: one whose containers have all ended has
// none, and does not start again.
func (s *State) Alive() []corev1.Pod {
	return slices.DeleteFunc(slices.Clone(s.Pods), func(pod corev1.Pod) bool { return pods.Ended(&pod) })
}

func runs(pod corev1.Pod) bool { return container(&pod).Running != nil }

func jobIs(job *batchv1.Job, kind batchv1.JobConditionType) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == kind && c.Status == corev1.ConditionTrue
	})
}

// StopIdle plans the end of the Jobs whose SQL has not begun, such as where a pod finds no node, or its image
// cannot be pulled: it could begin at any time. They are created again when SQL may run.
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

// Stop plans the end of all Jobs, which may have a session in the database.
func (s *State) Stop() (p apply.Plan) {
	for _, job := range s.Jobs {
		if job.DeletionTimestamp == nil {
			p.Delete = append(p.Delete, apply.Delete("Job", job))
		}
	}
	return p
}
