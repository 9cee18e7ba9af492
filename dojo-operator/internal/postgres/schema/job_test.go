// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"k8s.io/utils/ptr"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
)

func TestSchemaPodsAreRestrictedAndNotOfTheApplication(t *testing.T) {
	t.Parallel()
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	must(t, err)
	dojo := tokyo(withSQL)
	job := jobOf(t, dojo, "now")
	template := job.Spec.Template
	level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	checks := evaluator.EvaluatePod(level, &template.ObjectMeta, &template.Spec)
	if got := policy.AggregateCheckResults(checks); !got.Allowed {
		t.Error(got.ForbiddenDetail())
	}
	if ptr.Deref(template.Spec.AutomountServiceAccountToken, true) {
		t.Error("SQL gets a token for the API server")
	}
	if template.Labels[ownership.NameLabel] == ownership.Selector(dojo)[ownership.NameLabel] {
		t.Error("the Service would send requests to the schema's pods")
	}
	for name, labels := range map[string]map[string]string{"Job": job.Labels, "pods": template.Labels} {
		for key, value := range ownership.Labels(dojo, ownership.Schema) {
			if labels[key] != value {
				t.Errorf("the %s lacks a label of the schema: %v", name, labels)
			}
		}
	}
	if template.Labels["sidecar.istio.io/inject"] != "false" || template.Annotations["linkerd.io/inject"] != "disabled" {
		t.Errorf("a sidecar would never end: %v %v", template.Labels, template.Annotations)
	}
	if !metav1.IsControlledBy(job, dojo) {
		t.Errorf("the Dojo does not control the Job: %v", job.OwnerReferences)
	}
	c := template.Spec.Containers[0]
	if c.Image != "postgres:17" || c.TerminationMessagePolicy != corev1.TerminationMessageFallbackToLogsOnError {
		t.Errorf("image %s, messages %s", c.Image, c.TerminationMessagePolicy)
	}
	for _, of := range []corev1.ResourceName{corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
		if c.Resources.Requests.Name(of, resource.BinarySI).IsZero() || c.Resources.Limits.Name(of, resource.BinarySI).IsZero() {
			t.Errorf("%s: %v", of, c.Resources)
		}
	}
	rule := job.Spec.PodFailurePolicy.Rules[0]
	if rule.Action != batchv1.PodFailurePolicyActionFailJob || *rule.OnExitCodes.ContainerName != c.Name ||
		!cmp.Equal(rule.OnExitCodes.Values, []int32{sqlFailed}) {
		t.Errorf("SQL that fails is retried: %+v", rule)
	}
}

func TestJobName(t *testing.T) {
	t.Parallel()
	long := tokyo(func(dojo *corev1api.Dojo) { dojo.Name = strings.Repeat("a", 63) })
	if got := jobName(long, "now"); len(got) > 63 {
		t.Errorf("%s is too long for a label", got)
	}
	if jobName(tokyo(), "now") == jobName(tokyo(), "then") {
		t.Error("other SQL would have the same Job")
	}
}

// A real shell runs schema.sh with a fake psql, which fails for words such as "broken".
func TestSchemaScript(t *testing.T) {
	t.Parallel()
	// The fake psql is in testdata. If the test wrote this file, psql might not run ("text file
	// busy"): a process that another test has just forked may have the file open for writing.
	programs, err := filepath.Abs("testdata/bin")
	must(t, err)
	const secret = "00-b.secret.sql fails; the output of psql is not shown"
	cases := map[string]struct {
		files map[string]string
		code  int
		runs  []string
		says  string
	}{
		"no SQL of the user": {nil, 0, []string{"weapons"}, ""},
		"two files in order": {map[string]string{"00-a.sql": "first", "01-b.secret.sql": "second"}, 0,
			[]string{"weapons", "first", "second"}, ""},
		"the first file fails": {map[string]string{"00-a.sql": "broken", "01-b.sql": "second"}, 3,
			[]string{"weapons", "broken"}, "psql: ERROR: hollow purple"},
		"a file of a Secret fails": {map[string]string{"00-b.secret.sql": "broken"}, 3,
			[]string{"weapons", "broken"}, secret},
		"a lock is not free": {map[string]string{"00-a.sql": "locked"}, 75,
			[]string{"weapons", "locked"}, "canceling statement due to lock timeout"},
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
			command := exec.Command("/bin/sh", "-c", strings.ReplaceAll(script, "/sql/*", folder+"/sql/*"))
			command.Dir = folder
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
					t.Fatalf("%q does not run after the programs before it; the rest of the record is %q", text, ran)
				}
				ran = ran[at+len(text):]
			}
			if strings.Contains(ran, "second") {
				t.Errorf("the file after the failure runs: %s", text)
			}
			if !strings.Contains(string(said), c.says) || c.says == secret && strings.Contains(string(said), "hollow purple") {
				t.Errorf("says %q", said)
			}
		})
	}
}

func TestSQLIsMountedInOrder(t *testing.T) {
	t.Parallel()
	var paths []string
	for _, source := range jobOf(t, tokyo(withSQL), "now").Spec.Template.Spec.Volumes[1].Projected.Sources {
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

func TestSQLRunsAsTheOwnerOfTheDatabase(t *testing.T) {
	t.Parallel()
	got := map[string]string{}
	for _, v := range jobOf(t, tokyo(), "now").Spec.Template.Spec.Containers[0].Env {
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
