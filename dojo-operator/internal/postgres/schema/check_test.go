// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"jutsu.com/operators/dojo-operator/internal/pods"
	"jutsu.com/operators/libs/apply"
)

func TestPlanCheck(t *testing.T) {
	t.Parallel()
	dojo := tokyo()
	desired := apply.Typed(jobFor(dojo, checkTask(dojo, "uid", as, pods.Users{})))
	for name, c := range map[string]struct {
		condition batchv1.JobConditionType
		state     corev1.ContainerState
		want      string
		says      string
	}{
		"the check runs":          {"", running(0), "ApplyingSchema", "looks for the database dojo_school_tokyo in the restored data."},
		"the database exists":     {batchv1.JobComplete, ended(0, 0), "", ""},
		"the database is missing": {batchv1.JobFailed, ended(sqlFailed, 0), "DatabaseNotRestored", "No empty database is created instead."},
		"Postgres is not reached": {batchv1.JobFailed, ended(2, 0), "SchemaFailed",
			"The restored data may be incomplete: no route to host. The check could not run."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var job batchv1.Job
			must(t, runtime.DefaultUnstructuredConverter.FromUnstructured(desired.Object, &job))
			job.UID, job.CreationTimestamp = "job", metav1.NewTime(noon)
			job.Status.Conditions = []batchv1.JobCondition{{Type: c.condition, Status: corev1.ConditionTrue}}
			s := State{Now: noon, Jobs: []*batchv1.Job{&job}, Pods: []corev1.Pod{podOf(&job, c.state)}}
			step := PlanCheck(dojo, s, "uid", as, testConfig)
			if step.Job != nil || step.Delete != nil {
				t.Errorf("%+v", step)
			}
			switch {
			case step.Issue == nil && c.want == "":
			case step.Issue == nil || step.Issue.Reason != c.want || !strings.Contains(step.Issue.Message, c.says):
				t.Errorf("%+v", step.Issue)
			}
		})
	}
	if step := PlanCheck(dojo, State{Now: noon}, "uid", as, testConfig); step.Job == nil || step.Issue.IsDegraded() {
		t.Errorf("%+v", step)
	}
}

func TestCheckScriptOnPostgres(t *testing.T) {
	t.Parallel()
	p := startPostgres(t)
	p.as("postgres", "CREATE ROLE owner LOGIN")
	for _, name := range []string{"*", "dojo app", "dojo kyoto"} {
		p.as("postgres", `CREATE DATABASE "`+name+`"`)
	}
	if code, says := p.scriptAs("owner", checkScript, nil); code != sqlFailed ||
		says != `it has the databases "*", "dojo app", "dojo kyoto", "postgres", but not "app"`+"\n" {
		t.Errorf("exit code %d, says %q", code, says)
	}
	p.as("postgres", "CREATE DATABASE app OWNER owner")
	p.as("postgres", "REVOKE CONNECT ON DATABASE app FROM PUBLIC")
	if code, says := p.scriptAs("owner", checkScript, nil); code != 0 || says != "" {
		t.Errorf("exit code %d, says %q", code, says)
	}
	away := &server{t: t, bin: p.bin, folder: p.folder + "/data"}
	if code, says := away.scriptAs("owner", checkScript, nil); code != 2 {
		t.Errorf("a server that cannot be reached: exit code %d, %s", code, says)
	}
}
