// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"slices"
	"strings"
	"testing"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/bootstrap"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
)

func restoring(dojo *corev1api.Dojo) {
	dojo.Spec.Postgres.Cluster.Bootstrap = &corev1api.Bootstrap{Recovery: &corev1api.Recovery{
		ObjectStore: &corev1api.RecoveryObjectStore{
			Plugin: corev1api.RecoveryPlugin{Name: "barman", Parameters: map[string]string{"barmanObjectName": "store"}}, ServerName: "kyoto-db",
		},
		Database: "dojo_school_kyoto",
	}}
}

func fromBackup(dojo *corev1api.Dojo) {
	dojo.Spec.Postgres.Cluster.Bootstrap = &corev1api.Bootstrap{Recovery: &corev1api.Recovery{
		Backup: &corev1api.BackupReference{Name: "nightly"},
	}}
}

func importing(dojo *corev1api.Dojo) {
	dojo.Spec.Postgres.Cluster.Bootstrap = &corev1api.Bootstrap{Import: &corev1api.Import{
		SourceSecretRef: corev1api.ImportSource{Name: "legacy"},
	}}
}

var legacy = &corev1.Secret{
	ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: "legacy"}, Data: map[string][]byte{
		"host": []byte("h"), "port": []byte("1"), "dbname": []byte("d"), "user": []byte("u"), "password": []byte("p"),
	},
}

// The operator writes the Database only after it has found the database in the restored data.
func TestStepsOfABootstrap(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dojo *corev1api.Dojo
		want []string
	}{
		"restored": {tokyo(ownPG, restoring), []string{
			"Cluster: Progressing/WaitingForCluster", "Secret DatabaseRole: Progressing/CreatingRole",
			"Job: Progressing/ApplyingSchema", "Database: Progressing/CreatingDatabase",
			"deletes a Job: Progressing/ApplyingSchema", "Job: Progressing/ApplyingSchema", "Database: ",
		}},
		"imported": {tokyo(ownPG, importing), []string{
			"Cluster: Progressing/WaitingForCluster", "Secret DatabaseRole: Progressing/CreatingRole",
			"Database: Progressing/CreatingDatabase", "Job: Progressing/ApplyingSchema", "Database: ",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.dojo)
			w.Bootstrap.Secret = legacy
			var got []string
			for range len(c.want) {
				w.play()
				db := w.reconcile(c.dojo)
				writes := kinds(db.Plan)
				if db.Plan.Delete != nil {
					writes = append(writes, "deletes a "+db.Plan.Delete[0].Kind)
					w.deleteJobs(db)
				}
				got = append(got, strings.Join(writes, " ")+": "+worst(db.Plan))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			w.play()
			if again := w.plan(c.dojo).Plan; again.Apply != nil || again.Issues != nil {
				t.Errorf("the database is not in sync: %v %v", kinds(again), again.Issues)
			}
			if origin := Status(c.dojo, w.State).Origin; origin != bootstrap.Origin(c.dojo) {
				t.Errorf("the origin is %q", origin)
			}
		})
	}
}

// The operator deletes a deleted Dojo's DatabaseRole if the backup has another name for the role.
func TestFormerRolesWithOtherNames(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change  func(*cnpgv1.DatabaseRole)
		deletes []string
		issue   string
	}{
		"the role is replaced": {func(*cnpgv1.DatabaseRole) {}, []string{"DatabaseRole"}, "Progressing/CreatingRole"},
		"the role is being deleted": {func(r *cnpgv1.DatabaseRole) { r.DeletionTimestamp = &metav1.Time{Time: noon} }, nil,
			"Progressing/CreatingRole"},
		"a role with the policy delete stays": {func(r *cnpgv1.DatabaseRole) { r.Spec.ReclaimPolicy = "delete" }, nil,
			"Progressing/CreatingRole"},
		"another owner's role stays": {func(r *cnpgv1.DatabaseRole) { r.Labels = nil }, nil, "Degraded/NameConflict"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dojo := tokyo(ownPG, restoring)
			w := inSync(t, tokyo(ownPG))
			w.Database.Live, w.jobs, w.source = nil, nil, ""
			w.Cluster.Live.Annotations = map[string]string{corev1api.OriginAnnotation: bootstrap.Origin(dojo)}
			c.change(w.Login.Logins[owner].Role)
			plan := w.reconcile(dojo).Plan
			if diff := cmp.Diff(c.deletes, deleted(plan)); diff != "" || worst(plan) != c.issue {
				t.Errorf("%s, deletes %s", worst(plan), diff)
			}
			if c.deletes == nil {
				return
			}
			w.Login.Logins[owner].Role = nil
			w.play()
			if got := w.reconcile(dojo).Plan; strings.Join(kinds(got), " ") != "Secret DatabaseRole" {
				t.Errorf("writes %v", kinds(got))
			}
			if user := string(w.secrets[owner].Data["user"]); user != "dojo_school_kyoto" ||
				w.Login.Logins[owner].Role.Spec.Name != user {
				t.Errorf("the password is of %s, and the role %s", user, w.Login.Logins[owner].Role.Spec.Name)
			}
		})
	}
}

func TestPlanOfABootstrap(t *testing.T) {
	t.Parallel()
	filling := func(w *world) {
		w.Database.Live, w.Cluster.Live.Status = nil, cnpgv1.ClusterStatus{Phase: cnpgv1.PhaseFirstPrimary}
	}
	failing := func(w *world) {
		filling(w)
		w.Bootstrap.Job = &batchv1.Job{Status: batchv1.JobStatus{Failed: 1}}
	}
	lost := func(w *world) { w.Cluster.Live = nil }
	hadCluster := func(dojo *corev1api.Dojo) { dojo.Status.Database = &corev1api.DatabaseStatus{ClusterUID: "uid"} }
	accepted := func(dojo *corev1api.Dojo) {
		dojo.Annotations = map[string]string{corev1api.RecreateDatabaseAnnotation: "uid"}
	}
	for name, c := range map[string]struct {
		dojo   *corev1api.Dojo
		change func(*world)
		want   string
	}{
		"in sync":        {tokyo(ownPG, restoring), func(*world) {}, ": "},
		"being restored": {tokyo(ownPG, restoring), filling, ": Progressing/Restoring"},
		"being imported": {tokyo(ownPG, importing), filling, ": Progressing/Importing"},
		"restore failed": {tokyo(ownPG, restoring), failing, ": Degraded/RestoreFailed"},
		"import failed":  {tokyo(ownPG, importing), failing, ": Degraded/ImportFailed"},
		"primary lost after the restore": {tokyo(ownPG, restoring), func(w *world) { setReady(w.Cluster.Live, 0) },
			": Progressing/WaitingForCluster"},
		"another origin": {tokyo(ownPG, restoring), func(w *world) {
			w.Cluster.Live.Annotations[corev1api.OriginAnnotation] = "Backup of yesterday"
			w.Cluster.Live.Spec.Instances = 1
		}, ": Degraded/OriginMismatch"},
		"Cluster lost": {tokyo(ownPG, restoring, hadCluster), lost, ": Degraded/DatabaseLost"},
		"Cluster lost, credentials in use": {tokyo(ownPG, restoring, hadCluster), func(w *world) {
			w.Cluster.Live, w.Database.Live, w.source = nil, nil, "tokyo-db"
		}, ": Degraded/DatabaseLost"},
		"restored Cluster lost, loss accepted": {tokyo(ownPG, restoring, hadCluster, accepted), lost, "deletes a Database: Progressing/Restoring"},
		"imported Cluster lost, loss accepted": {tokyo(ownPG, importing, hadCluster, accepted), lost,
			"Cluster: Progressing/WaitingForCluster"},
		"a former Dojo's Database exists": {tokyo(ownPG, restoring), lost, "deletes a Database: Progressing/Restoring"},
		"a former Dojo's Database is being deleted": {tokyo(ownPG, restoring), func(w *world) {
			lost(w)
			w.Database.Live.DeletionTimestamp = &metav1.Time{Time: noon}
		}, ": Progressing/Restoring"},
		"no Backup after an hour": {tokyo(ownPG, fromBackup, waitingFor("Backup school/nightly", time.Hour)), func(w *world) {
			w.Cluster.Live, w.Database.Live, w.Bootstrap.Backup = nil, nil, nil
		}, ": Degraded/BackupNotUsable"},
		"no Secret yet": {tokyo(ownPG, importing), func(w *world) {
			w.Cluster.Live, w.Database.Live, w.Bootstrap.Secret = nil, nil, nil
		}, ": Progressing/WaitingForCredentials"},
		"suspended while the Cluster is restored": {tokyo(ownPG, restoring, suspended), filling, "Cluster: Progressing/Suspending"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := c.dojo.DeepCopy()
			before.Annotations, before.Status, before.Spec.Suspend = nil, corev1api.DojoStatus{}, false
			w := newWorld(t, before)
			w.Bootstrap = bootstrap.State{Secret: legacy, Backup: &cnpgv1.Backup{
				Spec: cnpgv1.BackupSpec{Method: cnpgv1.BackupMethodPlugin, PluginConfiguration: &cnpgv1.BackupPluginConfiguration{
					Parameters: map[string]string{"a": "b"},
				}},
				Status: cnpgv1.BackupStatus{Phase: cnpgv1.BackupPhaseCompleted, BackupID: "id"},
			}}
			for range 10 {
				w.play()
				w.deleteJobs(w.reconcile(before))
			}
			if c.dojo.Spec.Suspend {
				w.Application.Stopped = true
			}
			c.change(w)
			plan := w.plan(c.dojo).Plan
			writes := kinds(plan)
			for _, d := range plan.Delete {
				writes = append(writes, "deletes a "+d.Kind)
			}
			if got := strings.Join(writes, " ") + ": " + worst(plan); got != c.want {
				t.Errorf("%s: %+v", got, plan.Issues)
			}
		})
	}
}

func TestDeletionOfARestoredDojo(t *testing.T) {
	t.Parallel()
	dojo := tokyo(ownPG, backedUp, dropping, restoring)
	for name, c := range map[string]struct {
		origin, primary string
		want            string
	}{
		"after the data is restored":  {bootstrap.Origin(dojo), "pg-1", "a backup, then the Cluster"},
		"before the data is restored": {bootstrap.Origin(dojo), "", "the Cluster"},
		"another origin":              {"Backup of yesterday", "pg-1", ""},
	} {
		w := newWorld(t, dojo)
		w.reconcile(dojo)
		w.play()
		w.Cluster.Live.Annotations[corev1api.OriginAnnotation], w.Cluster.Live.Status.CurrentPrimary = c.origin, c.primary
		var got []string
		if FinalBackup(dojo, w.State, testConfig).Apply != nil {
			got = append(got, "a backup")
		}
		if p := Drop(dojo, w.State, testConfig); p.Delete != nil {
			got = append(got, "the "+p.Delete[0].Kind)
		}
		if got := strings.Join(got, ", then "); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
	dojo.Spec.Suspend = true
	w := newWorld(t, dojo)
	w.Cluster.Live = &cnpgv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: "tokyo-db"}}
	w.Cluster.Live.Labels = ownership.Labels(dojo, ownership.Application)
	if db := w.plan(dojo); db.Plan.Apply != nil || worst(db.Plan) != "Degraded/OriginMismatch" {
		t.Errorf("suspended: %v %s", kinds(db.Plan), worst(db.Plan))
	}
}

// A restored owner keeps its name. If that begins with "dojo_", the second login keeps its own too.
func TestRestoredNames(t *testing.T) {
	t.Parallel()
	named := func(database string) *corev1api.Dojo {
		return tokyo(ownPG, restoring, func(dojo *corev1api.Dojo) { dojo.BootstrapSource().Recovery.Database = database })
	}
	long, original := "dojo_"+strings.Repeat("a", 58), tokyo()
	original.Name = strings.Repeat("a-", 30)
	for database, want := range map[string][2]string{
		"":                  {"dojo_school_tokyo", "dojo2_school_tokyo"},
		"dojo_school_kyoto": {"dojo_school_kyoto", "dojo2_school_kyoto"},
		"weapons":           {"weapons", "dojo2_school_tokyo"},
		long:                {long, "dojo2_" + strings.Repeat("a", 48) + "_" + cnpg.ShortHash(long)},
		// These names are shortened, and end with the same hash.
		owner.SQLName(original): {owner.SQLName(original), second.SQLName(original)},
	} {
		dojo := named(database)
		if got := [2]string{owner.SQLName(dojo), second.SQLName(dojo)}; got != want || len(got[1]) > 63 {
			t.Errorf("%q: %v", database, got)
		}
	}
	jobs := []string{"tokyo-db-1-full-recovery", "tokyo-db-1-snapshot-recovery"}
	for dojo, want := range map[*corev1api.Dojo][]string{
		named(""): jobs, tokyo(ownPG, fromBackup): append(jobs, "nightly"), tokyo(ownPG, importing): {"tokyo-db-1-import", "legacy"},
	} {
		names := cnpg.References(dojo)
		if diff := cmp.Diff(want, names[slices.Index(names, "tokyo-db-primary")+1:]); diff != "" {
			t.Error(diff)
		}
	}
}

// The operator reads the Job that fills a Cluster, also if `kubectl dojo restore` created the Cluster.
func TestJobsOfRestores(t *testing.T) {
	t.Parallel()
	job := func(name string) *batchv1.Job {
		return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: name, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: cnpgv1.SchemeGroupVersion.String(), Kind: cnpgv1.ClusterKind, Name: "tokyo-db", UID: "live", Controller: new(true)},
		}}}
	}
	r := readerOf(objects(job("tokyo-db-1-full-recovery"), job("tokyo-db-1-snapshot-recovery"), job("tokyo-db-1-import")), nil)
	archive, snapshot := &cnpgv1.BootstrapRecovery{Source: "origin"}, &cnpgv1.BootstrapRecovery{}
	for name, c := range map[string]struct {
		dojo     *corev1api.Dojo
		recovery *cnpgv1.BootstrapRecovery
		primary  string
		uid      types.UID
		want     string
	}{
		"an empty Cluster":              {tokyo(ownPG), nil, "", "live", ""},
		"restored in place":             {tokyo(ownPG), archive, "", "live", "tokyo-db-1-full-recovery"},
		"a snapshot, restored in place": {tokyo(ownPG), snapshot, "", "live", "tokyo-db-1-snapshot-recovery"},
		"restored long ago":             {tokyo(ownPG), archive, "tokyo-db-1", "live", ""},
		"bootstrap":                     {tokyo(ownPG, restoring), archive, "", "live", "tokyo-db-1-full-recovery"},
		"import":                        {tokyo(ownPG, importing), nil, "", "live", "tokyo-db-1-import"},
		"import, restored in place":     {tokyo(ownPG, importing), archive, "", "live", "tokyo-db-1-full-recovery"},
		"the Job of a former Cluster":   {tokyo(ownPG), archive, "", "new", ""},
	} {
		live := &cnpgv1.Cluster{ObjectMeta: metav1.ObjectMeta{UID: c.uid}, Status: cnpgv1.ClusterStatus{CurrentPrimary: c.primary}}
		if c.recovery != nil {
			live.Spec.Bootstrap = &cnpgv1.BootstrapConfiguration{Recovery: c.recovery}
		}
		s, err := bootstrap.Observe(t.Context(), r, c.dojo, live)
		if got := s.Job; err != nil || (got != nil) != (c.want != "") || got != nil && got.Name != c.want {
			t.Errorf("%s: %v %v", name, got, err)
		}
	}
}
