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
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/postgres/cluster"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/dojo-operator/internal/postgres/schema"
	"jutsu.com/operators/libs/apply/expectations"
	"jutsu.com/operators/libs/conditions"
)

func suspended(dojo *corev1api.Dojo) { dojo.Spec.Suspend = true }

func (w *world) hibernated() {
	setReady(w.Cluster.Live, 0)
	w.Cluster.Live.Status.Conditions = []metav1.Condition{{
		Type: cnpg.HibernationAnnotation, Status: metav1.ConditionTrue, Reason: "Hibernated", Message: "x",
	}}
}

func TestStepsToHibernationAndBack(t *testing.T) {
	t.Parallel()
	awake := tokyo(ownPG, backedUp)
	dojo := awake.DeepCopy()
	suspended(dojo)
	w := inSync(t, awake)
	type step struct {
		Writes []string
		Issue  string
		Asleep bool // the Cluster has the annotation that hibernates it
		Paused bool // backups are suspended
	}
	check := func(what string, dojo *corev1api.Dojo, want step) {
		t.Helper()
		db := w.reconcile(dojo)
		got := step{kinds(db.Plan), worst(db.Plan), cnpg.Hibernates(w.Cluster.Live),
			w.Backup.Schedule.Spec.Suspend != nil && *w.Backup.Schedule.Spec.Suspend}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(what, diff)
		}
		if again := w.reconcile(dojo); again.Plan.Apply != nil {
			t.Errorf("%s: without any change, %v is written again", what, kinds(again.Plan))
		}
	}
	const suspending = "Progressing/Suspending"
	check("pods run", dojo, step{[]string{"ScheduledBackup"}, suspending, false, true})
	w.Application.Stopped = true
	w.Schema.Pods = []corev1.Pod{{}}
	check("SQL runs", dojo, step{nil, suspending, false, true})
	w.Schema.Pods = nil
	w.Cluster.Others = []string{"Dojo kyoto"}
	check("another Dojo uses the Cluster", dojo, step{[]string{"ScheduledBackup"}, "Degraded/ClusterInUse", false, false})
	w.Cluster.Others = nil
	check("nothing runs", dojo, step{[]string{"ScheduledBackup", "Cluster"}, suspending, true, true})
	w.Application.Stopped = false
	w.hibernated()
	check("hibernated", dojo, step{nil, "", true, true})
	if db := w.plan(dojo); db.Usable(true) || db.Usable(false) {
		t.Error("the credentials of a hibernated database are usable")
	}
	w.Cluster.Others, w.Application.Stopped = []string{"Dojo kyoto"}, true
	check("hibernated, and another Dojo resumes", dojo, step{[]string{"Cluster"}, "Degraded/ClusterInUse", false, true})
	w.play()
	check("the Cluster is up for the other Dojo", dojo, step{[]string{"ScheduledBackup"}, "Degraded/ClusterInUse", false, false})
	setReady(w.Cluster.Live, 0)
	check("the Cluster restarts for the other Dojo", dojo, step{nil, "Degraded/ClusterInUse", false, false})
	w.Cluster.Others = nil
	check("the other Dojo no longer uses the Cluster", dojo,
		step{[]string{"ScheduledBackup", "Cluster"}, "Progressing/Suspending", true, true})
	w.hibernated()
	dojo.Spec.Postgres.Cluster.Storage.Size.Add(dojo.Spec.Postgres.Cluster.Storage.Size)
	check("the storage size changed", dojo, step{[]string{"Cluster"}, "", true, true})
	setReady(w.Cluster.Live, 0)
	back := dojo.DeepCopy()
	back.Spec.Suspend = false
	check("resumed", back, step{[]string{"Cluster"}, "Progressing/WaitingForCluster", false, true})
	w.Cluster.Live.Status.Conditions = nil
	w.play()
	check("the Cluster is up again", back, step{[]string{"ScheduledBackup"}, "", false, false})
}

func TestSuspended(t *testing.T) {
	t.Parallel()
	object := "hibernation of the Cluster school/tokyo-db"
	stopped := func(w *world) { w.Application.Stopped = true }
	asleep := func(w *world) {
		stopped(w)
		w.reconcile(tokyo(ownPG, suspended))
	}
	cases := map[string]struct {
		dojo   *corev1api.Dojo
		change func(*world)
		want   string
		writes []string
	}{
		"no Cluster yet": {tokyo(ownPG, suspended), func(w *world) { w.Cluster.Live, w.Database.Live = nil, nil }, "", nil},
		"Cluster lost":   {tokyo(ownPG, suspended), func(w *world) { w.Cluster.Live = nil }, "Degraded/DatabaseLost", nil},
		"image older than the data": {tokyo(ownPG, suspended, pgVersion("17")), func(w *world) {
			stopped(w)
			data(18)(w)
		}, "Degraded/VersionTooLow", nil},
		"foreign Cluster": {tokyo(ownPG, suspended), func(w *world) { stopped(w); w.Cluster.Live.Labels = nil },
			"Degraded/NameConflict", nil},
		"not yet hibernated":                 {tokyo(ownPG, suspended), asleep, "Progressing/Suspending", nil},
		"still not hibernated after an hour": {tokyo(ownPG, suspended, waitingFor(object, time.Hour)), asleep, "Degraded/ClusterNotReady", nil},
		"hibernated by a user, not suspended": {tokyo(ownPG), func(w *world) {
			w.Cluster.Live.Annotations = map[string]string{cnpg.HibernationAnnotation: "on"}
		}, "Degraded/ClusterHibernated", nil},
		"in another owner's Cluster": {tokyo(inPG, suspended), stopped, "", nil},
		"in another owner's Cluster that is hibernated": {tokyo(inPG, suspended), func(w *world) {
			w.Cluster.Live.Annotations = map[string]string{cnpg.HibernationAnnotation: "on"}
		}, "", nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := c.dojo.DeepCopy()
			before.Spec.Suspend = false
			w := inSync(t, before)
			c.change(w)
			db := w.plan(c.dojo)
			if got := worst(db.Plan); got != c.want || cmp.Diff(c.writes, kinds(db.Plan)) != "" {
				t.Errorf("writes %v, ends as %s, want %s", kinds(db.Plan), got, c.want)
			}
		})
	}
}

func TestHibernationWaitsForPodsOfSuspendedGuests(t *testing.T) {
	t.Parallel()
	awake := tokyo(ownPG)
	dojo := tokyo(ownPG, suspended)
	guest := tokyo(named("kyoto"), inPG, suspended, func(guest *corev1api.Dojo) { guest.Spec.Postgres.ClusterRef.Name = "tokyo-db" })
	user := tokyo(named("kyoto"), suspended, func(user *corev1api.Dojo) {
		user.Spec.CredentialsRef = &corev1api.SecretReference{Name: "tokyo-db-app"}
	})
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: "kyoto-1"}, Spec: corev1.PodSpec{NodeName: "n"}}
	w := inSync(t, awake)
	w.Application.Stopped = true
	const waits = "Waiting for the pods to end, before the Cluster school/tokyo-db is hibernated: 1 still running, such as kyoto-1 on the node n."
	for _, c := range []struct {
		pods   reading
		guest  *corev1api.Dojo
		issue  string
		writes []string
	}{
		{reading{pod}, guest, waits, nil},
		{reading{pod}, user, waits, nil},
		{nil, guest, "Waiting for the hibernation of the Cluster school/tokyo-db: 3 instances are still ready.", []string{"Cluster"}},
	} {
		guests, err := podsOfGuests(t, append(c.pods, c.guest), dojo)
		must(t, err)
		s := w.observe(dojo)
		s.Guests = guests
		db := Plan(dojo, s, testConfig)
		if diff := cmp.Diff(c.writes, kinds(db.Plan)); diff != "" || conditions.Worst(db.Plan.Issues).Message != c.issue {
			t.Error(diff, conditions.Worst(db.Plan.Issues))
		}
	}
	if guests, err := podsOfGuests(t, reading{pod, guest}, awake); err != nil || guests != nil {
		t.Errorf("a Dojo that is not suspended observes pods of guests: %v, %v", guests, err)
	}
}

func podsOfGuests(t *testing.T, objects reading, dojo *corev1api.Dojo) ([]corev1.Pod, error) {
	t.Helper()
	_, guests, err := cluster.ObserveOthers(t.Context(), readerOf(objects, nil), dojo, true)
	must(t, err)
	return observeGuests(t.Context(), readerOf(objects, nil), guests)
}

// A hibernation ends the Job that analyzes an upgraded database, so the Job runs again after it.
func TestAnUpgradedDatabaseIsAnalyzedAfterASuspension(t *testing.T) {
	t.Parallel()
	ends := func(kind batchv1.JobConditionType) func(*batchv1.Job) bool {
		return func(job *batchv1.Job) bool {
			job.Status.Conditions = []batchv1.JobCondition{{Type: kind, Status: corev1.ConditionTrue}}
			return true
		}
	}
	for name, c := range map[string]struct {
		asleep func(*batchv1.Job) bool // what happens to the Job; false if it no longer exists
		again  bool
	}{
		"the Job retries":       {func(*batchv1.Job) bool { return true }, true},
		"the Job has failed":    {ends(batchv1.JobFailed), true},
		"the Job is gone":       {func(*batchv1.Job) bool { return false }, true},
		"the Job has succeeded": {ends(batchv1.JobComplete), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			awake, dojo := tokyo(ownPG), tokyo(ownPG, suspended)
			w := inSync(t, awake)
			planned := schema.Statistics(awake, schema.State{}, "from 16 to 17", schema.As{}, testConfig.Users)
			job := stored[batchv1.Job](w, nil, planned)
			known := w.jobs
			w.jobs = append(slices.Clone(known), job)
			w.Application.Stopped = true
			w.reconcile(dojo)
			w.hibernated()
			if !c.asleep(job) {
				w.jobs = known
			}
			w.reconcile(dojo)
			if db := w.reconcile(dojo); db.Plan.Apply != nil {
				t.Errorf("asleep, %v is written again", kinds(db.Plan))
			}
			if db := w.reconcile(awake); cmp.Diff([]string{"Cluster"}, kinds(db.Plan)) != "" {
				t.Errorf("before Postgres is up, %v is written", kinds(db.Plan))
			}
			w.Cluster.Live.Status.Conditions = nil
			w.playPostgres()
			db := w.reconcile(awake)
			if got := slices.Contains(kinds(db.Plan), "Job"); got != c.again {
				t.Fatalf("analyzes again: %t, writes %v", got, kinds(db.Plan))
			}
			for _, o := range db.Plan.Apply {
				if o.Kind == "Job" && (o.Name == job.Name || !strings.HasPrefix(o.Name, "tokyo-statistics-")) {
					t.Error(o.Name)
				}
				if o.Kind == "Cluster" && !slices.ContainsFunc(o.After, func(k expectations.Key) bool { return k.Kind == "Job" }) {
					t.Error("the write of the Cluster does not wait for the Job")
				}
			}
			w.playPostgres()
			if db := w.reconcile(awake); db.Plan.Apply != nil || db.Plan.Issues != nil {
				t.Errorf("without any change, %v is written again, %s", kinds(db.Plan), worst(db.Plan))
			}
		})
	}
}

// A hibernation would make a Backup fail, so it waits for each Backup that is not stalled.
func TestHibernationWaitsForBackups(t *testing.T) {
	t.Parallel()
	awake, dojo := tokyo(ownPG, backedUp), tokyo(ownPG, backedUp, suspended)
	w := inSync(t, awake)
	w.Application.Stopped = true
	for name, c := range map[string]struct {
		phase   cnpgv1.BackupPhase
		started bool
		age     time.Duration
		waits   bool
	}{
		"runs":                {cnpgv1.BackupPhaseRunning, true, time.Hour, true},
		"runs for a day":      {cnpgv1.BackupPhaseRunning, true, 24 * time.Hour, false},
		"pending":             {cnpgv1.BackupPhasePending, false, time.Minute, true},
		"pending for an hour": {cnpgv1.BackupPhasePending, false, time.Hour, false},
		"completed":           {cnpgv1.BackupPhaseCompleted, true, time.Minute, false},
		"failed":              {cnpgv1.BackupPhaseFailed, true, time.Minute, false},
		"definition invalid":  {cnpgv1.BackupPhaseDefinitionInvalid, false, time.Minute, false},
	} {
		at := metav1.NewTime(noon.Add(-c.age))
		b := &cnpgv1.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: "night", CreationTimestamp: at}}
		b.Spec.Cluster.Name, b.Status.Phase = "tokyo-db", c.phase
		if c.started {
			b.Status.ReconciliationStartedAt = &at
		}
		s := w.observe(dojo)
		must(t, s.Backup.ObserveTaken(t.Context(), readerOf(reading{b}, nil), dojo, s.Cluster.Live))
		message := conditions.Worst(Plan(dojo, s, testConfig).Plan.Issues).Message
		const waits = "Waiting for the Backup night to end, before the Cluster school/tokyo-db is hibernated."
		if (message == waits) != c.waits {
			t.Errorf("%s: %s", name, message)
		}
	}
}

// For the final backup, the operator ends a hibernation that it began, but not a user's
// hibernation.
func TestFinalBackupWhileSuspended(t *testing.T) {
	t.Parallel()
	dojo := tokyo(ownPG, backedUp, dropping, suspended)
	awake := dojo.DeepCopy()
	awake.Spec.Suspend = false
	w := inSync(t, awake)
	w.Application.Stopped = true
	w.reconcile(dojo)
	dojo.Spec.Postgres.Cluster.Storage.Size = resource.MustParse("9Ti") // after the deletion
	plan := FinalBackup(dojo, w.observe(dojo), testConfig)
	if diff := cmp.Diff([]string{"Cluster"}, kinds(plan)); diff != "" || worst(plan) != "Progressing/TakingFinalBackup" {
		t.Fatalf("writes %v, ends as %s", kinds(plan), worst(plan))
	}
	size := w.Cluster.Live.Spec.StorageConfiguration.Size
	w.Cluster.Live = stored(w, w.Cluster.Live, plan.Apply[0])
	if w.Cluster.Live.Spec.StorageConfiguration.Size != size || cnpg.Hibernates(w.Cluster.Live) {
		t.Errorf("the Cluster resumes with %+v", w.Cluster.Live)
	}
	plan = FinalBackup(dojo, w.observe(dojo), testConfig)
	if diff := cmp.Diff([]string{"Backup"}, kinds(plan)); diff != "" || worst(plan) != "Progressing/TakingFinalBackup" {
		t.Errorf("then writes %v, ends as %s", kinds(plan), worst(plan))
	}
	w.Cluster.Live.Annotations = map[string]string{cnpg.HibernationAnnotation: "on"}
	if plan = FinalBackup(dojo, w.observe(dojo), testConfig); plan.Apply != nil || worst(plan) != "Degraded/ClusterHibernated" {
		t.Errorf("hibernated by a user, writes %v, ends as %s", kinds(plan), worst(plan))
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	up := &cnpgv1.Cluster{Status: cnpgv1.ClusterStatus{CurrentPrimary: "pg-1", TargetPrimary: "pg-1"}}
	setReady(up, 1)
	for name, c := range map[string]struct {
		dojo  *corev1api.Dojo
		state State
		want  bool
	}{
		"no spec.postgres":           {tokyo(), State{}, false},
		"in another owner's Cluster": {tokyo(inPG), State{}, false},
		"Cluster up":                 {tokyo(ownPG), State{Cluster: cluster.State{Live: up}}, false},
		"Cluster gone":               {tokyo(ownPG), State{}, true},
		"kind Cluster missing":       {tokyo(ownPG), State{Missing: []string{"Cluster"}}, false},
		"Cluster down":               {tokyo(ownPG), State{Cluster: cluster.State{Live: &cnpgv1.Cluster{}}}, true},
	} {
		if got := Unreachable(c.dojo, c.state); got != c.want {
			t.Errorf("%s: unreachable is %t", name, got)
		}
	}
}

func TestHibernationWaitsForPodsAndDeletesIdleJobs(t *testing.T) {
	t.Parallel()
	awake := tokyo(ownPG)
	dojo := awake.DeepCopy()
	suspended(dojo)
	w := inSync(t, awake)
	stuck := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "tokyo-1"}, Spec: corev1.PodSpec{NodeName: "n"}}
	s := w.observe(dojo)
	s.Application.Pods = []corev1.Pod{stuck}
	const object = "pods to end, before the Cluster school/tokyo-db is hibernated"
	const message = "Waiting for the " + object + ": 1 still running, such as tokyo-1 on the node n."
	if got := conditions.Worst(Plan(dojo, s, testConfig).Plan.Issues); got.Message != message || got.IsDegraded() {
		t.Error(got)
	}
	dojo.Status.WaitingFor = []corev1api.Wait{{Object: object, Since: metav1.NewTime(noon.Add(-time.Hour))}}
	if got := conditions.Worst(Plan(dojo, s, testConfig).Plan.Issues); !got.IsDegraded() || got.Reason != corev1api.ReasonSuspending {
		t.Error(got)
	}
	s.Application.Pods, s.Application.Stopped = nil, true
	s.Schema.Jobs = []*batchv1.Job{{ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: "tokyo-schema-1"}}}
	db := Plan(dojo, s, testConfig)
	if len(db.Plan.Delete) != 1 || db.Plan.Delete[0].Name != "tokyo-schema-1" || worst(db.Plan) != "Degraded/Suspending" {
		t.Error(db.Plan.Delete, worst(db.Plan))
	}
}
