// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/dojotest"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/workload"
	"jutsu.com/operators/libs/apply"
)

const next, step = "dojo:next", "0123456789abcdef0123456789abcdef"

var (
	noon       = dojotest.Noon
	testConfig = Config{MigrateImage: "dojo-migrate:1", ProgressDeadline: 90 * time.Second}
	access     = workload.Credentials{
		SecretName: "tokyo-credentials", Keys: []string{"DB_ENDPOINT", "DB_PASS"}, Revision: "r",
	}
)

func withCommand(dojo *corev1api.Dojo) {
	dojo.Spec.Image = next
	dojo.Spec.Release = &corev1api.Release{Command: []string{"/app/migrate", "up"}}
}

func withFiles(dojo *corev1api.Dojo) {
	dojo.Spec.Release = &corev1api.Release{Migrations: &corev1api.Migrations{
		ConfigMapRefs: []corev1api.ConfigMapReference{{Name: "files"}},
	}}
}

func released(steps ...string) func(*corev1api.Dojo) {
	return func(dojo *corev1api.Dojo) {
		dojo.Status.Release = &corev1api.ReleaseStatus{Image: "dojo:now", Succeeded: steps}
	}
}

func failedBefore(retry string) func(*corev1api.Dojo) {
	return func(dojo *corev1api.Dojo) {
		dojo.Status.Release = &corev1api.ReleaseStatus{Image: "dojo:now",
			Failure: &corev1api.ReleaseFailure{Step: step, Retry: retry, Message: "no such column"}}
	}
}

func retry(value string) func(*corev1api.Dojo) {
	return func(dojo *corev1api.Dojo) {
		metav1.SetMetaDataAnnotation(&dojo.ObjectMeta, corev1api.RetryReleaseAnnotation, value)
	}
}

func inputFor(dojo *corev1api.Dojo) Input {
	in := Input{Ready: true, Revision: "r", Keys: access.Keys}
	if dojo.Spec.Release != nil && dojo.Spec.Release.Command != nil {
		in.Command = workload.CommandPod(dojo, access, ContainerName, dojo.Spec.Release.Command, workload.Config{})
	}
	return in
}

func jobOf(t *testing.T, dojo *corev1api.Dojo, step string, changes ...func(*batchv1.Job)) *batchv1.Job {
	t.Helper()
	s := State{Step: step, Target: Target{Image: next, SecretName: access.SecretName}, Digest: "d",
		Files: []file{{"files", "1_a.sql"}, {"files", "2_b.sql"}, {"more", "3_c.sql"}}}
	var job batchv1.Job
	desired := apply.Typed(jobFor(dojo, &s, inputFor(dojo), testConfig))
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(desired.Object, &job); err != nil {
		t.Fatal(err)
	}
	job.UID, job.CreationTimestamp = "uid of "+job.UID, metav1.NewTime(noon)
	for _, change := range changes {
		change(&job)
	}
	return &job
}

func is(kind batchv1.JobConditionType, reason string) func(*batchv1.Job) {
	return func(job *batchv1.Job) {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{
			Type: kind, Status: corev1.ConditionTrue, Reason: reason, LastTransitionTime: metav1.NewTime(noon)})
	}
}

func beingDeleted(job *batchv1.Job) { job.DeletionTimestamp = &metav1.Time{Time: noon} }

func podOf(job *batchv1.Job, state corev1.ContainerState) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: job.Name + "-x", CreationTimestamp: metav1.NewTime(noon),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: ContainerName, State: state}}},
	}
}

var (
	running = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	waiting = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}
)

func ends(code int32, message string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: message}}
}

type edits []func(*corev1api.Dojo)

func command(more ...func(*corev1api.Dojo)) edits { return append(edits{withCommand}, more...) }

func filesOf(more ...func(*corev1api.Dojo)) edits { return append(edits{withFiles}, more...) }

type seen func(*testing.T, *corev1api.Dojo, *State)

func TestPlan(t *testing.T) {
	t.Parallel()
	const releasing, failed, stalled = "Progressing/Releasing", "Degraded/ReleaseFailed", "Degraded/ReleaseStalled"
	type result struct {
		Hold, Creates bool
		Deletes       int
		Worst         string
	}
	held := func(worst string) result { return result{Hold: true, Worst: worst} }
	own := func(changes ...func(*batchv1.Job)) seen {
		return func(t *testing.T, dojo *corev1api.Dojo, s *State) {
			s.Jobs = append(s.Jobs, jobOf(t, dojo, step, changes...))
		}
	}
	earlier := func(state corev1.ContainerState, changes ...func(*batchv1.Job)) seen {
		return func(t *testing.T, dojo *corev1api.Dojo, s *State) {
			job := jobOf(t, dojo, "another step", changes...)
			job.UID = "other"
			s.Jobs, s.Pods = append(s.Jobs, job), append(s.Pods, podOf(job, state))
		}
	}
	orphan := func(state corev1.ContainerState) seen {
		return func(t *testing.T, dojo *corev1api.Dojo, s *State) {
			s.Pods = []corev1.Pod{podOf(jobOf(t, dojo, step), state)}
		}
	}
	for name, c := range map[string]struct {
		dojo  edits
		state seen
		input func(*Input)
		want  result
	}{
		"no step": {nil, nil, nil, result{}},
		"the step is removed from the spec": {nil, func(t *testing.T, _ *corev1api.Dojo, s *State) {
			s.Jobs = []*batchv1.Job{jobOf(t, dojotest.Dojo(withCommand), step)}
		}, nil, result{Deletes: 1}},
		"the step begins":                     {command(), nil, nil, result{true, true, 0, releasing}},
		"the database is not ready":           {command(), nil, func(in *Input) { in.Ready = false }, held(releasing)},
		"suspended":                           {command(suspended), nil, stopped, held("")},
		"suspended before the step's pod ran": {command(suspended), own(), stopped, result{true, false, 1, ""}},
		"Postgres is being upgraded":          {command(), nil, stopped, held(releasing)},
		"the step runs":                       {command(), own(), nil, held(releasing)},
		"the step runs while the database is not ready": {command(), own(),
			func(in *Input) { in.Ready = false }, held(releasing)},
		"the step has not ended by its deadline": {command(), own(func(job *batchv1.Job) {
			job.CreationTimestamp = metav1.NewTime(noon.Add(-time.Hour))
		}), nil, held(stalled)},
		"the step has succeeded":      {command(), own(is(batchv1.JobComplete, "")), nil, result{}},
		"the step succeeded long ago": {command(released(step)), nil, nil, result{}},
		"the step succeeded before another step, whose Job still exists": {command(released(step, "another step")),
			earlier(ends(0, ""), is(batchv1.JobComplete, "")), nil, result{Deletes: 1}},
		"the step has failed":                                            {command(), own(is(batchv1.JobFailed, "")), nil, held(failed)},
		"the step has failed, and its Job is gone":                       {command(failedBefore("")), nil, nil, held(failed)},
		"the step has failed, and so has the requested retry":            {command(failedBefore("1"), retry("1")), nil, nil, held(failed)},
		"the step has failed, and the request to retry is removed":       {command(failedBefore("1")), nil, nil, held(failed)},
		"the step has failed, its Job is gone, and a retry is requested": {command(failedBefore("1"), retry("2")), nil, nil, result{true, true, 0, releasing}},
		"the step has failed, and a requested retry deletes the failed Job": {command(), func(t *testing.T, dojo *corev1api.Dojo, s *State) {
			own(is(batchv1.JobFailed, ""))(t, dojo, s)
			retry("1")(dojo)
		}, nil, result{true, false, 1, releasing}},
		"the step's Job is being deleted":                    {command(), own(beingDeleted), nil, held(releasing)},
		"the step's Job is gone, its pod runs":               {command(), orphan(running), nil, held(releasing)},
		"the step's Job is gone, its pod waits":              {command(), orphan(waiting), nil, held(releasing)},
		"the step's pod succeeded after the Job was deleted": {command(), orphan(ends(0, "")), nil, result{}},
		"the step's pod failed after the Job was deleted": {command(), orphan(ends(1, "")), nil,
			result{true, true, 0, releasing}},
		"an earlier step runs":          {command(), earlier(running), nil, held(releasing)},
		"an earlier step has not begun": {command(), earlier(waiting), nil, result{true, false, 1, releasing}},
		"an earlier step failed": {command(), earlier(ends(1, ""), is(batchv1.JobFailed, "")), nil,
			result{true, false, 1, releasing}},
		"an earlier step succeeded, but is not recorded yet": {command(),
			earlier(ends(0, ""), is(batchv1.JobComplete, "")), nil, held(releasing)},
		"an earlier step succeeded, and is recorded": {command(released("another step")),
			earlier(ends(0, ""), is(batchv1.JobComplete, "")), nil, result{true, false, 1, releasing}},
		"an earlier step does not end": {command(), earlier(running, func(job *batchv1.Job) {
			job.CreationTimestamp = metav1.NewTime(noon.Add(-time.Hour))
		}), nil, held(stalled)},
		"a foreign Job": {command(), func(t *testing.T, dojo *corev1api.Dojo, s *State) {
			s.SameName = jobOf(t, dojo, step)
			s.SameName.OwnerReferences = nil
		}, nil, held("Degraded/NameConflict")},
		"the files exist, so the step begins": {filesOf(), nil, nil, result{true, true, 0, releasing}},
		"missing files":                       {filesOf(), missing, nil, held("Progressing/WaitingForMigrations")},
		"files that are missing for long": {filesOf(dojotest.WaitingFor("ConfigMap school/files", time.Hour)),
			missing, nil, held("Degraded/MigrationsNotFound")},
		"invalid files": {filesOf(), func(_ *testing.T, _ *corev1api.Dojo, s *State) { s.Invalid = "twice" },
			nil, held("Degraded/MigrationsInvalid")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dojo := dojotest.Dojo(c.dojo...)
			s := State{Now: noon, Step: step, Target: Target{Image: next, SecretName: access.SecretName}}
			if c.state != nil {
				c.state(t, dojo, &s)
			}
			in := inputFor(dojo)
			if c.input != nil {
				c.input(&in)
			}
			got := Plan(dojo, s, in, testConfig)
			is := result{got.Hold, len(got.Plan.Apply) > 0, len(got.Plan.Delete), dojotest.Worst(got.Plan.Issues)}
			if diff := cmp.Diff(c.want, is); diff != "" {
				t.Errorf("%s%+v", diff, got.Plan.Issues)
			}
		})
	}
	dojo := dojotest.Dojo(withCommand)
	unrecorded := State{Now: noon, Step: step, Jobs: []*batchv1.Job{jobOf(t, dojo, "another step", is(batchv1.JobComplete, ""))}}
	if issue := Plan(dojo, unrecorded, inputFor(dojo), testConfig).Plan.Issues[0]; issue.RequeueAfter != apply.StaleRetry {
		t.Errorf("no event shows that the success is recorded, and the next reconcile is after %s", issue.RequeueAfter)
	}
	unknown := State{Now: noon, Step: step, Jobs: []*batchv1.Job{jobOf(t, dojo, "another step", is(batchv1.JobComplete, ""),
		func(job *batchv1.Job) { delete(job.Annotations, stepAnnotation) })}}
	if got := Plan(dojo, unknown, inputFor(dojo), testConfig).Plan; len(got.Delete) != 1 || got.Issues[0].RequeueAfter == apply.StaleRetry {
		t.Errorf("a Job without the annotation of its step is kept: %+v", got)
	}
	noImage := Plan(dojotest.Dojo(withFiles), State{Now: noon, Step: step}, inputFor(dojotest.Dojo(withFiles)), Config{})
	if got := dojotest.Worst(noImage.Plan.Issues); got != "Degraded/MigrationsInvalid" {
		t.Errorf("without an image of dojo-migrate: %s", got)
	}
}

func TestAdviceAfterFailure(t *testing.T) {
	t.Parallel()
	for want, with := range map[string]func(*corev1api.Dojo){
		" Fix the cause, then set another image, or retry with `kubectl annotate dojos.core.jutsu.com tokyo -n school ": withCommand,
		" Correct the files of spec.release.migrations; the step then runs again. ":                                     withFiles,
	} {
		p := planner{dojo: dojotest.Dojo(with)}
		if got := p.failed("a syntax error.").Message; !strings.Contains(got, want) ||
			!strings.Contains(got, "--overwrite core.jutsu.com/retry-release=$(date +%s)`") {
			t.Errorf("%s, want %q", got, want)
		}
	}
}

// During a release step, the Deployment does not get an image that an automatic rollback has refused.
func TestTheMessageNamesTheImageOfTheDeployment(t *testing.T) {
	t.Parallel()
	const newSpec = "Pods get the new spec only after the release step has succeeded."
	automatic := func(dojo *corev1api.Dojo) {
		dojo.Spec.Rollout = &corev1api.Rollout{Rollback: corev1api.RollbackAutomatic}
	}
	rollout := func(served, refused string) func(*corev1api.Dojo) {
		return func(dojo *corev1api.Dojo) {
			dojo.Status.Rollout = &corev1api.RolloutStatus{ServedImage: served, RefusedImage: refused}
		}
	}
	for name, c := range map[string]struct {
		dojo edits
		want string
	}{
		"no step has succeeded yet":   {command(), newSpec},
		"a step has succeeded before": {command(released()), "The Deployment keeps the image dojo:now."},
		"no image is refused":         {command(released(), automatic, rollout("dojo:old", "")), "The Deployment keeps the image dojo:now."},
		"the last image is refused":   {command(released(), automatic, rollout("dojo:old", "dojo:now")), "The Deployment keeps the image dojo:old."},
		"the last image is refused, but the rollback is Manual now": {command(released(), rollout("dojo:old", "dojo:now")),
			"The Deployment keeps the image dojo:now."},
		"the last image is refused, and the step is of the served image": {command(released(), automatic, rollout(next, "dojo:now")), newSpec},
	} {
		p := planner{dojo: dojotest.Dojo(c.dojo...), State: State{Target: Target{Image: next}}}
		if got := p.kept(); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestAdviceWithoutFiles(t *testing.T) {
	t.Parallel()
	const missing = "ConfigMap school/files"
	for noFiles, want := range map[bool]string{
		false: "The ConfigMap school/files of spec.release.migrations does not exist. Create it",
		true:  "No key of the ConfigMaps in spec.release.migrations ends with .sql. Add a key with",
	} {
		dojo := dojotest.Dojo(withFiles, dojotest.WaitingFor(missing, time.Hour))
		p := planner{dojo: dojo, State: State{Now: noon, Missing: missing, NoFiles: noFiles}, cfg: testConfig}
		if got := p.filesIssue().Message; !strings.Contains(got, want) {
			t.Errorf("%s, want %q", got, want)
		}
	}
}

func suspended(dojo *corev1api.Dojo) { dojo.Spec.Suspend = true }

func stopped(in *Input) { in.Stopped = true }

func missing(_ *testing.T, _ *corev1api.Dojo, s *State) {
	s.Step, s.Missing = "", "ConfigMap school/files"
}

func TestPodsAreRestricted(t *testing.T) {
	t.Parallel()
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	claim := corev1api.Volume{Name: "claim", PersistentVolumeClaim: &corev1api.PersistentVolumeClaim{ClaimName: "x"}}
	config := corev1api.Volume{Name: "config", ConfigMap: &corev1api.VolumeSource{Name: "x"}}
	for name, change := range map[string]func(*corev1api.Dojo){"command": withCommand, "files": withFiles} {
		dojo := dojotest.Dojo(change, func(dojo *corev1api.Dojo) {
			dojo.Spec.ServiceAccountName, dojo.Spec.PriorityClassName = "admin", "system-node-critical"
			dojo.Spec.Volumes = []corev1api.Volume{claim, config}
			dojo.Spec.VolumeMounts = []corev1api.VolumeMount{{Name: "claim", MountPath: "/a"}, {Name: "config", MountPath: "/b"}}
		})
		job := jobOf(t, dojo, step)
		template := job.Spec.Template
		level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
		checks := evaluator.EvaluatePod(level, &template.ObjectMeta, &template.Spec)
		if got := policy.AggregateCheckResults(checks); !got.Allowed {
			t.Errorf("%s: %s", name, got.ForbiddenDetail())
		}
		spec := template.Spec
		if spec.ServiceAccountName != "" || spec.AutomountServiceAccountToken == nil || *spec.AutomountServiceAccountToken ||
			spec.PriorityClassName != "" {
			t.Errorf("%s: runs as %q with a token, %q", name, spec.ServiceAccountName, spec.PriorityClassName)
		}
		for _, v := range spec.Volumes {
			if v.PersistentVolumeClaim != nil {
				t.Errorf("%s: a pod on another node may hold %s", name, v.Name)
			}
		}
		if template.Labels[ownership.NameLabel] == ownership.Selector(dojo)[ownership.NameLabel] {
			t.Errorf("%s: the Service would send requests to the step's pod", name)
		}
		if !metav1.IsControlledBy(job, dojo) || *job.Spec.PodReplacementPolicy != batchv1.Failed ||
			*job.Spec.ActiveDeadlineSeconds != 600 {
			t.Errorf("%s: %+v", name, job.Spec)
		}
		if template.Annotations["linkerd.io/inject"] != "disabled" || template.Annotations[ownership.RevisionAnnotation] != "r" {
			t.Errorf("%s: %v", name, template.Annotations)
		}
	}
}

func TestFilesAreMountedByConfigMap(t *testing.T) {
	t.Parallel()
	var got []string
	for _, source := range jobOf(t, dojotest.Dojo(withFiles), step).Spec.Template.Spec.Volumes[1].Projected.Sources {
		got = append(got, fmt.Sprint(source.ConfigMap.Name, source.ConfigMap.Items))
	}
	if diff := cmp.Diff([]string{"files[]", "more[]"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestHostIsThePrimary(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*corev1api.Dojo){"command": withCommand, "files": withFiles} {
		dojo := dojotest.Dojo(change)
		in := inputFor(dojo)
		in.Host = "tokyo-db-rw"
		pod := podFor(dojo, &State{Target: Target{SecretName: "s"}}, in, testConfig)
		for _, v := range pod.Containers[0].Env {
			if *v.Name == hostVariable && (v.Value == nil || *v.Value != in.Host || v.ValueFrom != nil) {
				t.Errorf("%s: %+v", name, v)
			}
		}
	}
}

func TestJobName(t *testing.T) {
	t.Parallel()
	long := dojotest.Dojo(func(dojo *corev1api.Dojo) { dojo.Name = strings.Repeat("a", 63) })
	if got := jobName(long, step); len(got) > 63 {
		t.Errorf("%s is too long for a label", got)
	}
	if jobName(long, step) == jobName(long, "x"+step) || jobName(long, step) != jobName(long.DeepCopy(), step) {
		t.Error("the name does not follow from the Dojo and the step alone")
	}
}

// An image with another tag and the same digest has the same step.
func TestStepOfACommand(t *testing.T) {
	t.Parallel()
	of := func(image, database string, command ...string) string {
		c := dojotest.NewCluster(t)
		dojo := dojotest.Dojo(withCommand)
		dojo.Spec.Release.Command = command
		s, err := observe(t, c, dojo, Target{Image: image, Database: database})
		if err != nil {
			t.Fatal(err)
		}
		return s.Step
	}
	if of("dojo:1@sha256:a", "", "up") != of("dojo:2@sha256:a", "", "up") {
		t.Error("another tag of the same digest is another step")
	}
	all := []string{of("dojo:1", "", "up"), of("dojo:2", "", "up"), of("dojo:1", "", "up", "-v"), of("dojo:1", "", "up-v"),
		of("dojo:1", "other", "up"), of("dojo@sha256:b", "", "up")}
	slices.Sort(all)
	if len(slices.Compact(all)) != 6 {
		t.Errorf("different steps are the same: %v", all)
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	target := Target{Image: next}
	dojo := dojotest.Dojo(withFiles, released("before"))
	job := jobOf(t, dojo, step, is(batchv1.JobComplete, ""))
	s := State{Now: noon, Step: step, Target: target, Jobs: []*batchv1.Job{job},
		Pods: []corev1.Pod{podOf(job, ends(0, "4 20261120_add-index"))}}
	at := metav1.NewTime(noon)
	want := &corev1api.ReleaseStatus{Image: next, FinishedAt: &at, Migration: "20261120_add-index", Migrations: 4,
		Succeeded: []string{"before", step}}
	got := Status(dojo, s)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	dojo.Status.Release = got
	back := Status(dojo, State{Now: noon, Step: "before", Target: Target{Image: "dojo:now"}})
	if back.Image != "dojo:now" || !strings.Contains(back.Message, "Nothing migrates the database down, "+
		"so the database still has the migration 20261120_add-index.") || len(back.Succeeded) != 2 {
		t.Errorf("after a rollback: %+v", back)
	}
	if forth := Status(dojo, State{Now: noon, Step: step, Target: target}); !cmp.Equal(forth, got) {
		t.Errorf("after a return to the new image: %+v", forth)
	}
	command := dojotest.Dojo(withCommand)
	job = jobOf(t, command, step, is(batchv1.JobComplete, ""))
	s.Jobs, s.Pods = []*batchv1.Job{job}, []corev1.Pod{podOf(job, ends(0, "4 my-password"))}
	if got := Status(command, s); got.Migration != "" {
		t.Errorf("a command writes %q into the status", got.Migration)
	}
	for i := range 2 * maxSucceeded {
		record(got, strings.Repeat("x", i+1), at, "")
	}
	if len(got.Succeeded) != maxSucceeded || got.Succeeded[maxSucceeded-1] != strings.Repeat("x", 2*maxSucceeded) {
		t.Errorf("the status keeps %d steps", len(got.Succeeded))
	}
	if Status(dojotest.Dojo(released(step)), s) != nil {
		t.Error("without a step, there is a status")
	}
}

func observe(t *testing.T, c *dojotest.Cluster, dojo *corev1api.Dojo, target Target) (State, error) {
	t.Helper()
	target.SecretName = access.SecretName
	return Observe(t.Context(), c.Reader(dojo), dojo, target, noon)
}

// The failure contains no value of a Secret. Once the status has the failure, the operator does not
// read the Secrets again.
func TestFailureIsObservedOnce(t *testing.T) {
	t.Parallel()
	dojo := dojotest.Dojo(withCommand, func(dojo *corev1api.Dojo) {
		dojo.Spec.EnvFrom = []corev1api.EnvFromSource{{SecretRef: &corev1api.VolumeSource{Name: "tokens"}}}
	})
	secret := func(name, key, value string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: name}, Data: map[string][]byte{key: []byte(value)}}
	}
	c := dojotest.NewCluster(t, secret(access.SecretName, "DB_PASS", "hollow purple"), secret("tokens", "key", "infinity"))
	s, err := observe(t, c, dojo, Target{Image: next})
	if err != nil {
		t.Fatal(err)
	}
	job := jobOf(t, dojo, s.Step, is(batchv1.JobFailed, batchv1.JobReasonPodFailurePolicy))
	s.Jobs, s.Pods = []*batchv1.Job{job}, []corev1.Pod{podOf(job, ends(1, "begin\nno login with hollow purple, infinity\n"))}
	s.LogEnd = s.logEnd(t.Context(), c.Reader(dojo), dojo)
	status := Status(dojo, s)
	if status.Failure.Message != "no login with ***, ***" {
		t.Errorf("%+v", status.Failure)
	}
	dojo.Status.Release = status
	if s.LogEnd = s.logEnd(t.Context(), c.Reader(dojo), dojo); s.LogEnd != "" {
		t.Errorf("the Secrets are read again: %s", s.LogEnd)
	}
	if diff := cmp.Diff(status, Status(dojo, s)); diff != "" {
		t.Error(diff)
	}
	for reason, want := range map[string]string{
		batchv1.JobReasonDeadlineExceeded: "it has not ended within 10m0s",
		"":                                "the operator cannot show the last line of the step's log",
	} {
		job := jobOf(t, dojo, s.Step, is(batchv1.JobFailed, reason))
		dojo.Status.Release = nil
		got := Status(dojo, State{Now: noon, Step: s.Step, Jobs: []*batchv1.Job{job}})
		if !strings.HasPrefix(got.Failure.Message, want) {
			t.Errorf("%s: %s", reason, got.Failure.Message)
		}
	}
}

func TestNoJobBesideOneThatTheCacheLacks(t *testing.T) {
	t.Parallel()
	dojo := dojotest.Dojo(withCommand)
	c := dojotest.NewCluster(t)
	c.Put(jobOf(t, dojo, "another step"))
	reader := c.Reader(dojo)
	reader.Cache = dojotest.NewCluster(t).Server
	s, err := Observe(t.Context(), reader, dojo, Target{Image: next, SecretName: access.SecretName}, noon)
	if err != nil {
		t.Fatal(err)
	}
	if got := Plan(dojo, s, inputFor(dojo), testConfig); got.Plan.Apply != nil || len(s.Jobs) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	files := func(name string, keys ...string) *corev1.ConfigMap {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: name},
			Data: map[string]string{"README": "x"}}
		for _, key := range keys {
			cm.Data[key] = "SELECT 1"
		}
		return cm
	}
	for name, c := range map[string]struct {
		objects []*corev1.ConfigMap
		missing string
		invalid string
	}{
		"all files exist":                  {[]*corev1.ConfigMap{files("files", "1_a.sql"), files("more", "2_b.sql")}, "", ""},
		"one of two ConfigMaps is missing": {[]*corev1.ConfigMap{files("files", "1_a.sql")}, "ConfigMap school/more", ""},
		"no files in the ConfigMaps":       {[]*corev1.ConfigMap{files("files"), files("more")}, "key with the suffix .sql in the ConfigMaps", ""},
		"the same file in two ConfigMaps":  {[]*corev1.ConfigMap{files("files", "1_a.sql"), files("more", "1_a.sql")}, "", "is in two ConfigMaps"},
		"two files with the same number":   {[]*corev1.ConfigMap{files("files", "1_a.sql"), files("more", "01_b.sql")}, "", "the same number"},
		"a file without a number":          {[]*corev1.ConfigMap{files("files", "a.sql"), files("more", "1_a.sql")}, "", "a.sql must have a name of the form NUMBER_TEXT.sql"},
	} {
		t.Run(name, func(t *testing.T) {
			known.Clear() // the API servers of several tests use the same UIDs and versions
			dojo := dojotest.Dojo(withFiles)
			refs := &dojo.Spec.Release.Migrations.ConfigMapRefs
			*refs = append(*refs, corev1api.ConfigMapReference{Name: "more"})
			cluster := dojotest.NewCluster(t)
			for _, cm := range c.objects {
				cluster.Put(cm)
			}
			s, err := observe(t, cluster, dojo, Target{Image: next})
			if err != nil {
				t.Fatal(err)
			}
			if s.Missing != c.missing || !strings.Contains(s.Invalid, c.invalid) || (s.Invalid == "") != (c.invalid == "") ||
				(s.Step != "") != (c.missing+c.invalid == "") || s.NoFiles != strings.HasPrefix(c.missing, "key") {
				t.Errorf("missing %q, no files %t, invalid %q, step %q", s.Missing, s.NoFiles, s.Invalid, s.Step)
			}
		})
	}
}
