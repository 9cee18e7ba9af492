// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"strings"
	"testing"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/postgres/backup"
	"jutsu.com/operators/libs/apply"
)

func TestBackupCondition(t *testing.T) {
	t.Parallel()
	says := func(status metav1.ConditionStatus, reason string) func(*world) {
		return func(w *world) {
			w.Cluster.Live.Status.Conditions = []metav1.Condition{
				{Type: "Ready", Status: metav1.ConditionTrue},
				{Type: "LastBackupSucceeded", Status: status, Reason: reason, Message: "no space left."},
			}
		}
	}
	succeeds, fails := says(metav1.ConditionTrue, "LastBackupSucceeded"), says(metav1.ConditionFalse, "LastBackupFailed")
	runs := says(metav1.ConditionFalse, "BackupStarted")
	unarchived := func(last func(*world)) func(*world) {
		return func(w *world) {
			last(w)
			w.Cluster.Live.Status.Conditions = append(w.Cluster.Live.Status.Conditions, metav1.Condition{
				Type: "ContinuousArchiving", Status: metav1.ConditionFalse, Reason: "ContinuousArchivingFailing", Message: "no answer."})
		}
	}
	condition := func(status metav1.ConditionStatus, reason, message string) *metav1.Condition {
		return &metav1.Condition{
			Type: corev1api.ConditionBackupSucceeded, Status: status, Reason: reason, Message: message, ObservedGeneration: 3,
		}
	}
	succeeded := condition(metav1.ConditionTrue, "LastBackupSucceeded", "The last backup succeeded.")
	failed := condition(metav1.ConditionFalse, "LastBackupFailed",
		"The last backup failed: no space left. See `kubectl dojo backups tokyo -n school`.")
	archiving := condition(metav1.ConditionFalse, "ArchivingFailed",
		"The write-ahead log is not archived: no answer. Until the log is archived, no backup completes, and the log fills the volume. "+
			"See `kubectl logs pg-1 -n school --all-containers`.")
	knowing := func(c *metav1.Condition) func(*corev1api.Dojo) {
		return func(dojo *corev1api.Dojo) {
			before := *c
			before.ObservedGeneration = 2
			dojo.Status.Conditions = []metav1.Condition{before}
		}
	}
	cases := map[string]struct {
		dojo   *corev1api.Dojo
		change func(*world)
		want   *metav1.Condition
	}{
		"no backup yet":                                          {tokyo(ownPG, backedUp), func(*world) {}, nil},
		"the last backup succeeded":                              {tokyo(ownPG, backedUp), succeeds, succeeded},
		"the last backup failed":                                 {tokyo(ownPG, backedUp), fails, failed},
		"the first backup runs":                                  {tokyo(ownPG, backedUp), runs, nil},
		"a backup runs after a success":                          {tokyo(ownPG, backedUp, knowing(succeeded)), runs, succeeded},
		"a backup runs after a failure":                          {tokyo(ownPG, backedUp, knowing(failed)), runs, failed},
		"the log is not archived, no backup yet":                 {tokyo(ownPG, backedUp), unarchived(func(*world) {}), archiving},
		"the log is not archived, the last backup succeeded":     {tokyo(ownPG, backedUp), unarchived(succeeds), archiving},
		"the log is not archived, the last backup failed":        {tokyo(ownPG, backedUp), unarchived(fails), failed},
		"the log is not archived, a backup runs":                 {tokyo(ownPG, backedUp, knowing(succeeded)), unarchived(runs), archiving},
		"the log is not archived, a backup runs after a failure": {tokyo(ownPG, backedUp, knowing(failed)), unarchived(runs), failed},
		"the log is archived again, a backup runs":               {tokyo(ownPG, backedUp, knowing(archiving)), runs, nil},
		"no backup policy":                                       {tokyo(ownPG), fails, nil},
		"no Cluster":                                             {tokyo(ownPG, backedUp), func(w *world) { w.Cluster.Live = nil }, nil},
		"no spec.postgres":                                       {tokyo(), func(*world) {}, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, tokyo(inPG))
			if c.dojo.Spec.Postgres != nil {
				w = inSync(t, c.dojo)
			}
			c.change(w)
			if diff := cmp.Diff(c.want, backup.Condition(c.dojo, w.observe(c.dojo).Cluster.Live)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// If the condition's message were too long, the API server would refuse the whole status.
func TestBackupConditionIsShort(t *testing.T) {
	t.Parallel()
	dojo := tokyo(ownPG, backedUp)
	w := inSync(t, dojo)
	w.Cluster.Live.Status.Conditions = []metav1.Condition{{
		Type: "LastBackupSucceeded", Status: metav1.ConditionFalse, Reason: "LastBackupFailed", Message: strings.Repeat("no ", 10_900),
	}}
	if got := backup.Condition(dojo, w.observe(dojo).Cluster.Live); len(got.Message) > 4096 {
		t.Errorf("a message of %d bytes", len(got.Message))
	}
}

func TestSchedule(t *testing.T) {
	t.Parallel()
	plain := func(dojo *corev1api.Dojo) { dojo.Spec.Postgres.Cluster.Backup = nil }
	cases := map[string]struct {
		before, dojo    *corev1api.Dojo
		change          func(*world)
		writes, deletes []string
	}{
		"in sync": {tokyo(ownPG, backedUp), tokyo(ownPG, backedUp), func(*world) {}, nil, nil},
		"backups added to the spec": {tokyo(ownPG), tokyo(ownPG, backedUp), func(*world) {},
			[]string{"Cluster", "ScheduledBackup"}, nil},
		"backups removed from the spec": {tokyo(ownPG, backedUp), tokyo(ownPG, plain), func(*world) {},
			[]string{"Cluster"}, []string{"ScheduledBackup"}},
		"a user deleted the ScheduledBackup": {tokyo(ownPG, backedUp), tokyo(ownPG, backedUp), func(w *world) { w.Backup.Schedule = nil },
			[]string{"ScheduledBackup"}, nil},
		"ScheduledBackup deleted, the Cluster is down": {tokyo(ownPG, backedUp), tokyo(ownPG, backedUp),
			func(w *world) { w.Backup.Schedule = nil; setReady(w.Cluster.Live, 0) }, nil, nil},
		"in another owner's Cluster": {tokyo(inPG), tokyo(inPG), func(w *world) { w.Backup.Schedule = &cnpgv1.ScheduledBackup{} },
			nil, nil},
		"the ScheduledBackup took the first backup": {tokyo(ownPG, backedUp), tokyo(ownPG, backedUp), scheduled(time.Second), nil, nil},
		"the ScheduledBackup has backed up only a former Cluster": {tokyo(ownPG, backedUp), tokyo(ownPG, backedUp),
			scheduled(-time.Second), []string{"Backup"}, nil},
		"the operator took the first backup": {tokyo(ownPG, backedUp), tokyo(ownPG, backedUp), func(w *world) {
			scheduled(-time.Second)(w)
			w.Backup.First = &cnpgv1.Backup{}
		}, nil, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := inSync(t, c.before)
			c.change(w)
			plan := w.plan(c.dojo).Plan
			if diff := cmp.Diff([][]string{c.writes, c.deletes}, [][]string{kinds(plan), deleted(plan)}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBackupsRecordTheArchiveOfTheCluster(t *testing.T) {
	t.Parallel()
	in := func(server string) func(*corev1api.Dojo) {
		return func(dojo *corev1api.Dojo) {
			dojo.Spec.Postgres.Cluster.Backup = &corev1api.Backup{
				Schedule: "0 2 * * *", Method: corev1api.BackupPlugin, FinalBackup: true,
				Plugin: &corev1api.BackupPluginSpec{Name: "barman", Parameters: map[string]string{"serverName": server}},
			}
		}
	}
	w := inSync(t, tokyo(ownPG, in("of 16")))
	scheduled(-time.Second)(w)
	dojo := tokyo(ownPG, dropping, in("of 17"))
	taken := backup.Plan(dojo, w.Backup, backup.Input{Cluster: w.Cluster.Live}).Apply
	for name, o := range map[string]*apply.Object{
		"the first Backup": taken[len(taken)-1],
		"the final Backup": FinalBackup(dojo, w.observe(dojo), testConfig).Apply[0],
	} {
		got, _, _ := unstructured.NestedString(o.Desired.Object, "spec", "pluginConfiguration", "parameters", "serverName")
		if got != "of 16" {
			t.Errorf("the archive of %s is %q", name, got)
		}
	}
}

func TestTheFirstBackupWaitsForThePlugin(t *testing.T) {
	t.Parallel()
	w := inSync(t, tokyo(ownPG))
	dojo := tokyo(ownPG, func(dojo *corev1api.Dojo) {
		dojo.Spec.Postgres.Cluster.Backup = &corev1api.Backup{
			Schedule: "0 2 * * *", Method: corev1api.BackupPlugin, Plugin: &corev1api.BackupPluginSpec{Name: "barman"},
		}
	})
	loaded := func() {
		w.Cluster.Live.CreationTimestamp = metav1.NewTime(noon.Add(-time.Hour))
		w.Cluster.Live.Status.PluginStatus = []cnpgv1.PluginStatus{{Name: "barman"}}
	}
	for _, step := range []struct {
		name   string
		change func()
		writes []string
	}{
		{"the Cluster gets the plugin", func() {}, []string{"Cluster"}},
		{"before CloudNativePG has loaded the plugin", func() { w.play(); w.Cluster.Live.Status.PluginStatus = nil }, nil},
		{"just after CloudNativePG has loaded the plugin", loaded, nil},
		{"while the pods are replaced", func() {
			w.Now, w.Cluster.Live.Status.Phase = noon.Add(time.Minute), cnpgv1.PhaseUpgrade
		}, nil},
		{"after the pods have been replaced", func() { w.Cluster.Live.Status.Phase = cnpgv1.PhaseHealthy }, []string{"ScheduledBackup"}},
	} {
		step.change()
		db := w.reconcile(dojo)
		if diff := cmp.Diff(step.writes, kinds(db.Plan)); diff != "" {
			t.Errorf("%s: %s", step.name, diff)
		}
		if ends := db.Plan.Issues == nil; ends != (step.name == "after the pods have been replaced") {
			t.Errorf("%s: %+v", step.name, db.Plan.Issues)
		}
	}
}

func scheduled(after time.Duration) func(*world) {
	return func(w *world) {
		w.Cluster.Live.CreationTimestamp = metav1.NewTime(noon)
		w.Backup.Schedule.Status.LastScheduleTime = new(metav1.NewTime(noon.Add(after)))
	}
}

func TestObservedBackups(t *testing.T) {
	t.Parallel()
	backup := func(name, cluster string, phase cnpgv1.BackupPhase, at time.Time) *cnpgv1.Backup {
		b := &cnpgv1.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: name}}
		b.Spec.Cluster.Name, b.Status.Phase = cluster, phase
		b.CreationTimestamp = metav1.NewTime(at)
		return b
	}
	const done, running = cnpgv1.BackupPhaseCompleted, cnpgv1.BackupPhaseRunning
	stopped := backup("stopped", "tokyo-db", done, noon)
	stopped.Status.StoppedAt = &metav1.Time{Time: noon.Add(3 * time.Hour)}
	next := metav1.NewTime(noon.Add(9 * time.Hour))
	known := &corev1api.DatabaseStatus{
		LastBackup: &corev1api.CompletedBackup{Name: "known", Time: next}, NextBackup: &next,
	}
	type result struct {
		Name string
		Time time.Time
		Next bool
	}
	plain := func(dojo *corev1api.Dojo) { dojo.Spec.Postgres.Cluster.Backup = nil }
	cases := map[string]struct {
		dojo    *corev1api.Dojo
		missing []string
		backups []client.Object
		want    result
	}{
		"no Backup": {tokyo(ownPG, backedUp), nil, nil, result{Next: true}},
		"the newest completed Backup": {tokyo(ownPG, backedUp), nil, []client.Object{
			backup("old", "tokyo-db", done, noon), backup("new", "tokyo-db", done, noon.Add(time.Hour)),
			backup("runs", "tokyo-db", running, noon.Add(2*time.Hour)),
		}, result{"new", noon.Add(time.Hour), true}},
		"the Backup that completed last": {tokyo(ownPG, backedUp), nil, []client.Object{
			stopped, backup("new", "tokyo-db", done, noon.Add(time.Hour)),
		}, result{"stopped", noon.Add(3 * time.Hour), true}},
		"a Backup of another Cluster": {tokyo(ownPG, backedUp), nil, []client.Object{backup("theirs", "pg", done, noon)},
			result{Next: true}},
		"a Backup of a former Cluster": {tokyo(ownPG, backedUp), nil, []client.Object{
			backup("former", "tokyo-db", done, noon.Add(-time.Second)),
		}, result{Next: true}},
		"no backup policy": {tokyo(ownPG, plain), nil, []client.Object{stopped}, result{}},
		"Backups cannot be read": {tokyo(ownPG, backedUp, func(dojo *corev1api.Dojo) { dojo.Status.Database = known }), []string{"Backup"}, nil,
			result{"known", next.Time, true}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := State{Missing: c.missing}
			s.Backup.Schedule = &cnpgv1.ScheduledBackup{}
			s.Cluster.Live = &cnpgv1.Cluster{ObjectMeta: metav1.ObjectMeta{
				Namespace: "school", Name: "tokyo-db", CreationTimestamp: metav1.NewTime(noon),
			}}
			s.Backup.Schedule.Status.NextScheduleTime = &next
			if s.readable() {
				must(t, s.Backup.ObserveTaken(t.Context(), readerOf(c.backups, nil), c.dojo, s.Cluster.Live))
			}
			status := Status(c.dojo, s)
			got := result{Next: status.NextBackup != nil}
			if status.LastBackup != nil {
				got.Name, got.Time = status.LastBackup.Name, status.LastBackup.Time.Time
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
