// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"strings"
	"testing"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cluster"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
)

type removal struct {
	Writes, Deletes []string
	Issue           string
}

const deletingDatabase, deletionStalled = "Progressing/DeletingDatabase", "Degraded/DeletionStalled"

const notInstalled = "Degraded/CloudNativePGNotInstalled"

func TestDrop(t *testing.T) {
	t.Parallel()
	noDatabase := func(w *world) { w.Database.Live = nil }
	noRole := func(w *world) { w.Database.Live, w.Login.Logins[owner].Role = nil, nil }
	noCluster := func(w *world) { w.Cluster.Live = nil }
	hibernated := func(w *world) { w.Cluster.Live.Annotations = map[string]string{cnpg.HibernationAnnotation: "on"} }
	overdue := func(o metav1.Object) { o.SetDeletionTimestamp(&metav1.Time{Time: noon.Add(-11 * time.Minute)}) }
	leaving := func(o metav1.Object) { o.SetDeletionTimestamp(&metav1.Time{Time: noon}) }
	nothing := func(w *world) { noRole(w); w.Cluster.Live = nil }
	elsewhere := func(w *world) {
		w.Database.Live.Spec.ClusterRef.Name = "another"
		for l := range w.Login.Logins {
			if role := w.Login.Logins[l].Role; role != nil {
				role.Spec.ClusterRef.Name = "another"
			}
		}
	}
	cases := map[string]struct {
		dojo   *corev1api.Dojo
		change func(*world)
		want   removal
	}{
		"the database is deleted first": {tokyo(inPG, dropping), func(*world) {},
			removal{nil, []string{"Database"}, deletingDatabase}},
		"the role is deleted after the database": {tokyo(inPG, dropping), noDatabase,
			removal{nil, []string{"DatabaseRole"}, deletingDatabase}},
		"another owner's Cluster stays":   {tokyo(inPG, dropping), noRole, removal{}},
		"an own Cluster is deleted first": {tokyo(ownPG, dropping), func(*world) {}, removal{nil, []string{"Cluster"}, deletingDatabase}},
		"the schedule is deleted before an own Cluster": {tokyo(ownPG, dropping, backedUp), func(*world) {},
			removal{nil, []string{"ScheduledBackup"}, deletingDatabase}},
		"the Database is deleted after an own Cluster": {tokyo(ownPG, dropping), noCluster, removal{nil, []string{"Database"}, deletingDatabase}},
		"own Cluster hibernated":                       {tokyo(ownPG, dropping), hibernated, removal{nil, []string{"Cluster"}, deletingDatabase}},
		"another owner's Cluster hibernated":           {tokyo(inPG, dropping), hibernated, removal{nil, nil, "Degraded/ClusterHibernated"}},
		"another owner's Cluster hibernated, database being deleted": {tokyo(inPG, dropping), func(w *world) { hibernated(w); leaving(w.Database.Live) },
			removal{nil, nil, "Degraded/ClusterHibernated"}},
		"all objects are gone":                              {tokyo(ownPG, dropping), nothing, removal{}},
		"CloudNativePG removed":                             {tokyo(ownPG, dropping), removed(), removal{}},
		"CloudNativePG removed, in another owner's Cluster": {tokyo(inPG, dropping), removed(), removal{}},
		"kind Pooler missing":                               {tokyo(ownPG, dropping), without("Pooler"), removal{nil, []string{"Cluster"}, deletingDatabase}},
		"kind DatabaseRole missing": {tokyo(inPG, dropping), without("DatabaseRole"),
			removal{nil, []string{"Database"}, deletingDatabase}},
		"kind DatabaseRole missing, database gone": {tokyo(inPG, dropping), func(w *world) { noDatabase(w); without("DatabaseRole")(w) }, removal{}},
		"kind Database missing, in an own Cluster": {tokyo(ownPG, dropping), without("Database"),
			removal{nil, []string{"Cluster"}, deletingDatabase}},
		"kind Database missing, in another owner's Cluster": {tokyo(inPG, dropping), without("Database"), removal{nil, nil, notInstalled}},
		"kind Database missing, another owner's Cluster gone": {tokyo(inPG, dropping),
			func(w *world) { noRole(w); noCluster(w); without("Database")(w) }, removal{}},
		"kind Cluster missing": {tokyo(ownPG, dropping), without("Cluster"), removal{nil, []string{"Database"}, deletingDatabase}},
		"database being deleted": {tokyo(inPG, dropping), func(w *world) { leaving(w.Database.Live) },
			removal{nil, nil, deletingDatabase}},
		"role being deleted": {tokyo(inPG, dropping), func(w *world) { noDatabase(w); leaving(w.Login.Logins[owner].Role) },
			removal{nil, nil, deletingDatabase}},
		"schedule being deleted": {tokyo(ownPG, dropping, backedUp), func(w *world) { leaving(w.Backup.Schedule) },
			removal{nil, nil, deletingDatabase}},
		"Cluster being deleted": {tokyo(ownPG, dropping), func(w *world) { leaving(w.Cluster.Live) },
			removal{nil, nil, deletingDatabase}},
		"Cluster being deleted for too long": {tokyo(ownPG, dropping), func(w *world) { leaving(w.Cluster.Live); overdue(w.Cluster.Live) },
			removal{nil, nil, deletionStalled}},
		"database being deleted for too long": {tokyo(inPG, dropping), func(w *world) { overdue(w.Database.Live) },
			removal{nil, nil, deletionStalled}},
		"foreign database": {tokyo(inPG, dropping), func(w *world) { w.Database.Live.Labels = nil },
			removal{nil, []string{"DatabaseRole"}, deletingDatabase}},
		"foreign role": {tokyo(inPG, dropping), func(w *world) { noDatabase(w); w.Login.Logins[owner].Role.Labels = nil },
			removal{}},
		"foreign schedule": {tokyo(ownPG, dropping, backedUp), func(w *world) { w.Backup.Schedule.Labels = nil },
			removal{nil, []string{"Cluster"}, deletingDatabase}},
		"foreign Cluster": {tokyo(ownPG, dropping), func(w *world) { noRole(w); w.Cluster.Live.Labels = nil },
			removal{}},
		"a former Dojo's database in another Cluster stays": {tokyo(ownPG, dropping), func(w *world) { noCluster(w); elsewhere(w) },
			removal{}},
		"own Cluster is deleted, a former Dojo's database stays": {tokyo(ownPG, dropping), elsewhere, removal{nil, []string{"Cluster"}, deletingDatabase}},
		"database with the policy retain": {tokyo(inPG, dropping), func(w *world) { w.Database.Live.Spec.ReclaimPolicy = "retain" },
			removal{[]string{"Database"}, nil, deletingDatabase}},
		"role with the policy retain": {tokyo(inPG, dropping),
			func(w *world) { noDatabase(w); w.Login.Logins[owner].Role.Spec.ReclaimPolicy = "retain" },
			removal{[]string{"DatabaseRole"}, nil, deletingDatabase}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := inSync(t, c.dojo)
			c.change(w)
			plan := Drop(c.dojo, w.observe(c.dojo), testConfig)
			if diff := cmp.Diff(c.want, removal{kinds(plan), deleted(plan), worst(plan)}); diff != "" {
				t.Error(diff)
			}
			if len(plan.Issues) > 0 && c.want.Issue == deletingDatabase && plan.Issues[0].RequeueAfter != testConfig.Deadline {
				t.Errorf("the next reconcile is not at the deadline: %+v", plan.Issues[0])
			}
		})
	}
}

func TestDropReportsTheMessageOfCloudNativePG(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change func(*world)
		want   string
	}{
		"no message": {func(*world) {},
			"The Dojo is being deleted with its data. Waiting for the Database tokyo-db to be deleted."},
		"message of the Database": {func(w *world) { w.Database.Live.Status.Message = "it is being accessed by other users" },
			"The Dojo is being deleted with its data. Waiting for the Database tokyo-db to be deleted; " +
				"CloudNativePG reports: it is being accessed by other users."},
		"message of the DatabaseRole": {func(w *world) { w.Database.Live = nil; w.Login.Logins[owner].Role.Status.Message = "it owns objects" },
			"The Dojo is being deleted with its data. Waiting for the DatabaseRole tokyo-db to be deleted; " +
				"CloudNativePG reports: it owns objects."},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dojo := tokyo(inPG, dropping)
			w := inSync(t, dojo)
			c.change(w)
			if diff := cmp.Diff(c.want, Drop(dojo, w.observe(dojo), testConfig).Issues[0].Message); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPendingFinalBackupNamesItsCluster(t *testing.T) {
	t.Parallel()
	dojo := tokyo(ownPG, dropping, backedUp)
	stalled := func(phase string, started bool) string {
		w := inSync(t, dojo)
		w.Cluster.Live.Status.Phase = phase
		at := metav1.NewTime(noon.Add(-24 * time.Hour))
		w.Backup.Final = &cnpgv1.Backup{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: at}}
		if started {
			w.Backup.Final.Status.ReconciliationStartedAt = &at
		}
		return FinalBackup(dojo, w.observe(dojo), testConfig).Issues[0].Message
	}
	const unhealthy = "Waiting for the instances to become active"
	got := stalled(unhealthy, false)
	if !strings.Contains(got, ", which starts when the Cluster tokyo-db is healthy (now: "+unhealthy+"). "+
		"See `kubectl describe clusters.postgresql.cnpg.io tokyo-db -n school`, or set ") {
		t.Error(got)
	}
	for _, other := range []string{stalled(cnpgv1.PhaseHealthy, false), stalled("", false), stalled(unhealthy, true)} {
		if !strings.Contains(other, " to complete. See `kubectl describe backups.postgresql.cnpg.io tokyo-db-final-") {
			t.Error(other)
		}
	}
}

func TestFinalBackupWaitsForAnOlderBackup(t *testing.T) {
	t.Parallel()
	dojo := tokyo(ownPG, dropping, backedUp)
	w := inSync(t, dojo)
	at := metav1.NewTime(noon.Add(-24 * time.Hour))
	older := &cnpgv1.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: "night", CreationTimestamp: at}}
	older.Spec.Cluster.Name, older.Status.Phase = "tokyo-db", cnpgv1.BackupPhasePending
	invalid := older.DeepCopy() // CloudNativePG does not come back to it
	invalid.Name, invalid.Status.Phase = "evening", cnpgv1.BackupPhaseDefinitionInvalid
	w.Backup.Final = &cnpgv1.Backup{ObjectMeta: metav1.ObjectMeta{Name: cnpg.FinalBackupName(dojo), CreationTimestamp: at}}
	s := w.observe(dojo)
	must(t, s.Backup.ObserveTaken(t.Context(), readerOf(reading{invalid, older}, nil), dojo, s.Cluster.Live))
	got := FinalBackup(dojo, s, testConfig).Issues[0].Message
	if !strings.Contains(got, `, which waits for the older Backup night (phase "pending"). If the older Backup does not end, delete it: `+
		"`kubectl delete backups.postgresql.cnpg.io night -n school`, or set spec.postgres.reclaimPolicy to Retain") {
		t.Error(got)
	}
}

func TestFinalBackup(t *testing.T) {
	t.Parallel()
	const taking = "Progressing/TakingFinalBackup"
	phase := func(phase cnpgv1.BackupPhase) func(*world) {
		return func(w *world) {
			w.Backup.Final = &cnpgv1.Backup{Status: cnpgv1.BackupStatus{Phase: phase, Error: "no space left"}}
			w.Backup.Final.CreationTimestamp = metav1.NewTime(noon.Add(-time.Minute))
		}
	}
	since := func(passed time.Duration, started bool) func(*world) {
		return func(w *world) {
			phase(cnpgv1.BackupPhasePending)(w)
			at := metav1.NewTime(noon.Add(-passed))
			w.Backup.Final.CreationTimestamp = at
			if started {
				w.Backup.Final.Status.Phase, w.Backup.Final.Status.ReconciliationStartedAt = cnpgv1.BackupPhaseRunning, &at
			}
		}
	}
	hibernated := func(w *world) { w.Cluster.Live.Annotations = map[string]string{cnpg.HibernationAnnotation: "on"} }
	restored := func(status cnpgv1.ClusterStatus) func(*world) {
		return func(w *world) {
			recovery := &cnpgv1.BootstrapRecovery{Source: "origin"}
			w.Cluster.Live.Spec.Bootstrap, w.Cluster.Live.Status = &cnpgv1.BootstrapConfiguration{Recovery: recovery}, status
		}
	}
	unwanted := func(dojo *corev1api.Dojo) { dojo.Spec.Postgres.Cluster.Backup.FinalBackup = false }
	cases := map[string]struct {
		dojo   *corev1api.Dojo
		change func(*world)
		want   removal
	}{
		"no Backup yet": {tokyo(ownPG, dropping, backedUp), func(*world) {},
			removal{[]string{"Backup"}, nil, taking}},
		"Backup without a status": {tokyo(ownPG, dropping, backedUp), phase(""), removal{nil, nil, taking}},
		"Backup runs": {tokyo(ownPG, dropping, backedUp), phase(cnpgv1.BackupPhaseRunning),
			removal{nil, nil, taking}},
		"Backup failed": {tokyo(ownPG, dropping, backedUp), phase(cnpgv1.BackupPhaseFailed),
			removal{nil, nil, "Degraded/FinalBackupFailed"}},
		"Backup completed": {tokyo(ownPG, dropping, backedUp), phase(cnpgv1.BackupPhaseCompleted), removal{}},
		"Backup definition invalid": {tokyo(ownPG, dropping, backedUp), phase(cnpgv1.BackupPhaseDefinitionInvalid),
			removal{nil, nil, "Degraded/FinalBackupFailed"}},
		"Backup pending":              {tokyo(ownPG, dropping, backedUp), since(9*time.Minute, false), removal{nil, nil, taking}},
		"Backup pending for too long": {tokyo(ownPG, dropping, backedUp), since(11*time.Minute, false), removal{nil, nil, deletionStalled}},
		"Backup runs for an hour":     {tokyo(ownPG, dropping, backedUp), since(time.Hour, true), removal{nil, nil, taking}},
		"Backup runs for a day":       {tokyo(ownPG, dropping, backedUp), since(24*time.Hour, true), removal{nil, nil, deletionStalled}},
		"Cluster hibernated":          {tokyo(ownPG, dropping, backedUp), hibernated, removal{nil, nil, "Degraded/ClusterHibernated"}},
		"Cluster still resumes from a hibernation": {tokyo(ownPG, dropping, backedUp), func(w *world) { w.hibernated() },
			removal{nil, nil, taking}},
		"a restore in place has failed": {tokyo(ownPG, dropping, backedUp),
			restored(cnpgv1.ClusterStatus{Phase: cnpgv1.PhaseUnrecoverable}), removal{}},
		"a restore in place runs": {tokyo(ownPG, dropping, backedUp),
			restored(cnpgv1.ClusterStatus{Phase: cnpgv1.PhaseFirstPrimary}), removal{}},
		"restored in place long ago": {tokyo(ownPG, dropping, backedUp),
			restored(cnpgv1.ClusterStatus{Phase: cnpgv1.PhaseUnrecoverable, CurrentPrimary: "tokyo-db-1"}),
			removal{[]string{"Backup"}, nil, taking}},
		"restored in place long ago, the Cluster's status is lost": {tokyo(ownPG, dropping, backedUp),
			restored(cnpgv1.ClusterStatus{}), removal{[]string{"Backup"}, nil, taking}},
		"no final backup in the spec": {tokyo(ownPG, dropping, backedUp, unwanted), func(*world) {}, removal{}},
		"no backups in the spec":      {tokyo(ownPG, dropping), func(*world) {}, removal{}},
		"in another owner's Cluster":  {tokyo(inPG, dropping), func(*world) {}, removal{}},
		"no Cluster":                  {tokyo(ownPG, dropping, backedUp), func(w *world) { w.Cluster.Live = nil }, removal{}},
		"foreign Cluster": {tokyo(ownPG, dropping, backedUp), func(w *world) { w.Cluster.Live.Labels = nil },
			removal{nil, nil, "Degraded/FinalBackupFailed"}},
		"foreign Cluster, foreign database": {tokyo(ownPG, dropping, backedUp),
			func(w *world) { w.Cluster.Live.Labels, w.Database.Live.Labels = nil, nil }, removal{}},
		"foreign Cluster, final Backup completed": {tokyo(ownPG, dropping, backedUp),
			func(w *world) { phase(cnpgv1.BackupPhaseCompleted)(w); w.Cluster.Live.Labels = nil }, removal{}},
		"foreign Cluster, no final backup in the spec": {tokyo(ownPG, dropping, backedUp, unwanted),
			func(w *world) { w.Cluster.Live.Labels = nil }, removal{}},
		"Cluster being deleted": {tokyo(ownPG, dropping, backedUp),
			func(w *world) { w.Cluster.Live.DeletionTimestamp = &metav1.Time{Time: noon} },
			removal{}},
		"CloudNativePG removed": {tokyo(ownPG, dropping, backedUp), removed(), removal{}},
		"kinds Pooler and DatabaseRole missing": {tokyo(ownPG, dropping, backedUp), without("Pooler", "DatabaseRole"),
			removal{[]string{"Backup"}, nil, taking}},
		"kind Backup missing":                              {tokyo(ownPG, dropping, backedUp), without("Backup"), removal{nil, nil, notInstalled}},
		"kind Backup missing, no final backup in the spec": {tokyo(ownPG, dropping, backedUp, unwanted), without("Backup"), removal{}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := inSync(t, c.dojo)
			c.change(w)
			plan := FinalBackup(c.dojo, w.observe(c.dojo), testConfig)
			if diff := cmp.Diff(c.want, removal{kinds(plan), deleted(plan), worst(plan)}); diff != "" {
				t.Error(diff)
			}
			for _, o := range plan.Apply {
				if o.Name != cnpg.FinalBackupName(c.dojo) || o.Live != nil {
					t.Errorf("writes %v over %v", o.Key, o.Live)
				}
			}
		})
	}
	dojo := tokyo(ownPG, dropping, backedUp)
	w := inSync(t, dojo)
	phase(cnpgv1.BackupPhaseFailed)(w)
	name := cnpg.FinalBackupName(dojo)
	want := "The Backup " + name + " has failed: no space left. No data is deleted. " +
		"To retry, delete the Backup: `kubectl delete backups.postgresql.cnpg.io " + name + " -n school`. " +
		"Or set spec.postgres.reclaimPolicy to Retain, which keeps the data. " +
		"To delete without a final backup, set spec.postgres.cluster.backup.finalBackup to false. The data since the last backup is then lost."
	if diff := cmp.Diff(want, FinalBackup(dojo, w.observe(dojo), testConfig).Issues[0].Message); diff != "" {
		t.Error(diff)
	}
}

func TestFinalBackupNamesDifferBetweenDojosOfOneName(t *testing.T) {
	t.Parallel()
	former := tokyo(func(dojo *corev1api.Dojo) { dojo.UID = "the former" })
	if cnpg.FinalBackupName(tokyo()) == cnpg.FinalBackupName(former) {
		t.Errorf("both are %s", cnpg.FinalBackupName(former))
	}
}

func TestReclaims(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dojo *corev1api.Dojo
		want bool
	}{"no database": {tokyo(), false}, "retained": {tokyo(inPG), false}, "deleted": {tokyo(inPG, dropping), true}} {
		if got := cnpg.Reclaims(c.dojo); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Other Dojos, retained Databases and a user's own Databases prevent the deletion.
func TestInUse(t *testing.T) {
	t.Parallel()
	leaving := func(dojo *corev1api.Dojo) { dojo.DeletionTimestamp = &metav1.Time{Time: noon} }
	guest := func(name, cluster string) *corev1api.Dojo {
		return tokyo(named(name), inPG, func(dojo *corev1api.Dojo) { dojo.Spec.Postgres.ClusterRef.Name = cluster })
	}
	database := func(name, cluster string) *cnpgv1.Database {
		db := &cnpgv1.Database{ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: name}}
		db.Spec.ClusterRef.Name = cluster
		return db
	}
	all := []client.Object{
		guest("kyoto", "tokyo-db"), database("kyoto-db", "tokyo-db"), guest("osaka", "pg"), database("osaka-db", "pg"),
		database("reports", "tokyo-db"), database("tokyo-db", "tokyo-db"), tokyo(ownPG), tokyo(named("nara")),
	}
	left := database("left-db", "tokyo-db")
	left.Labels = ownership.ManagedLabels()
	asleep := guest("nagoya", "tokyo-db")
	suspended(asleep)
	ending, staying := guest("sendai", "tokyo-db"), guest("kobe", "tokyo-db")
	suspended(ending)
	suspended(staying)
	leaving(ending)
	leaving(staying)
	dropping(ending)
	all = append(all, left, asleep, ending, staying)
	users := []string{"Database reports", "Dojo kyoto", "Dojo sendai"}
	others := []string{"Database left-db", "Database reports", "Dojo kobe", "Dojo kyoto", "Dojo nagoya", "Dojo sendai"}
	for name, c := range map[string]struct {
		dojo *corev1api.Dojo
		want []string
	}{
		"being deleted":                             {tokyo(ownPG, dropping, leaving), others},
		"suspended":                                 {tokyo(ownPG, suspended), users},
		"suspended, being deleted with Retain":      {tokyo(ownPG, suspended, leaving), nil},
		"suspended, in another owner's Cluster":     {tokyo(inPG, suspended), nil},
		"being deleted, with Retain":                {tokyo(ownPG, leaving), nil},
		"not being deleted":                         {tokyo(ownPG, dropping), nil},
		"being deleted, in another owner's Cluster": {tokyo(inPG, dropping, leaving), nil},
	} {
		var s State
		var err error
		s.Cluster.Others, _, err = cluster.ObserveOthers(t.Context(), readerOf(all, nil), c.dojo, true)
		must(t, err)
		if diff := cmp.Diff(c.want, s.Cluster.Others); diff != "" {
			t.Error(name, diff)
		}
	}
	dojo := tokyo(ownPG, dropping)
	w := inSync(t, dojo)
	if issue := InUse(dojo, w.observe(dojo)); issue != nil {
		t.Errorf("without other users: %s", issue.Message)
	}
	w.Cluster.Others = users
	want := "The Dojo is being deleted with its Cluster tokyo-db, but others use the Cluster: Database reports, Dojo kyoto, Dojo sendai. " +
		"Nothing is deleted while they use the Cluster. To keep the Cluster instead: `kubectl patch dojos.core.jutsu.com tokyo -n school " +
		`--type=merge -p '{"spec":{"postgres":{"reclaimPolicy":"Retain"}}}'` + "`."
	if issue := InUse(dojo, w.observe(dojo)); issue == nil || issue.Message != want || !issue.IsDegraded() {
		t.Errorf("%+v", issue)
	}
	w.Cluster.Live.Labels = nil
	if issue := InUse(dojo, w.observe(dojo)); issue != nil {
		t.Errorf("a foreign Cluster stays anyway: %s", issue.Message)
	}
}

func TestKeep(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		dojo   *corev1api.Dojo
		change func(*world)
		want   removal
	}{
		"all objects": {tokyo(inPG), func(*world) {},
			removal{[]string{"Database", "DatabaseRole", "Secret"}, nil, deletingDatabase}},
		"Cluster gone": {tokyo(inPG), func(w *world) { w.Cluster.Live = nil },
			removal{[]string{"Database", "DatabaseRole", "Secret"}, nil, deletingDatabase}},
		"no Secret": {tokyo(inPG), func(w *world) { w.secrets[owner] = nil },
			removal{[]string{"Database", "DatabaseRole"}, nil, deletingDatabase}},
		"a foreign database": {tokyo(inPG), func(w *world) { w.Database.Live.Labels = nil },
			removal{[]string{"DatabaseRole", "Secret"}, nil, deletingDatabase}},
		"reclaimPolicy Delete": {tokyo(inPG, dropping), func(*world) {}, removal{}},
		"no spec.postgres":     {tokyo(), func(*world) {}, removal{}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := inSync(t, tokyo(inPG, dropping))
			c.change(w)
			plan := Keep(c.dojo, w.observe(c.dojo))
			if diff := cmp.Diff(c.want, removal{kinds(plan), deleted(plan), worst(plan)}); diff != "" {
				t.Error(diff)
			}
			if c.want.Writes != nil && Kept(c.dojo, w.observe(c.dojo)) {
				t.Error("Kept is true before the objects are written")
			}
		})
	}
	w := inSync(t, tokyo(inPG))
	if !Kept(tokyo(inPG), w.observe(tokyo(inPG))) || Kept(tokyo(inPG, dropping), w.observe(tokyo(inPG, dropping))) {
		t.Error("Kept is false with the policy Retain, or true with Delete")
	}
	w.Unreadable = &cnpg.DatabaseKind
	if Kept(tokyo(inPG), w.observe(tokyo(inPG))) {
		t.Error("Kept is true while a kind is unreadable")
	}
}

func TestUnreadableKinds(t *testing.T) {
	t.Parallel()
	const object = "CustomResourceDefinition databases.postgresql.cnpg.io"
	for want, dojo := range map[string]*corev1api.Dojo{
		"Progressing": tokyo(inPG), "Degraded": tokyo(inPG, waitingFor(object, time.Hour)),
	} {
		issue := Unreadable(dojo, State{Now: noon, Unreadable: &cnpg.DatabaseKind}, testConfig)
		if issue == nil || issue.Type != want || issue.Reason != "CloudNativePGNotReadable" || issue.WaitingFor != object {
			t.Errorf("%+v", issue)
		}
	}
	if issue := Unreadable(tokyo(inPG), State{Now: noon}, testConfig); issue != nil {
		t.Errorf("%+v", issue)
	}
}
