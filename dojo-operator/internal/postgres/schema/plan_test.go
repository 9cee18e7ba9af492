// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"strings"
	"testing"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/pods"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

var as = As{Image: "postgres:17"}

var testConfig = Config{Deadline: 10 * time.Minute, ProgressDeadline: 90 * time.Second}

func tokyo(changes ...func(*corev1api.Dojo)) *corev1api.Dojo {
	dojo := &corev1api.Dojo{
		ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: "tokyo", UID: "uid of tokyo"},
		Spec:       corev1api.DojoSpec{Postgres: &corev1api.Postgres{ClusterRef: &corev1api.ClusterReference{Name: "pg"}}},
	}
	for _, change := range changes {
		change(dojo)
	}
	return dojo
}

func withSQL(dojo *corev1api.Dojo) {
	dojo.Spec.Postgres.InitSQL = []corev1api.SQLSource{
		{ConfigMapKeyRef: &corev1api.KeyReference{Name: "sql", Key: "tables.sql"}},
		{SecretKeyRef: &corev1api.KeyReference{Name: "users", Key: "all"}},
	}
}

func jobOf(t *testing.T, dojo *corev1api.Dojo, digest string) *batchv1.Job {
	t.Helper()
	desired := apply.Typed(jobFor(dojo, sqlTask(dojo, &State{Digest: digest, Versions: "of " + digest}, as, pods.Users{})))
	var job batchv1.Job
	must(t, runtime.DefaultUnstructuredConverter.FromUnstructured(desired.Object, &job))
	job.UID, job.CreationTimestamp = types.UID(job.Name), metav1.NewTime(noon.Add(-time.Minute))
	return &job
}

func podOf(job *batchv1.Job, state corev1.ContainerState) corev1.Pod {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", CreationTimestamp: job.CreationTimestamp}}
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "dojo-schema", State: state}}
	return pod
}

func running(since time.Duration) corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(noon.Add(-since))}}
}

func ended(code int32, since time.Duration) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: code, Message: "no route to host\n", FinishedAt: metav1.NewTime(noon.Add(-since)),
	}}
}

func waitingFor(reason string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
}

func is(kind batchv1.JobConditionType) func(*batchv1.Job) {
	return func(job *batchv1.Job) {
		job.Status.Conditions = []batchv1.JobCondition{{Type: kind, Status: corev1.ConditionTrue}}
	}
}

func exhaustedFor(since time.Duration) func(*batchv1.Job) {
	return func(job *batchv1.Job) {
		job.Status.Conditions = []batchv1.JobCondition{{
			Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: batchv1.JobReasonBackoffLimitExceeded,
			LastTransitionTime: metav1.NewTime(noon.Add(-since)),
		}}
	}
}

func leaving(since time.Duration) func(*batchv1.Job) {
	return func(job *batchv1.Job) { job.DeletionTimestamp = &metav1.Time{Time: noon.Add(-since)} }
}

func oldFor(age time.Duration) func(*batchv1.Job) {
	return func(job *batchv1.Job) { job.CreationTimestamp = metav1.NewTime(noon.Add(-age)) }
}

func oldImage(job *batchv1.Job) { job.Annotations[templateAnnotation] = "another" }

func TestPlan(t *testing.T) {
	t.Parallel()
	const applying, stalled, failed = "Progressing/ApplyingSchema", "Degraded/SchemaStalled", "Degraded/SchemaFailed"
	type result struct {
		Creates bool
		Deletes int
		Record  string
		Issue   string
		Says    string // a part of the issue's message
	}
	job := func(digest string, changes ...func(*batchv1.Job)) *batchv1.Job {
		j := jobOf(t, tokyo(), digest)
		for _, change := range changes {
			change(j)
		}
		return j
	}
	type jobs = []*batchv1.Job
	orphan := podOf(job("then"), running(time.Minute))
	orphan.OwnerReferences = nil
	old := orphan
	old.CreationTimestamp = metav1.NewTime(noon.Add(-time.Hour))
	unschedulable := podOf(job("now"), corev1.ContainerState{})
	unschedulable.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
	}}
	one := func(j *batchv1.Job, states ...corev1.ContainerState) (pods []corev1.Pod) {
		for _, state := range states {
			pods = append(pods, podOf(j, state))
		}
		return pods
	}
	long := 10*time.Minute + time.Second
	cases := map[string]struct {
		recorded string
		jobs     jobs
		pods     []corev1.Pod
		want     result
	}{
		"no SQL has run":                       {"", nil, nil, result{Creates: true, Issue: applying, Says: "updates the schema"}},
		"the SQL has run":                      {"now", jobs{job("now", is(batchv1.JobComplete))}, nil, result{Record: "now"}},
		"the SQL has run, its Job was deleted": {"now", nil, nil, result{Record: "now"}},
		"the Job has succeeded":                {"", jobs{job("now", is(batchv1.JobComplete))}, nil, result{Record: "now"}},
		"a rerun is requested": {noRecord, jobs{job("now", is(batchv1.JobComplete))}, nil,
			result{Deletes: 1, Issue: applying, Says: "earlier SQL"}},
		"a rerun is requested, the former Job is gone": {noRecord, nil, nil, result{Creates: true, Issue: applying}},
		"a rerun is requested while the Job runs":      {noRecord, jobs{job("now")}, one(job("now"), running(0)), result{Issue: applying}},
		"other SQL has run": {"then", jobs{job("then", is(batchv1.JobComplete))}, nil,
			result{Deletes: 1, Record: "then", Issue: applying, Says: "earlier SQL are gone: Job tokyo-schema-"}},
		"other SQL runs": {"", jobs{job("then")}, one(job("then"), running(time.Minute)),
			result{Deletes: 1, Issue: applying, Says: ", pod p."}},
		"the Job of other SQL is being deleted": {"then", jobs{job("then", leaving(time.Minute))}, nil,
			result{Record: "then", Issue: applying}},
		"the Job of other SQL is being deleted for too long": {"then", jobs{job("then", leaving(long))}, nil,
			result{Record: "then", Issue: stalled, Says: "Jobs or pods of earlier SQL still exist"}},
		"a pod of other SQL runs, its Job is gone":                      {"then", nil, one(job("then"), running(time.Hour)), result{Record: "then", Issue: applying}},
		"a pod without an owner runs":                                   {"then", nil, []corev1.Pod{orphan}, result{Record: "then", Issue: applying}},
		"a pod without an owner runs for too long":                      {"then", nil, []corev1.Pod{old}, result{Record: "then", Issue: stalled, Says: "pod p"}},
		"a pod of other SQL has ended":                                  {"then", nil, one(job("then"), ended(0, 0)), result{Creates: true, Issue: applying}},
		"other SQL has run, and its Job and pods are gone":              {"then", nil, nil, result{Creates: true, Issue: applying}},
		"the spec names the recorded SQL again, before other SQL began": {"now", jobs{job("then", leaving(0))}, nil, result{Record: "now"}},
		"the SQL has run, a former Job is left":                         {"now", jobs{job("then", is(batchv1.JobComplete))}, nil, result{Deletes: 1, Record: "now"}},
		"a former Job is being deleted":                                 {"", jobs{job("now"), job("then", leaving(0))}, nil, result{Issue: applying}},
		"the Job starts":                                                {"", jobs{job("now")}, nil, result{Issue: applying}},
		"the Job runs":                                                  {"", jobs{job("now")}, one(job("now"), running(time.Minute)), result{Issue: applying}},
		"no pod is created":                                             {"", jobs{job("now", oldFor(91*time.Second))}, nil, result{Issue: stalled, Says: "No pod of the Job"}},
		"the pod cannot be scheduled":                                   {"", jobs{job("now", oldFor(91*time.Second))}, []corev1.Pod{unschedulable}, result{Issue: stalled, Says: "cannot be scheduled"}},
		"a pod of a former Job is stuck":                                {"", jobs{job("now")}, one(job("then"), waitingFor("InvalidImageName")), result{Issue: applying, Says: "earlier SQL"}},
		"the Job runs for too long":                                     {"", jobs{job("now")}, one(job("now"), ended(2, time.Hour), running(long)), result{Issue: stalled, Says: "has run for more than 10m0s"}},
		"a sidecar keeps running":                                       {"", jobs{job("now")}, one(job("now"), ended(0, 91*time.Second)), result{Issue: stalled, Says: "an injected container"}},
		"a sidecar runs for a moment":                                   {"", jobs{job("now")}, one(job("now"), ended(0, time.Second)), result{Issue: applying}},
		"the Job is retried":                                            {"", jobs{job("now", oldFor(5*time.Minute))}, one(job("now"), ended(2, time.Second)), result{Issue: applying}},
		"the Job is retried for too long":                               {"", jobs{job("now", oldFor(long))}, one(job("now"), ended(2, time.Second)), result{Issue: stalled, Says: "no route to host."}},
		"the Job fails":                                                 {"", jobs{job("now", is(batchv1.JobFailed))}, one(job("now"), ended(3, 0)), result{Issue: failed, Says: "no route to host. Fix the cause, such as the SQL"}},
		"the Job has used up its retries":                               {"", jobs{job("now", exhaustedFor(time.Minute))}, one(job("now"), ended(2, 0)), result{Issue: stalled, Says: "no route to host. The operator tries again at "}},
		"the Job has used up its retries long ago":                      {"", jobs{job("now", exhaustedFor(10*time.Minute))}, one(job("now"), ended(2, 0)), result{Deletes: 1, Issue: applying}},
		"the image has an invalid name":                                 {"", jobs{job("now")}, one(job("now"), waitingFor("InvalidImageName")), result{Issue: failed, Says: "pod p: container dojo-schema: InvalidImageName"}},
		"the pod template changed":                                      {"", jobs{job("now", oldImage)}, one(job("now"), waitingFor("ErrImagePull")), result{Deletes: 1, Issue: applying, Says: "earlier SQL"}},
		"the pod template changed, the Job runs":                        {"", jobs{job("now", oldImage)}, one(job("now"), running(0)), result{Issue: applying, Says: "updates the schema"}},
		"the pod template changed, the Job has succeeded":               {"", jobs{job("now", oldImage, is(batchv1.JobComplete))}, nil, result{Record: "now"}},
		"the pod template changed, the Job has failed":                  {"", jobs{job("now", oldImage, is(batchv1.JobFailed))}, nil, result{Deletes: 1, Issue: applying}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := &cnpgv1.Database{}
			if c.recorded != "" {
				db.Annotations = map[string]string{digestAnnotation: c.recorded, versionsAnnotation: "of " + c.recorded}
			}
			s := State{Now: noon, Digest: "now", Versions: "of now", Jobs: c.jobs, Pods: c.pods}
			step := Plan(tokyo(), s, db, as, testConfig)
			got := result{step.Job != nil, len(step.Delete), strings.TrimPrefix(step.Record[digestAnnotation], noRecord), "", ""}
			message := ""
			if step.Issue != nil {
				got.Issue, message = step.Issue.Type+"/"+step.Issue.Reason, step.Issue.Message
				if strings.Contains(message, c.want.Says) {
					got.Says = c.want.Says
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff, message)
			}
			if step.Issue != nil && step.Issue.RequeueAfter == 0 && got.Issue != failed && step.Job == nil {
				t.Error("nothing causes another reconcile")
			}
		})
	}
}

func TestOneJobAtATime(t *testing.T) {
	t.Parallel()
	for _, left := range []State{
		{Jobs: []*batchv1.Job{jobOf(t, tokyo(), "then")}}, {Pods: []corev1.Pod{podOf(jobOf(t, tokyo(), "then"), running(0))}},
	} {
		left.Now, left.Digest = noon, "now"
		if step := Plan(tokyo(), left, &cnpgv1.Database{}, as, testConfig); step.Job != nil {
			t.Errorf("creates %s beside %+v", step.Job.Name, left)
		}
	}
}

func TestMissingSQL(t *testing.T) {
	t.Parallel()
	const key = "key tables.sql of the ConfigMap school/sql"
	waiting := tokyo(func(dojo *corev1api.Dojo) {
		dojo.Status.WaitingFor = []corev1api.Wait{{Object: key, Since: metav1.NewTime(noon.Add(-time.Hour))}}
	})
	for want, dojo := range map[string]*corev1api.Dojo{
		"Progressing/WaitingForSQL: Waiting for the " + key + " of spec.postgres.initSQL.": tokyo(),
		"Degraded/SQLNotFound: The " + key + " of spec.postgres.initSQL does not exist. " +
			"Create it, or remove it from the list.": waiting,
	} {
		step := Plan(dojo, State{Now: noon, Missing: key}, &cnpgv1.Database{}, as, testConfig)
		if got := fmt.Sprintf("%s/%s: %s", step.Issue.Type, step.Issue.Reason, step.Issue.Message); got != want {
			t.Error(cmp.Diff(want, got))
		}
	}
}

func TestFailureIsExplained(t *testing.T) {
	t.Parallel()
	job := jobOf(t, tokyo(), "now")
	is(batchv1.JobFailed)(job)
	s := State{Now: noon, Digest: "now", Jobs: []*batchv1.Job{job}}
	want := fmt.Sprintf("The schema cannot be updated: see `kubectl logs job/%[1]s -n school`. Fix the cause, such as the SQL. "+
		"To run the same SQL again, delete the Job: `kubectl delete job %[1]s -n school`.", job.Name)
	got := Plan(tokyo(), s, &cnpgv1.Database{}, as, testConfig).Issue
	if diff := cmp.Diff(want, got.Message); diff != "" || !got.IsDegraded() || got.Type != conditions.TypeDegraded {
		t.Error(diff)
	}
}

func TestStop(t *testing.T) {
	t.Parallel()
	ending := jobOf(t, tokyo(), "ending")
	leaving(0)(ending)
	s := State{Jobs: []*batchv1.Job{jobOf(t, tokyo(), "now"), jobOf(t, tokyo(), "then"), ending}}
	if plan := s.Stop(); len(plan.Delete) != 2 || plan.Apply != nil || plan.Issues != nil {
		t.Errorf("plans %+v", plan)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestStopIdle(t *testing.T) {
	t.Parallel()
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	state := func(code int32) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}
	}
	ended := func(kind batchv1.JobConditionType) batchv1.JobStatus {
		return batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: kind, Status: corev1.ConditionTrue}}}
	}
	cases := map[string]struct {
		status batchv1.JobStatus
		states []corev1.ContainerState // the states of the Job's containers
		want   bool
	}{
		"no pod yet":                             {want: true},
		"the container has not started":          {states: []corev1.ContainerState{{Waiting: &corev1.ContainerStateWaiting{}}}, want: true},
		"the SQL has failed and will be retried": {states: []corev1.ContainerState{state(2)}, want: true},
		"the SQL runs":                           {states: []corev1.ContainerState{state(2), running}},
		"the SQL has run":                        {states: []corev1.ContainerState{state(0)}},
		"the Job has succeeded":                  {status: ended(batchv1.JobComplete)},
		"the Job has failed":                     {status: ended(batchv1.JobFailed)},
	}
	for name, c := range cases {
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "j", UID: "uid"}, Status: c.status}
		s := State{Jobs: []*batchv1.Job{job}}
		for _, state := range c.states {
			var pod corev1.Pod
			pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: ownership.Schema, State: state}}
			s.Pods = append(s.Pods, pod)
		}
		if got := len(s.StopIdle()) > 0; got != c.want {
			t.Errorf("%s: stopped is %v", name, got)
		}
		job.DeletionTimestamp = new(metav1.Now())
		if len(s.StopIdle()) > 0 {
			t.Errorf("%s: a Job is deleted twice", name)
		}
	}
}
