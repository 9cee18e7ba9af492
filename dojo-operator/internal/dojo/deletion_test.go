package dojo

import (
	"testing"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/apply/applytest"
	"jutsu.com/operators/libs/conditions"
)

func TestDeletion(t *testing.T) {
	t.Parallel()
	type result struct {
		Writes, Deletes []string
		Issue           string
		Released        bool
	}
	const waits, taking = "Progressing/DeletingDatabase", "Progressing/TakingFinalBackup"
	noJobs := func(w *databaseWorld) {
		w.t.Helper()
		var jobs batchv1.JobList
		noError(w.t, w.server.List(w.t.Context(), &jobs))
		for i := range jobs.Items {
			noError(w.t, w.server.Delete(w.t.Context(), &jobs.Items[i]))
		}
	}
	podLeft := func(name string) func(*databaseWorld) {
		return func(w *databaseWorld) {
			w.remove(&appsv1.Deployment{}, "tokyo")
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Namespace: "school", Name: "tokyo-1", Labels: ownership.Labels(w.dojo, name),
			}}
			noError(w.t, w.server.Create(w.t.Context(), pod))
		}
	}
	stopped := func(w *databaseWorld) { w.remove(&appsv1.Deployment{}, "tokyo"); noJobs(w) }
	noDatabase := func(w *databaseWorld) { stopped(w); w.remove(&cnpgv1.Database{}, "tokyo-db") }
	noRole := func(w *databaseWorld) { noDatabase(w); w.remove(&cnpgv1.DatabaseRole{}, "tokyo-db") }
	foreignDatabase := func(w *databaseWorld) {
		stopped(w)
		applytest.Edit(w.t, w.server, "others", inWorld[cnpgv1.Database](w, "tokyo-db"),
			func(db *cnpgv1.Database) { db.Labels = nil })
	}
	foreignDeployment := func(w *databaseWorld) {
		noJobs(w)
		applytest.Edit(w.t, w.server, "others", inWorld[appsv1.Deployment](w, "tokyo"),
			func(d *appsv1.Deployment) { d.OwnerReferences = nil })
	}
	held := func(o client.Object) { o.SetFinalizers([]string{"example.org/theirs"}) }
	stopping := func(w *databaseWorld) {
		applytest.Edit(w.t, w.server, "others", inWorld[appsv1.Deployment](w, "tokyo"), func(d *appsv1.Deployment) { held(d) })
		w.remove(&appsv1.Deployment{}, "tokyo")
	}
	beingDropped := func(w *databaseWorld) {
		stopped(w)
		applytest.Edit(w.t, w.server, "others", inWorld[cnpgv1.Database](w, "tokyo-db"), func(db *cnpgv1.Database) { held(db) })
		w.remove(&cnpgv1.Database{}, "tokyo-db")
	}
	formerPolicy := func(w *databaseWorld) {
		stopped(w)
		applytest.Edit(w.t, w.server, "others", inWorld[cnpgv1.Database](w, "tokyo-db"),
			func(db *cnpgv1.Database) { db.Spec.ReclaimPolicy = "retain" })
	}
	finalBackup := func(phase cnpgv1.BackupPhase) func(*databaseWorld) {
		return func(w *databaseWorld) {
			_, plan := w.reconcile()
			setStatus(w, plan.Apply[0].Name, func(b *cnpgv1.Backup) { b.Status.Phase, b.Status.Error = phase, "e" })
		}
	}
	nothing := func(*databaseWorld) {}
	cases := map[string]struct {
		dojo   *corev1api.Dojo
		change func(*databaseWorld)
		want   result
	}{
		"the application first": {withDatabase(reclaimed), nothing,
			result{nil, []string{"Deployment"}, waits, false}},
		"it is being deleted": {withDatabase(reclaimed), stopping, result{nil, nil, waits, false}},
		"a foreign Deployment": {withDatabase(reclaimed), foreignDeployment,
			result{nil, []string{"Database"}, waits, false}},
		"its pods have to end": {withDatabase(reclaimed), podLeft(ownership.Application),
			result{nil, []string{"Job"}, waits, false}},
		"the schema's pods too": {withDatabase(reclaimed), podLeft(ownership.Schema),
			result{nil, []string{"Job"}, waits, false}},
		"then the database": {withDatabase(reclaimed), stopped,
			result{nil, []string{"Database"}, waits, false}},
		"then the role": {withDatabase(reclaimed), noDatabase,
			result{nil, []string{"DatabaseRole"}, waits, false}},
		"then the Dojo may go":      {withDatabase(reclaimed), noRole, result{nil, nil, "", true}},
		"the policy changed lately": {withDatabase(), nothing, result{nil, nil, "", true}},
		"CloudNativePG removed": {withDatabase(reclaimed), func(w *databaseWorld) { stopped(w); w.without = "Cluster" },
			result{nil, nil, "", true}},
		"removed, the application runs": {withDatabase(reclaimed), func(w *databaseWorld) { w.without = "Cluster" },
			result{nil, []string{"Deployment"}, waits, false}},
		"a foreign database": {withDatabase(reclaimed), foreignDatabase,
			result{nil, []string{"DatabaseRole"}, waits, false}},
		"the database is being deleted": {withDatabase(reclaimed), beingDropped, result{nil, nil, waits, false}},
		"its policy is still the old one": {withDatabase(reclaimed), formerPolicy,
			result{[]string{"Database"}, nil, waits, false}},
		"own Cluster: its schedule": {withDatabase(inOwnCluster, reclaimed, nightly), func(w *databaseWorld) {
			w.dojo.Spec.Postgres.Cluster.Backup.FinalBackup = false
			noRole(w)
		}, result{nil, []string{"ScheduledBackup"}, waits, false}},
		"own Cluster: itself": {withDatabase(inOwnCluster, reclaimed), noRole,
			result{nil, []string{"Cluster"}, waits, false}},
		"a last backup": {withDatabase(inOwnCluster, reclaimed, nightly), nothing,
			result{[]string{"Backup"}, nil, taking, false}},
		"it is under way": {withDatabase(inOwnCluster, reclaimed, nightly), finalBackup("running"),
			result{nil, nil, taking, false}},
		"it has failed": {withDatabase(inOwnCluster, reclaimed, nightly), finalBackup("failed"),
			result{nil, nil, "Degraded/FinalBackupFailed", false}},
		"it is done": {withDatabase(inOwnCluster, reclaimed, nightly), finalBackup("completed"),
			result{nil, []string{"Deployment"}, waits, false}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := upToDate(t, c.dojo)
			w.dojo.DeletionTimestamp = &metav1.Time{Time: databaseNoon}
			w.dojo.Finalizers = []string{corev1api.DatabaseFinalizer}
			c.change(w)
			_, plan := w.plan()
			var deletes []string
			for _, old := range plan.Delete {
				deletes = append(deletes, old.Kind)
			}
			released := plan.Finalizers != nil && len(plan.Finalizers) == 0
			got := result{writtenKinds(plan), deletes, worstOf(plan.Issues), released}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if len(conditions.OfPart(corev1api.ConditionDatabaseReady, plan.Issues)) != len(plan.Issues) {
				t.Errorf("not all are about the database: %+v", plan.Issues)
			}
			for _, o := range plan.Apply {
				if o.Part != corev1api.ConditionDatabaseReady {
					t.Errorf("the %s belongs to %q", o.Kind, o.Part)
				}
			}
		})
	}
}

// The data is deleted step by step to its end.
func TestDeletionComesToItsEnd(t *testing.T) {
	t.Parallel()
	w := upToDate(t, withDatabase(inOwnCluster, reclaimed, nightly))
	if diff := cmp.Diff([]string{corev1api.DatabaseFinalizer}, w.dojo.Finalizers); diff != "" {
		t.Fatal(diff)
	}
	noError(t, w.server.Delete(t.Context(), w.dojo))
	var got []string
	for range 20 {
		w.dojo = applytest.Get(t, w.server, "school", "tokyo", &corev1api.Dojo{})
		if w.dojo == nil {
			break
		}
		_, plan := w.reconcile()
		for _, o := range plan.Apply {
			got = append(got, "writes "+o.Kind)
			setStatus(w, o.Name, func(b *cnpgv1.Backup) { b.Status.Phase = cnpgv1.BackupPhaseCompleted })
		}
		for _, old := range plan.Delete {
			got = append(got, "deletes "+old.Kind)
		}
	}
	want := []string{
		"writes Backup", "deletes Deployment",
		"deletes Job", "deletes Database", "deletes DatabaseRole", "deletes ScheduledBackup",
		"deletes Cluster",
	}
	if diff := cmp.Diff(want, got); diff != "" || w.dojo != nil {
		t.Error("the Dojo is left:", w.dojo != nil, diff)
	}
}

func TestFinalizers(t *testing.T) {
	t.Parallel()
	other := func(d *corev1api.Dojo) { d.Finalizers = append(d.Finalizers, "example.org/theirs") }
	ours := func(d *corev1api.Dojo) { d.Finalizers = append(d.Finalizers, corev1api.DatabaseFinalizer) }
	credentials := func(d *corev1api.Dojo) { d.Spec.Postgres = nil }
	cases := map[string]struct {
		dojo *corev1api.Dojo
		want []string
	}{
		"no database":            {withDatabase(credentials), nil},
		"no database, a foreign": {withDatabase(credentials, other), nil},
		"retained":               {withDatabase(), nil},
		"deleted": {withDatabase(reclaimed, other),
			[]string{"example.org/theirs", corev1api.DatabaseFinalizer}},
		"deleted, has it":      {withDatabase(reclaimed, ours), nil},
		"retained after all":   {withDatabase(ours, other), []string{"example.org/theirs"}},
		"retained, ours alone": {withDatabase(ours), []string{}},
	}
	for name, c := range cases {
		if diff := cmp.Diff(c.want, planFinalizers(c.dojo)); diff != "" {
			t.Error(name, diff)
		}
	}
}
