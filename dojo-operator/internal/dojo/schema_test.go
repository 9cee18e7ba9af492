package dojo

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"k8s.io/utils/ptr"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
)

func withSQL(d *corev1api.Dojo) {
	d.Spec.Postgres.InitSQL = []corev1api.SQLSource{
		{ConfigMapKeyRef: &corev1api.KeyReference{Name: "sql", Key: "tables.sql"}},
		{SecretKeyRef: &corev1api.KeyReference{Name: "users", Key: "all"}},
	}
}

func schemaJob(t *testing.T, d *corev1api.Dojo) *batchv1.Job {
	t.Helper()
	return settledDatabase(t, d).jobs[0]
}

func TestSchemaPodsAreRestrictedAndNoneOfTheApplication(t *testing.T) {
	t.Parallel()
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	must(t, err)
	d := tokyo(inPG, withSQL)
	job := schemaJob(t, d)
	template := job.Spec.Template
	level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	if got := policy.AggregateCheckResults(evaluator.EvaluatePod(level, &template.ObjectMeta, &template.Spec)); !got.Allowed {
		t.Error(got.ForbiddenDetail())
	}
	if ptr.Deref(template.Spec.AutomountServiceAccountToken, true) {
		t.Error("SQL gets a token for the API server")
	}
	if template.Labels[nameLabel] == selector(d)[nameLabel] {
		t.Error("the Service would send requests to the schema's pods")
	}
	if !metav1.IsControlledBy(job, d) || !ourPodsMatch(template.Labels) {
		t.Errorf("nobody would see it end: %v", template.Labels)
	}
	if len(job.Name) > 63 {
		t.Errorf("%s is too long for a label", job.Name)
	}
	if c := template.Spec.Containers[0]; c.Image != "postgres:17" || c.TerminationMessagePolicy != corev1.TerminationMessageFallbackToLogsOnError {
		t.Errorf("image %s, messages %s", c.Image, c.TerminationMessagePolicy)
	}
}

func TestSchemaNames(t *testing.T) {
	t.Parallel()
	cluster, database := clusterKind.Object(), databaseFor(tokyo(inPG))
	name := func(d *corev1api.Dojo, sql ...string) string {
		return schemaName(d, &seenDatabase{cluster: cluster, database: database, seenSchema: seenSchema{sql: sql}})
	}
	long := tokyo(inPG, func(d *corev1api.Dojo) { d.Name = strings.Repeat("a", 63) })
	if got := name(long); len(got) > 63 {
		t.Errorf("%s has %d characters", got, len(got))
	}
	if name(tokyo(inPG), "a", "b") == name(tokyo(inPG), "b", "a") || name(tokyo(inPG), "a") == name(tokyo(inPG)) {
		t.Error("other SQL would not run")
	}
	before := name(tokyo(inPG), "a")
	cluster.SetUID("another")
	if name(tokyo(inPG), "a") == before {
		t.Error("does not run in a Cluster that was made anew")
	}
	if name(tokyo(inPG, replicas(7)), "a") != name(tokyo(inPG), "a") {
		t.Error("runs again for nothing")
	}
}

func ourPodsMatch(labels map[string]string) bool {
	for _, of := range CacheOptions(nil).ByObject {
		if of.Label != nil {
			return of.Label.Matches(labelSet(labels))
		}
	}
	return false
}

type labelSet map[string]string

func (l labelSet) Has(key string) bool              { _, ok := l[key]; return ok }
func (l labelSet) Get(key string) string            { return l[key] }
func (l labelSet) Lookup(key string) (string, bool) { v, ok := l[key]; return v, ok }

// The script is run by a real shell, with a psql that notes what it is asked and fails on SQL that says so.
func TestSchemaScript(t *testing.T) {
	t.Parallel()
	programs, err := filepath.Abs("testdata/bin") // not written here: a file that is open for writing, also in a process just forked, does not run
	must(t, err)
	cases := map[string]struct {
		files map[string]string
		code  int
		runs  []string
		says  string
	}{
		"nothing more":         {nil, 0, []string{"weapons"}, ""},
		"in order":             {map[string]string{"00-a.sql": "first", "01-b.secret.sql": "second"}, 0, []string{"weapons", "first", "second"}, ""},
		"the first fails":      {map[string]string{"00-a.sql": "broken", "01-b.sql": "second"}, 3, []string{"weapons", "broken"}, "psql: ERROR: hollow purple"},
		"a Secret fails":       {map[string]string{"00-b.secret.sql": "broken"}, 3, []string{"weapons", "broken"}, "00-b.secret.sql fails; what psql says is not told"},
		"the database is away": {map[string]string{"00-a.sql": "away"}, 2, []string{"weapons", "away"}, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			must(t, os.Mkdir(filepath.Join(folder, "sql"), 0o755))
			for name, text := range c.files {
				must(t, os.WriteFile(filepath.Join(folder, "sql", name), []byte(text), 0o600))
			}
			notes := filepath.Join(folder, "notes")
			command := exec.Command("/bin/sh", "-c", strings.ReplaceAll(schemaScript, "/sql/*", folder+"/sql/*"))
			command.Env = append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH"), "NOTES="+notes)
			said, _ := command.CombinedOutput()
			if code := command.ProcessState.ExitCode(); code != c.code {
				t.Errorf("ends with %d: %s", code, said)
			}
			ran, err := os.ReadFile(notes)
			must(t, err)
			for _, text := range c.runs {
				if !strings.Contains(string(ran), text) {
					t.Errorf("does not run %q but %s", text, ran)
				}
			}
			if strings.Contains(string(ran), "second") != (name == "in order") {
				t.Errorf("runs %s", ran)
			}
			if !strings.Contains(string(said), c.says) || name == "a Secret fails" && strings.Contains(string(said), "hollow purple") {
				t.Errorf("says %q", said)
			}
		})
	}
}

func TestSQLIsMountedInOrder(t *testing.T) {
	t.Parallel()
	job := schemaJob(t, tokyo(inPG, withSQL))
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
