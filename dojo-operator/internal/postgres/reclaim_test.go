package postgres

import (
	"testing"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
)

type removal struct {
	Writes, Deletes []string
	Issue           string
}

const deletingDatabase = "Progressing/DeletingDatabase"

func TestDrop(t *testing.T) {
	t.Parallel()
	noDatabase := func(w *world) { w.Database = nil }
	noRole := func(w *world) { w.Database, w.Role = nil, nil }
	leaving := func(o metav1.Object) { o.SetDeletionTimestamp(&metav1.Time{Time: noon}) }
	nothing := func(w *world) { noRole(w); w.Cluster = nil }
	cases := map[string]struct {
		dojo   *corev1api.Dojo
		change func(*world)
		want   removal
	}{
		"first the database": {tokyo(inPG, dropping), func(*world) {},
			removal{nil, []string{"Database"}, deletingDatabase}},
		"then the role": {tokyo(inPG, dropping), noDatabase,
			removal{nil, []string{"DatabaseRole"}, deletingDatabase}},
		"not a Cluster of others": {tokyo(inPG, dropping), noRole, removal{}},
		"then its own Cluster":    {tokyo(ownPG, dropping), noRole, removal{nil, []string{"Cluster"}, deletingDatabase}},
		"but the schedule before": {tokyo(ownPG, dropping, backedUp), noRole,
			removal{nil, []string{"ScheduledBackup"}, deletingDatabase}},
		"all are gone":          {tokyo(ownPG, dropping), nothing, removal{}},
		"CloudNativePG removed": {tokyo(ownPG, dropping), func(w *world) { w.Missing = "Cluster" }, removal{}},
		"database being deleted": {tokyo(inPG, dropping), func(w *world) { leaving(w.Database) },
			removal{nil, nil, deletingDatabase}},
		"role being deleted": {tokyo(inPG, dropping), func(w *world) { noDatabase(w); leaving(w.Role) },
			removal{nil, nil, deletingDatabase}},
		"schedule being deleted": {tokyo(ownPG, dropping, backedUp), func(w *world) { noRole(w); leaving(w.Schedule) },
			removal{nil, nil, deletingDatabase}},
		"Cluster being deleted": {tokyo(ownPG, dropping), func(w *world) { noRole(w); leaving(w.Cluster) },
			removal{nil, nil, deletingDatabase}},
		"foreign database": {tokyo(inPG, dropping), func(w *world) { w.Database.Labels = nil },
			removal{nil, []string{"DatabaseRole"}, deletingDatabase}},
		"foreign role": {tokyo(inPG, dropping), func(w *world) { noDatabase(w); w.Role.Labels = nil },
			removal{}},
		"foreign schedule": {tokyo(ownPG, dropping, backedUp), func(w *world) { noRole(w); w.Schedule.Labels = nil },
			removal{nil, []string{"Cluster"}, deletingDatabase}},
		"foreign Cluster": {tokyo(ownPG, dropping), func(w *world) { noRole(w); w.Cluster.Labels = nil },
			removal{}},
		"database with a former policy": {tokyo(inPG, dropping), func(w *world) { w.Database.Spec.ReclaimPolicy = "retain" },
			removal{[]string{"Database"}, nil, deletingDatabase}},
		"role with a former policy": {tokyo(inPG, dropping),
			func(w *world) { noDatabase(w); w.Role.Spec.ReclaimPolicy = "retain" },
			removal{[]string{"DatabaseRole"}, nil, deletingDatabase}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := inSync(t, c.dojo)
			c.change(w)
			plan := Drop(c.dojo, w.observe(c.dojo))
			if diff := cmp.Diff(c.want, removal{kinds(plan), deleted(plan), worst(plan)}); diff != "" {
				t.Error(diff)
			}
			if len(plan.Issues) > 0 && plan.Issues[0].RequeueAfter != time.Second {
				t.Errorf("no event shows the end of a pod: %+v", plan.Issues[0])
			}
		})
	}
}

func TestDropReportsWhatCloudNativePGSays(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change func(*world)
		want   string
	}{
		"nothing": {func(*world) {},
			"The Dojo is being deleted with its data. Waiting for the Database tokyo-db to be deleted."},
		"about the database": {func(w *world) { w.Database.Status.Message = "it is being accessed by other users" },
			"The Dojo is being deleted with its data. Waiting for the Database tokyo-db to be deleted; " +
				"CloudNativePG reports: it is being accessed by other users."},
		"about the role": {func(w *world) { w.Database = nil; w.Role.Status.Message = "it owns objects" },
			"The Dojo is being deleted with its data. Waiting for the DatabaseRole tokyo-db to be deleted; " +
				"CloudNativePG reports: it owns objects."},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := tokyo(inPG, dropping)
			w := inSync(t, d)
			c.change(w)
			if diff := cmp.Diff(c.want, Drop(d, w.observe(d)).Issues[0].Message); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFinalBackup(t *testing.T) {
	t.Parallel()
	const taking = "Progressing/TakingFinalBackup"
	phase := func(phase cnpgv1.BackupPhase) func(*world) {
		return func(w *world) {
			w.FinalBackup = &cnpgv1.Backup{Status: cnpgv1.BackupStatus{Phase: phase, Error: "no space left"}}
		}
	}
	unwanted := func(d *corev1api.Dojo) { d.Spec.Postgres.Cluster.Backup.FinalBackup = false }
	cases := map[string]struct {
		dojo   *corev1api.Dojo
		change func(*world)
		want   removal
	}{
		"wanted": {tokyo(ownPG, dropping, backedUp), func(*world) {},
			removal{[]string{"Backup"}, nil, taking}},
		"not looked at": {tokyo(ownPG, dropping, backedUp), phase(""), removal{nil, nil, taking}},
		"under way": {tokyo(ownPG, dropping, backedUp), phase(cnpgv1.BackupPhaseRunning),
			removal{nil, nil, taking}},
		"failed": {tokyo(ownPG, dropping, backedUp), phase(cnpgv1.BackupPhaseFailed),
			removal{nil, nil, "Degraded/FinalBackupFailed"}},
		"completed":              {tokyo(ownPG, dropping, backedUp), phase(cnpgv1.BackupPhaseCompleted), removal{}},
		"not wanted":             {tokyo(ownPG, dropping, backedUp, unwanted), func(*world) {}, removal{}},
		"no backups":             {tokyo(ownPG, dropping), func(*world) {}, removal{}},
		"in a Cluster of others": {tokyo(inPG, dropping), func(*world) {}, removal{}},
		"no Cluster":             {tokyo(ownPG, dropping, backedUp), func(w *world) { w.Cluster = nil }, removal{}},
		"foreign Cluster":        {tokyo(ownPG, dropping, backedUp), func(w *world) { w.Cluster.Labels = nil }, removal{}},
		"Cluster being deleted": {tokyo(ownPG, dropping, backedUp),
			func(w *world) { w.Cluster.DeletionTimestamp = &metav1.Time{Time: noon} },
			removal{}},
		"CloudNativePG removed": {tokyo(ownPG, dropping, backedUp), func(w *world) { w.Missing = "Cluster" }, removal{}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := inSync(t, c.dojo)
			c.change(w)
			plan := FinalBackup(c.dojo, w.observe(c.dojo))
			if diff := cmp.Diff(c.want, removal{kinds(plan), deleted(plan), worst(plan)}); diff != "" {
				t.Error(diff)
			}
			for _, o := range plan.Apply {
				if o.Name != finalBackupName(c.dojo) || o.Live != nil {
					t.Errorf("writes %v over %v", o.Key, o.Live)
				}
			}
		})
	}
	d := tokyo(ownPG, dropping, backedUp)
	w := inSync(t, d)
	phase(cnpgv1.BackupPhaseFailed)(w)
	name := finalBackupName(d)
	want := "The Backup " + name + " has failed, so nothing is deleted: no space left. " +
		"Retry it with `kubectl delete backup " + name + "`; " +
		"without spec.postgres.cluster.backup.finalBackup the data is deleted without a backup."
	if diff := cmp.Diff(want, FinalBackup(d, w.observe(d)).Issues[0].Message); diff != "" {
		t.Error(diff)
	}
}

// The Backup of a former Dojo of the same name may still exist, and does not count.
func TestFinalBackupIsOfThisDojo(t *testing.T) {
	t.Parallel()
	former := tokyo(func(d *corev1api.Dojo) { d.UID = "the former" })
	if finalBackupName(tokyo()) == finalBackupName(former) {
		t.Errorf("both are %s", finalBackupName(former))
	}
}

func TestReclaims(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dojo *corev1api.Dojo
		want bool
	}{"no database": {tokyo(), false}, "retained": {tokyo(inPG), false}, "deleted": {tokyo(inPG, dropping), true}} {
		if got := Reclaims(c.dojo); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
