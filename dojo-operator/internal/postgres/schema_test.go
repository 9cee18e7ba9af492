package postgres

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"k8s.io/utils/ptr"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/conditions"
)

func TestSchemaPodsAreRestrictedAndNoneOfTheApplication(t *testing.T) {
	t.Parallel()
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	must(t, err)
	d := tokyo(inPG, withSQL)
	job := inSync(t, d).jobs[0]
	template := job.Spec.Template
	level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	checks := evaluator.EvaluatePod(level, &template.ObjectMeta, &template.Spec)
	if got := policy.AggregateCheckResults(checks); !got.Allowed {
		t.Error(got.ForbiddenDetail())
	}
	if ptr.Deref(template.Spec.AutomountServiceAccountToken, true) {
		t.Error("SQL gets a token for the API server")
	}
	if template.Labels[ownership.NameLabel] == ownership.Selector(d)[ownership.NameLabel] {
		t.Error("the Service would send requests to the schema's pods")
	}
	want := ownership.Labels(d, ownership.Schema)
	if diff := cmp.Diff([]map[string]string{want, want}, []map[string]string{job.Labels, template.Labels}); diff != "" {
		t.Error("no event would show its end", diff)
	}
	if !metav1.IsControlledBy(job, d) {
		t.Errorf("the Dojo does not control it: %v", job.OwnerReferences)
	}
	if len(job.Name) > 63 {
		t.Errorf("%s is too long for a label", job.Name)
	}
	c := template.Spec.Containers[0]
	if c.Image != "postgres:17" || c.TerminationMessagePolicy != corev1.TerminationMessageFallbackToLogsOnError {
		t.Errorf("image %s, messages %s", c.Image, c.TerminationMessagePolicy)
	}
	rule := job.Spec.PodFailurePolicy.Rules[0]
	if rule.Action != batchv1.PodFailurePolicyActionFailJob || *rule.OnExitCodes.ContainerName != c.Name ||
		!cmp.Equal(rule.OnExitCodes.Values, []int32{sqlFailed}) {
		t.Errorf("SQL that fails is retried: %+v", rule)
	}
}

func TestSchemaNames(t *testing.T) {
	t.Parallel()
	s := State{Cluster: &cnpgv1.Cluster{}, Database: &cnpgv1.Database{}}
	name := func(d *corev1api.Dojo, sql ...string) string {
		s.SQL = sql
		return schemaName(d, &s)
	}
	if got := name(tokyo(inPG, named(strings.Repeat("a", 63)))); len(got) > 63 {
		t.Errorf("%s has %d characters", got, len(got))
	}
	if name(tokyo(inPG), "a", "b") == name(tokyo(inPG), "b", "a") || name(tokyo(inPG), "a") == name(tokyo(inPG)) {
		t.Error("other SQL would not run")
	}
	before := name(tokyo(inPG), "a")
	for what, uid := range map[string]*metav1.ObjectMeta{
		"Cluster": &s.Cluster.ObjectMeta, "Database": &s.Database.ObjectMeta,
	} {
		uid.UID = "another"
		if name(tokyo(inPG), "a") == before {
			t.Errorf("does not run in a %s that was created again", what)
		}
		uid.UID = ""
	}
	scaled := tokyo(inPG, func(d *corev1api.Dojo) { d.Spec.Replicas = ptr.To[int32](7) })
	if name(scaled, "a") != before {
		t.Error("runs again for nothing")
	}
}

// The script is run by a real shell, with a psql that records the SQL that it is given and fails on
// SQL that says so.
func TestSchemaScript(t *testing.T) {
	t.Parallel()
	// It is not written here: a file that is open for writing, also in a process just forked, does
	// not run.
	programs, err := filepath.Abs("testdata/bin")
	must(t, err)
	const secret = "00-b.secret.sql fails; the output of psql is not shown"
	cases := map[string]struct {
		files map[string]string
		code  int
		runs  []string
		says  string
	}{
		"nothing more": {nil, 0, []string{"weapons"}, ""},
		"in order": {map[string]string{"00-a.sql": "first", "01-b.secret.sql": "second"}, 0,
			[]string{"weapons", "first", "second"}, ""},
		"the first fails": {map[string]string{"00-a.sql": "broken", "01-b.sql": "second"}, 3,
			[]string{"weapons", "broken"}, "psql: ERROR: hollow purple"},
		"a Secret fails": {map[string]string{"00-b.secret.sql": "broken"}, 3,
			[]string{"weapons", "broken"}, secret},
		"the database is not reached": {map[string]string{"00-a.sql": "away"}, 2, []string{"weapons", "away"}, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			must(t, os.Mkdir(filepath.Join(folder, "sql"), 0o755))
			for name, text := range c.files {
				must(t, os.WriteFile(filepath.Join(folder, "sql", name), []byte(text), 0o600))
			}
			record := filepath.Join(folder, "record")
			command := exec.Command("/bin/sh", "-c", strings.ReplaceAll(schemaScript, "/sql/*", folder+"/sql/*"))
			command.Env = append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH"), "RECORD="+record)
			said, _ := command.CombinedOutput()
			if code := command.ProcessState.ExitCode(); code != c.code {
				t.Errorf("ends with %d: %s", code, said)
			}
			text, err := os.ReadFile(record)
			must(t, err)
			ran := string(text)
			for _, text := range c.runs {
				at := strings.Index(ran, text)
				if at < 0 {
					t.Fatalf("%q is not run in its turn, but %s", text, text)
				}
				ran = ran[at+len(text):]
			}
			if strings.Contains(ran, "second") {
				t.Errorf("runs %s", text)
			}
			if !strings.Contains(string(said), c.says) || c.says == secret && strings.Contains(string(said), "hollow purple") {
				t.Errorf("says %q", said)
			}
		})
	}
}

func TestSQLIsMountedInOrder(t *testing.T) {
	t.Parallel()
	job := inSync(t, tokyo(inPG, withSQL)).jobs[0]
	var paths []string
	for _, source := range job.Spec.Template.Spec.Volumes[1].Projected.Sources {
		if source.ConfigMap != nil {
			paths = append(paths, source.ConfigMap.Name+"/"+source.ConfigMap.Items[0].Key+" "+source.ConfigMap.Items[0].Path)
		} else {
			paths = append(paths, source.Secret.Name+"/"+source.Secret.Items[0].Key+" "+source.Secret.Items[0].Path)
		}
	}
	if diff := cmp.Diff([]string{"sql/tables.sql 00-sql.sql", "users/all 01-users.secret.sql"}, paths); diff != "" {
		t.Error(diff)
	}
}

func TestSchemaRunsAsTheOwnerOfTheDatabase(t *testing.T) {
	t.Parallel()
	job := inSync(t, tokyo(inPG)).jobs[0]
	got := map[string]string{}
	for _, v := range job.Spec.Template.Spec.Containers[0].Env {
		got[v.Name] = v.ValueFrom.SecretKeyRef.Name + "/" + v.ValueFrom.SecretKeyRef.Key
	}
	want := map[string]string{
		"PGHOST": "tokyo-db/host", "PGPORT": "tokyo-db/port", "PGDATABASE": "tokyo-db/dbname",
		"PGUSER": "tokyo-db/user", "PGPASSWORD": "tokyo-db/password",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSchemaFailureIsExplained(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change func(*world)
		want   string // JOB is the Job's name
	}{
		"by Postgres": {failedSchema, "ERROR: no."},
		"by nothing":  {func(w *world) { failedSchema(w); w.JobPods = nil }, "see `kubectl logs job/JOB`."},
		"by the pod": {func(w *world) { stuckSchema(w); w.JobPods[0].Name = "p" },
			"pod p: container : InvalidImageName; see `kubectl describe pod p`."},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := tokyo(inPG)
			w := inSync(t, d)
			c.change(w)
			want := "The schema cannot be updated: " + c.want +
				" Fix the SQL; to retry the same SQL, delete the Job with `kubectl delete job JOB`."
			got := conditions.Worst(w.plan(d).Plan.Issues).Message
			if diff := cmp.Diff(strings.ReplaceAll(want, "JOB", w.jobs[0].Name), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Jobs for former SQL are kept until that for the present SQL has completed.
func TestFormerJobs(t *testing.T) {
	t.Parallel()
	d := tokyo(inPG)
	w := inSync(t, d)
	w.SQL = []string{"ConfigMap/sql/a/u/2"}
	if plan := w.reconcile(d).Plan; plan.Delete != nil {
		t.Errorf("deletes %v before there is another", deleted(plan))
	}
	if plan := w.plan(d).Plan; plan.Delete != nil || worst(plan) != "Progressing/ApplyingSchema" {
		t.Errorf("deletes %v before the other has completed", deleted(plan))
	}
	w.play()
	if plan := w.plan(d).Plan; !cmp.Equal(deleted(plan), []string{"Job"}) ||
		plan.Delete[0].Object.GetName() != w.jobs[0].Name {
		t.Errorf("deletes %v", plan.Delete)
	}
}
