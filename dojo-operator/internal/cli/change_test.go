// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/apitest"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/kubectl/kubectltest"
)

func dojoIn(t *testing.T, s *apitest.Server) *corev1api.Dojo {
	t.Helper()
	d := &corev1api.Dojo{}
	if !s.Get(kinds.Dojo, apitest.Namespace, "sendai", d) {
		t.Fatal("there is no Dojo")
	}
	return d
}

func TestChanges(t *testing.T) {
	t.Parallel()
	asleep := func(d *corev1api.Dojo) { d.Spec.Suspend = true }
	bare := func(d *corev1api.Dojo) { d.Spec.Postgres.Cluster.Backup = nil }
	outdated := func(d *corev1api.Dojo) { d.Status.Database.NewerVersion = "18.6" }
	accepted := func(d *corev1api.Dojo) any {
		parameters := d.Spec.Postgres.Cluster.Backup.Plugin.Parameters
		return d.Annotations[corev1api.RecreateDatabaseAnnotation] + ", " + parameters["barmanObjectName"] + " in " +
			parameters["serverName"]
	}
	for name, c := range map[string]struct {
		args, input string
		change      func(*corev1api.Dojo)
		server      func(*testing.T) *apitest.Server
		is          func(*corev1api.Dojo) any
		want        any
	}{
		"rotate": {args: "rotate sendai", input: "yaml\ny\n",
			is:   func(d *corev1api.Dojo) any { return d.Annotations[corev1api.RotatePasswordAnnotation] },
			want: "2026-11-24T02:55:00Z"},
		"suspend": {args: "suspend sendai", input: "y\n", is: func(d *corev1api.Dojo) any { return d.Spec.Suspend }, want: true},
		"resume": {args: "resume sendai -y", change: asleep, is: func(d *corev1api.Dojo) any { return d.Spec.Suspend },
			want: false},
		"upgrade": {args: "upgrade sendai --to 19", input: "yes\n", is: func(d *corev1api.Dojo) any {
			pg := d.Spec.Postgres.Cluster
			return pg.Version + " " + pg.Backup.Plugin.Parameters["serverName"] + " " + pg.Backup.Plugin.Parameters["barmanObjectName"]
		}, want: "19 sendai-db-2 backups"},
		"upgrade to a minor version": {args: "upgrade sendai --minor", input: "yes\n", change: outdated,
			is: func(d *corev1api.Dojo) any { return d.Annotations[corev1api.MinorUpgradeAnnotation] }, want: "18.6"},
		"upgrade without backup": {args: "upgrade sendai --to 19 --without-backup -y", input: "sendai\n", change: bare,
			is: func(d *corev1api.Dojo) any {
				return d.Spec.Postgres.Cluster.Version + " " + d.Annotations[corev1api.UpgradeWithoutBackupAnnotation]
			}, want: "19 19"},
		"upgrade with a backup after one without": {args: "upgrade sendai --to 19 -y",
			change: func(d *corev1api.Dojo) {
				d.Annotations = map[string]string{corev1api.UpgradeWithoutBackupAnnotation: "19", "team": "a"}
			},
			is:   func(d *corev1api.Dojo) any { return d.Annotations },
			want: map[string]string{"team": "a"}},
		"accept-loss": {args: "accept-loss sendai", input: "sendai\n", server: lost,
			is: accepted, want: "uid of sendai-db, backups in sendai-db-2"},
		"accept-loss without a question": {args: "accept-loss sendai --confirm sendai", server: lost,
			is: accepted, want: "uid of sendai-db, backups in sendai-db-2"},
		"accept-loss of a Dojo without backups": {args: "accept-loss sendai --confirm sendai",
			server: func(t *testing.T) *apitest.Server {
				s := lost(t)
				s.Put(apitest.Sendai(apitest.Lost, bare))
				return s
			},
			is: func(d *corev1api.Dojo) any { return d.Spec.Postgres.Cluster.Backup }, want: (*corev1api.Backup)(nil)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s *apitest.Server
			if c.server != nil {
				s = c.server(t)
			} else {
				s = sendai(t)
			}
			if c.change != nil {
				s.Put(apitest.Sendai(c.change))
			}
			got := run(t, s, c.input, strings.Fields(c.args)...)
			expectGolden(t, "change "+name, "$ kubectl dojo "+c.args+"\n"+got.String())
			if got.code != 0 {
				t.Errorf("exit code %d", got.code)
			}
			if diff := cmp.Diff(c.want, c.is(dojoIn(t, s))); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{"PATCH dojos/sendai"}, s.Writes()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNothingIsWrittenWithoutConsent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args, input, problem string
		server               func(*testing.T) *apitest.Server
	}{
		"the user answers n":               {"rotate sendai", "n\n", "nothing was changed", nil},
		"an empty answer":                  {"suspend sendai", "\n", "nothing was changed", nil},
		"the end of the input":             {"backup sendai", "", "no answer: nothing was changed", nil},
		"yaml, then no":                    {"backup sendai", "yaml\nN\n", "nothing was changed", nil},
		"the name of another Dojo":         {"accept-loss sendai", "osaka\n", `the name is "sendai", not "osaka": nothing was changed`, lost},
		"the user answers y, not the name": {"accept-loss sendai", "y\n", `the name is "sendai", not "y": nothing was changed`, lost},
		"a wrong name in --confirm":        {"accept-loss sendai --confirm osaka", "", `the name is "sendai", not "osaka": nothing was changed`, lost},
		"restore: the user answers n":      {"restore sendai", "n\n", "nothing was changed", nil},
		"restore: yes, then a wrong name":  {"restore sendai", "y\nno\n", `the name is "sendai", not "no": nothing was changed`, nil},
		"restore: -y without --confirm":    {"restore sendai -y", "", "no answer: nothing was changed; answer in advance with --confirm sendai", nil},
		"upgrade: -y without --confirm":    {"upgrade sendai --to 19 --without-backup -y", "", "no answer: nothing was changed; answer in advance with --confirm sendai", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := c.server
			if server == nil {
				server = func(t *testing.T) *apitest.Server { return sendai(t) }
			}
			s := server(t)
			got := run(t, s, c.input, strings.Fields(c.args)...)
			if got.code != 1 || !strings.Contains(got.err, c.problem) {
				t.Errorf("%s, want %q", got, c.problem)
			}
			if writes := s.Writes(); len(writes) > 0 {
				t.Errorf("the command has written %v", writes)
			}
		})
	}
}

// TestUpgradesThatCannotSucceed asserts that upgrade refuses a Dojo that is being deleted, or whose
// Cluster is known to be lost, and upgrades the Dojo otherwise. A lost Cluster can be restored only if
// the Dojo keeps its version.
func TestUpgradesThatCannotSucceed(t *testing.T) {
	t.Parallel()
	const gone = "the Cluster sendai-db is gone, so it has no data to upgrade: restore the data with kubectl dojo restore " +
		"sendai -n team-a, or, if nothing can be restored, begin anew with kubectl dojo accept-loss sendai -n team-a"
	deleting := func(d *corev1api.Dojo) {
		d.Status.Database.NewerVersion = "18.6"
		d.DeletionTimestamp, d.Finalizers = new(apitest.At(24, 2, 54)), []string{"x"}
	}
	unnoticed := func(d *corev1api.Dojo) { d.Status.Database.NewerVersion = "18.6" }
	never := func(d *corev1api.Dojo) { d.Status.Database.ClusterUID = "" }
	unread := func(s *apitest.Server) { s.Deny("get clusters.postgresql.cnpg.io") }
	for name, c := range map[string]struct {
		dojo    func(*corev1api.Dojo)
		exists  bool
		server  func(*apitest.Server)
		version string
		problem string
	}{
		"the operator reports the loss":                               {apitest.Lost, false, nil, "--to 19", gone},
		"the loss is reported, and the user may not read the Cluster": {apitest.Lost, false, unread, "--to 19", gone},
		"the operator has not noticed the loss":                       {unnoticed, false, nil, "--to 19", gone},
		"a minor upgrade after a loss":                                {unnoticed, false, nil, "--minor", gone},
		"the Dojo is being deleted":                                   {deleting, true, nil, "--to 19", "sendai is being deleted, so its database cannot be upgraded"},
		"a minor upgrade of a Dojo that is being deleted":             {deleting, true, nil, "--minor", "sendai is being deleted"},
		"the Cluster does not exist yet":                              {never, false, nil, "--to 19", ""},
		"no loss is reported, and the user may not read the Cluster":  {unnoticed, true, unread, "--to 19", ""},
		"the operator still reports a loss, but a new Cluster exists": {apitest.Lost, true, nil, "--to 19", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sendai(t, c.dojo)
			if !c.exists {
				s.Remove(kinds.Cluster, apitest.Namespace, "sendai-db")
			}
			if c.server != nil {
				c.server(s)
			}
			got := run(t, s, "", strings.Fields("upgrade sendai -y "+c.version)...)
			refused := c.problem != ""
			if refused != (got.code == 1) || !strings.Contains(got.err, c.problem) || refused != (s.Writes() == nil) {
				t.Error(got, s.Writes())
			}
		})
	}
}

func TestWaits(t *testing.T) {
	t.Parallel()
	s := sendai(t)
	at := apitest.At(24, 2, 55)
	steps := []func(*corev1api.Dojo){
		apitest.Set(apitest.Condition(corev1api.ConditionDatabaseReady, "False", corev1api.ReasonCreatingRole, "Waiting for the role.", at)),
		func(d *corev1api.Dojo) {
			d.Status.Database.Login, d.Status.Database.FormerLogin = "dojo2_team_a_sendai", "dojo_team_a_sendai"
		},
		func(d *corev1api.Dojo) {
			d.Status.Database.FormerLogin = ""
			apitest.Set(apitest.Condition(corev1api.ConditionDatabaseReady, "True", corev1api.ReasonDatabaseReady, "", at))(d)
		},
	}
	const waits = "02:55:00  CreatingRole: Waiting for the role.\n"
	out := &syncBuffer{said: make(chan struct{}, 100)}
	s.AfterWrite = func(string) {
		go func() {
			for i, step := range steps {
				d := &corev1api.Dojo{}
				s.Get(kinds.Dojo, apitest.Namespace, "sendai", d)
				d.Status.ObservedGeneration = d.Generation
				step(d)
				s.Put(d)
				for i == 0 && !strings.Contains(out.String(), waits) {
					<-out.said
				}
				<-stillClock.After(30 * 1e6)
			}
		}()
	}
	kubeconfig := s.Kubeconfig(t, apitest.Namespace)
	code := runInto(t.Context(), out, kubeconfig, "rotate", "sendai", "-y", "--wait")
	if text := kubectltest.WithoutNote(out.String(), kubeconfig); code != 0 || !strings.Contains(text, waits) || !strings.HasSuffix(text, "Done.\n") {
		t.Errorf("exit code %d: %s", code, text)
	}
	got := run(t, s, "", "suspend", "sendai", "-y", "--wait", "--timeout=50ms")
	if got.code != 1 || !strings.Contains(got.err, "timed out after 50ms; the changes that the command has made stay in effect") {
		t.Error(got)
	}
}

// TestBackupOfAHibernatedCluster asserts that the advice ends the hibernation, and that a restore in
// place is refused before it stops the application.
func TestBackupOfAHibernatedCluster(t *testing.T) {
	t.Parallel()
	byUs := metav1.ManagedFieldsEntry{
		Manager: ownership.FieldOwner, Operation: metav1.ManagedFieldsOperationApply,
		APIVersion: cnpgv1.SchemeGroupVersion.String(), FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:cnpg.io/hibernation":{}}}}`),
	}
	for name, c := range map[string]struct {
		suspended bool
		fields    []metav1.ManagedFieldsEntry
		advice    string
	}{
		"of a suspended Dojo": {true, []metav1.ManagedFieldsEntry{byUs}, "First resume the Dojo: kubectl dojo resume sendai -n team-a"},
		"of a resumed Dojo":   {false, []metav1.ManagedFieldsEntry{byUs}, "The operator will resume it, unless the Dojo is paused: see kubectl dojo status sendai -n team-a"},
		"hibernated by a user": {false, nil, "First resume the Cluster: " +
			"kubectl annotate clusters.postgresql.cnpg.io sendai-db -n team-a cnpg.io/hibernation-"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sendai(t)
			d := apitest.Sendai(func(d *corev1api.Dojo) { d.Spec.Suspend = c.suspended })
			live := apitest.Cluster(d)
			live.Annotations = map[string]string{cnpg.HibernationAnnotation: cnpg.HibernationOn}
			live.ManagedFields = c.fields
			s.Put(d)
			s.Put(live)
			commands := [][]string{{"backup", "sendai", "-y"}}
			if !c.suspended { // restore refuses a suspended Dojo for another reason
				commands = append(commands, []string{"restore", "sendai", "-y", "--confirm", "sendai"})
			}
			for _, command := range commands {
				if got := run(t, s, "", command...); got.code != 1 || !strings.Contains(got.err, c.advice) {
					t.Errorf("%v: %s, want %q", command, got, c.advice)
				}
			}
			if writes := s.Writes(); len(writes) > 0 {
				t.Errorf("the command has written %v", writes)
			}
		})
	}
}

func TestBackup(t *testing.T) {
	t.Parallel()
	for phase, want := range map[string]result{
		"completed": {0, "Backup sendai-20261124025500: completed\n", ""},
		"failed":    {1, "Backup sendai-20261124025500: failed\n", "the backup has failed: exit status 2"},
	} {
		s := sendai(t)
		s.AfterWrite = func(string) {
			o := kinds.Backup.Object()
			o.SetNamespace(apitest.Namespace)
			o.SetName("sendai-20261124025500")
			o.Object["status"] = map[string]any{"phase": phase, "error": "exit status 2"}
			s.Put(o)
		}
		got := run(t, s, "y\n", "backup", "sendai", "--wait")
		if got.code != want.code || !strings.HasSuffix(got.out, want.out) || !strings.Contains(got.err, want.err) {
			t.Error(got)
		}
		if diff := cmp.Diff([]string{"POST backups/sendai-20261124025500"}, s.Writes()); diff != "" {
			t.Error(diff)
		}
		if phase == "completed" {
			expectGolden(t, "backup", "$ kubectl dojo backup sendai --wait\n"+got.String())
		}
	}
}

func TestMeaning(t *testing.T) {
	t.Parallel()
	d := apitest.Sendai(func(d *corev1api.Dojo) {
		d.Status.Database.Login, d.Spec.Suspend = "dojo2_team_a_sendai", true
	})
	ch, err := rotation(d, apitest.Now)
	if err != nil || !strings.Contains(strings.Join(ch.Means, " "), "from the login dojo2_team_a_sendai to dojo_team_a_sendai.") ||
		!strings.Contains(strings.Join(ch.Means, " "), "the rotation begins when you resume the Dojo") {
		t.Error(ch, err)
	}
	apart := change{Spec: map[string]any{"a": map[string]any{"b": true, "c": []any{"x"}}}, Annotations: map[string]any{"k": "v"}}
	if diff := cmp.Diff([]string{`metadata.annotations[k]: "v"`, "spec.a.b: true", `spec.a.c: ["x"]`}, apart.lines()); diff != "" {
		t.Error(diff)
	}
	if isSuspended(apitest.Sendai()) || !isReady(apitest.Sendai()) || isReady(apitest.Sendai(apitest.Lost)) {
		t.Error("isSuspended or isReady is wrong")
	}
	asleep := apitest.Set(metav1.Condition{Type: conditions.TypeReady, Status: "True", Reason: corev1api.ReasonSuspended})
	if !isSuspended(apitest.Sendai(asleep)) {
		t.Error("a suspended Dojo is not reported as suspended")
	}
	stopped := apitest.Set(metav1.Condition{Type: conditions.TypeAvailable, Status: "False", Reason: corev1api.ReasonSuspended})
	for reason, suspended := range map[string]bool{
		corev1api.ReasonUnknownSize: true, corev1api.ReasonUnknownTimeZone: true, corev1api.ReasonChannelNotFound: false,
	} {
		degraded := apitest.Set(metav1.Condition{Type: conditions.TypeDegraded, Status: "True", Reason: reason})
		if isSuspended(apitest.Sendai(degraded)) || isSuspended(apitest.Sendai(degraded, stopped)) != suspended {
			t.Errorf("a Dojo that is Degraded (%s) and stopped should be suspended: %t", reason, suspended)
		}
	}
}
