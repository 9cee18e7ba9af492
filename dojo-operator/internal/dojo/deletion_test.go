// SPDX-License-Identifier: Apache-2.0

package dojo

import (
	"testing"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/apply/applytest"
	"jutsu.com/operators/libs/conditions"
)

func borrowing(namespace string) *corev1api.Dojo {
	return withDatabase(func(dojo *corev1api.Dojo) {
		dojo.Namespace, dojo.Name, dojo.Spec.Postgres = namespace, "kyoto", nil
		dojo.Spec.CredentialsRef = &corev1api.SecretReference{Namespace: "school", Name: "tokyo-db"}
	})
}

func shareWith(namespace string) func(*databaseWorld) {
	return func(w *databaseWorld) {
		applytest.Edit(w.t, w.server, "others", inWorld[corev1.Secret](w, "tokyo-db"), func(s *corev1.Secret) {
			metav1.SetMetaDataAnnotation(&s.ObjectMeta, corev1api.AllowedNamespacesAnnotation, namespace)
		})
	}
}

func TestDeletion(t *testing.T) {
	t.Parallel()
	type result struct {
		Writes, Deletes []string
		Issue           string
		Released        bool
	}
	const stalled, notReadable = "Degraded/DeletionStalled", "Progressing/CloudNativePGNotReadable"
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
	orphaned := func(w *databaseWorld) {
		noJobs(w)
		applytest.Edit(w.t, w.server, "others", inWorld[appsv1.Deployment](w, "tokyo"),
			func(d *appsv1.Deployment) { d.OwnerReferences = nil })
	}
	foreignDeployment := func(w *databaseWorld) {
		orphaned(w)
		applytest.Edit(w.t, w.server, "others", inWorld[appsv1.Deployment](w, "tokyo"),
			func(d *appsv1.Deployment) { d.Labels = nil })
	}
	unreadable := func(w *databaseWorld) { w.without, w.unreadable = []string{"Database"}, true }
	later := func(change func(*databaseWorld)) func(*databaseWorld) {
		return func(w *databaseWorld) {
			change(w)
			w.Clock.(*testclock.FakePassiveClock).SetTime(databaseNoon.Add(time.Hour))
		}
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
			stopped(w)
			_, plan := w.reconcile()
			setStatus(w, plan.Apply[0].Name, func(b *cnpgv1.Backup) { b.Status.Phase, b.Status.Error = phase, "e" })
		}
	}
	nothing := func(*databaseWorld) {}
	removed := func(w *databaseWorld) {
		for _, kind := range cnpg.Kinds() {
			w.without = append(w.without, kind.Kind)
		}
	}
	cases := map[string]struct {
		dojo   *corev1api.Dojo
		change func(*databaseWorld)
		want   result
	}{
		"the Deployment is deleted first": {withDatabase(reclaimed), nothing,
			result{nil, []string{"Deployment"}, waits, false}},
		"the Deployment is being deleted": {withDatabase(reclaimed), stopping, result{nil, nil, waits, false}},
		"a foreign Deployment stays": {withDatabase(reclaimed), foreignDeployment,
			result{nil, []string{"Database"}, waits, false}},
		"an orphaned Deployment stalls the deletion": {withDatabase(reclaimed), orphaned, result{nil, nil, stalled, false}},
		"pods that do not end stall the deletion": {withDatabase(reclaimed), later(func(w *databaseWorld) { podLeft(ownership.Application)(w); noJobs(w) }),
			result{nil, nil, stalled, false}},
		"a Deployment with a foreign finalizer stalls the deletion": {withDatabase(reclaimed), later(stopping), result{nil, nil, stalled, false}},
		"the kind Database is unreadable":                           {withDatabase(reclaimed), unreadable, result{nil, nil, notReadable, false}},
		"the kind Database is unreadable, with Retain":              {withDatabase(), unreadable, result{nil, nil, notReadable, false}},
		"the policy has just changed to Retain": {withDatabase(reclaimed),
			func(w *databaseWorld) { w.dojo.Spec.Postgres.ReclaimPolicy = corev1api.ReclaimRetain },
			result{[]string{"Database", "DatabaseRole", "Secret"}, nil, waits, false}},
		"another Dojo uses tokyo's Cluster": {withDatabase(inOwnCluster, reclaimed), func(w *databaseWorld) {
			guest := withDatabase(func(dojo *corev1api.Dojo) { dojo.Name, dojo.Spec.Postgres.ClusterRef.Name = "kyoto", "tokyo-db" })
			noError(w.t, w.server.Create(w.t.Context(), guest))
		}, result{nil, nil, "Degraded/ClusterInUse", false}},
		"another Dojo uses tokyo's login": {withDatabase(inOwnCluster, reclaimed), func(w *databaseWorld) {
			noError(w.t, w.server.Create(w.t.Context(), borrowing("school")))
		}, result{nil, nil, "Degraded/ClusterInUse", false}},
		"a Dojo in another namespace uses tokyo's login": {withDatabase(inOwnCluster, reclaimed), func(w *databaseWorld) {
			shareWith("elsewhere")(w)
			noError(w.t, w.server.Create(w.t.Context(), borrowing("elsewhere")))
		}, result{nil, nil, "Degraded/ClusterInUse", false}},
		"a Dojo in a namespace without a grant names the Secret of tokyo's login": {withDatabase(inOwnCluster, reclaimed), func(w *databaseWorld) {
			shareWith("another")(w)
			noError(w.t, w.server.Create(w.t.Context(), borrowing("elsewhere")))
		}, result{nil, []string{"Deployment"}, waits, false}},
		"the deletion waits until the pods end": {withDatabase(reclaimed), func(w *databaseWorld) { podLeft(ownership.Application)(w); noJobs(w) },
			result{nil, nil, waits, false}},
		"the schema's Job is deleted": {withDatabase(reclaimed), func(w *databaseWorld) { w.remove(&appsv1.Deployment{}, "tokyo") },
			result{nil, []string{"Job"}, waits, false}},
		"the schema's Job is deleted while its pod runs": {withDatabase(reclaimed), podLeft(ownership.Schema),
			result{nil, []string{"Job"}, waits, false}},
		"the Database is deleted after the pods": {withDatabase(reclaimed), stopped,
			result{nil, []string{"Database"}, waits, false}},
		"the role is deleted after the Database": {withDatabase(reclaimed), noDatabase,
			result{nil, []string{"DatabaseRole"}, waits, false}},
		"the finalizer is removed last":   {withDatabase(reclaimed), noRole, result{nil, nil, "", true}},
		"with Retain, nothing is deleted": {withDatabase(), nothing, result{nil, nil, "", true}},
		"CloudNativePG removed": {withDatabase(reclaimed), func(w *databaseWorld) { stopped(w); removed(w) },
			result{nil, nil, "", true}},
		"CloudNativePG without the kind Pooler": {withDatabase(reclaimed), func(w *databaseWorld) { stopped(w); w.without = []string{"Pooler"} },
			result{nil, []string{"Database"}, waits, false}},
		"CloudNativePG without the kind Database": {withDatabase(reclaimed), func(w *databaseWorld) { stopped(w); w.without = []string{"Database"} },
			result{nil, nil, "Degraded/CloudNativePGNotInstalled", false}},
		"CloudNativePG removed while the application runs": {withDatabase(reclaimed), removed,
			result{nil, []string{"Deployment"}, waits, false}},
		"a foreign Database stays": {withDatabase(reclaimed), foreignDatabase,
			result{nil, []string{"DatabaseRole"}, waits, false}},
		"the Database is being deleted": {withDatabase(reclaimed), beingDropped, result{nil, nil, waits, false}},
		"the Database still has the policy retain": {withDatabase(reclaimed), formerPolicy,
			result{[]string{"Database"}, nil, waits, false}},
		"own Cluster: the schedule is deleted first": {withDatabase(inOwnCluster, reclaimed, nightly), func(w *databaseWorld) {
			w.dojo.Spec.Postgres.Cluster.Backup.FinalBackup = false
			stopped(w)
		}, result{nil, []string{"ScheduledBackup"}, waits, false}},
		"own Cluster: the Cluster is deleted": {withDatabase(inOwnCluster, reclaimed), stopped,
			result{nil, []string{"Cluster"}, waits, false}},
		"own Cluster: the Database is deleted after the Cluster": {withDatabase(inOwnCluster, reclaimed),
			func(w *databaseWorld) { stopped(w); w.remove(&cnpgv1.Cluster{}, "tokyo-db") },
			result{nil, []string{"Database"}, waits, false}},
		"own Cluster: the pods stop before the final backup": {withDatabase(inOwnCluster, reclaimed, nightly), nothing,
			result{nil, []string{"Deployment"}, waits, false}},
		"own Cluster: the final backup begins": {withDatabase(inOwnCluster, reclaimed, nightly), stopped,
			result{[]string{"Backup"}, nil, taking, false}},
		"the final backup runs": {withDatabase(inOwnCluster, reclaimed, nightly), finalBackup("running"),
			result{nil, nil, taking, false}},
		"the final backup has failed": {withDatabase(inOwnCluster, reclaimed, nightly), finalBackup("failed"),
			result{nil, nil, "Degraded/FinalBackupFailed", false}},
		"the final backup has completed": {withDatabase(inOwnCluster, reclaimed, nightly), finalBackup("completed"),
			result{nil, []string{"ScheduledBackup"}, waits, false}},
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
				t.Errorf("some issues are not about the database: %+v", plan.Issues)
			}
			for _, o := range plan.Apply {
				if o.Part != corev1api.ConditionDatabaseReady {
					t.Errorf("the %s belongs to %q", o.Kind, o.Part)
				}
			}
		})
	}
}

func TestDeletionCompletes(t *testing.T) {
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
		"deletes Deployment", "deletes Job", "writes Backup",
		"deletes ScheduledBackup", "deletes Cluster", "deletes Database", "deletes DatabaseRole",
	}
	if diff := cmp.Diff(want, got); diff != "" || w.dojo != nil {
		t.Error("the Dojo still exists:", w.dojo != nil, diff)
	}
}

func TestFinalizers(t *testing.T) {
	t.Parallel()
	other := func(dojo *corev1api.Dojo) { dojo.Finalizers = append(dojo.Finalizers, "example.org/theirs") }
	ours := func(dojo *corev1api.Dojo) { dojo.Finalizers = append(dojo.Finalizers, corev1api.DatabaseFinalizer) }
	credentials := func(dojo *corev1api.Dojo) { dojo.Spec.Postgres = nil }
	cases := map[string]struct {
		dojo *corev1api.Dojo
		want []string
	}{
		"no database":                      {withDatabase(credentials), nil},
		"no database, a foreign finalizer": {withDatabase(credentials, other), nil},
		"Retain":                           {withDatabase(), nil},
		"Delete": {withDatabase(reclaimed, other),
			[]string{"example.org/theirs", corev1api.DatabaseFinalizer}},
		"Delete, finalizer present":               {withDatabase(reclaimed, ours), nil},
		"Retain after Delete":                     {withDatabase(ours, other), []string{"example.org/theirs"}},
		"Retain after Delete, no other finalizer": {withDatabase(ours), []string{}},
	}
	for name, c := range cases {
		if diff := cmp.Diff(c.want, planFinalizers(c.dojo, State{})); diff != "" {
			t.Error(name, diff)
		}
	}
}
