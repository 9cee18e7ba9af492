// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"strings"
	"testing"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/backup"
	"jutsu.com/operators/dojo-operator/internal/postgres/cluster"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/conditions"
)

func TestStepsToADatabase(t *testing.T) {
	t.Parallel()
	way := []string{
		"Secret DatabaseRole: Progressing/CreatingRole: not usable",
		"Database: Progressing/CreatingDatabase: usable where they are in use",
		"Job: Progressing/ApplyingSchema: usable where they are in use",
		"Database: : usable", // this write records the SQL that has run
	}
	cases := map[string]struct {
		dojo *corev1api.Dojo
		want []string
	}{
		"in another owner's Cluster":                       {tokyo(inPG), way},
		"in another owner's Cluster, reclaimPolicy Delete": {tokyo(inPG, dropping), way},
		"in its own Cluster": {tokyo(ownPG, backedUp), append([]string{
			"Cluster: Progressing/WaitingForCluster: not usable",
			"ScheduledBackup Secret DatabaseRole: Progressing/CreatingRole: not usable",
		}, way[1:]...)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.dojo)
			var got []string
			for range len(c.want) {
				w.play()
				db := w.reconcile(c.dojo)
				got = append(got, strings.Join(kinds(db.Plan), " ")+": "+worst(db.Plan)+": "+usable(db))
				if again := w.reconcile(c.dojo); again.Plan.Apply != nil {
					t.Errorf("without any change, %v is written again", kinds(again.Plan))
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func usable(db Database) string {
	switch {
	case db.Usable(false) && db.Usable(true):
		return "usable"
	case db.Usable(true):
		return "usable where they are in use"
	}
	return "not usable"
}

func TestPlan(t *testing.T) {
	t.Parallel()
	type result struct {
		Writes []string
		Issue  string
		Usable string
	}
	const no, inUse, yes = "not usable", "usable where they are in use", "usable"
	const waitingForCluster, creatingRole = "Progressing/WaitingForCluster", "Progressing/CreatingRole"
	const creatingDatabase, applyingSchema = "Progressing/CreatingDatabase", "Progressing/ApplyingSchema"
	const databaseFailed, nameConflict = "Degraded/DatabaseFailed", "Degraded/NameConflict"
	do := func(changes ...func(*world)) func(*world) {
		return func(w *world) {
			for _, change := range changes {
				change(w)
			}
		}
	}
	unwrittenFor := func(passed time.Duration) func(*world) {
		return func(w *world) { w.unwrittenFor(passed) }
	}
	ready := func(instances int) func(*world) {
		return func(w *world) { setReady(w.Cluster.Live, instances) }
	}
	failover := func(w *world) {
		setReady(w.Cluster.Live, 1)
		w.Cluster.Live.Status.InstancesStatus[cnpgv1.PodHealthy] = []string{"pg-2"}
	}
	switchover := func(w *world) { w.Cluster.Live.Status.TargetPrimary = "pg-2" }
	refused := func(w *world) { w.Database.Live.Status.Applied, w.Database.Live.Status.Message = ptr.To(false), "no" }
	behind := func(w *world) { w.Login.Logins[owner].Role.Status.ObservedGeneration = 0 }
	noCluster := func(w *world) { w.Cluster.Live = nil }
	noDatabase := func(w *world) { w.Database.Live = nil }
	connected := func(w *world) { w.source = "tokyo-db" }
	const lost = "Degraded/DatabaseLost"
	lostOnce := func(uid string) func(*corev1api.Dojo) {
		return func(dojo *corev1api.Dojo) { dojo.Status.Database = &corev1api.DatabaseStatus{ClusterUID: uid} }
	}
	accepting := func(uid string) func(*corev1api.Dojo) {
		return func(dojo *corev1api.Dojo) {
			dojo.Annotations = map[string]string{corev1api.RecreateDatabaseAnnotation: uid}
		}
	}
	noPassword := func(w *world) { w.secrets[owner] = nil }
	unknownPlugin := func(w *world) { w.Cluster.Live.Status.Phase = cnpgv1.PhaseUnknownPlugin }
	hibernated := func(w *world) { w.Cluster.Live.Annotations = map[string]string{cnpg.HibernationAnnotation: "on"} }
	missing := func(w *world) { w.Missing = []string{"Database"} }
	ofKyoto := ownership.Labels(tokyo(named("kyoto")), ownership.Application)
	cases := map[string]struct {
		dojo   *corev1api.Dojo
		change func(*world)
		want   result
	}{
		"in sync":               {tokyo(inPG), do(), result{nil, "", yes}},
		"CloudNativePG removed": {tokyo(inPG), missing, result{nil, "Degraded/CloudNativePGNotInstalled", no}},
		"Cluster deleted":       {tokyo(inPG), noCluster, result{nil, waitingForCluster, no}},
		"Cluster missing for long": {tokyo(inPG, waitingFor("Cluster school/pg", time.Hour)), noCluster,
			result{nil, "Degraded/ClusterNotFound", no}},
		"Cluster missing, after a long wait for another Cluster": {tokyo(inPG, waitingFor("Cluster school/old", time.Hour)), noCluster,
			result{nil, waitingForCluster, no}},
		"own Cluster lost": {tokyo(ownPG), noCluster, result{nil, lost, no}},
		"own Cluster lost, an earlier loss accepted": {
			tokyo(ownPG, lostOnce("new"), accepting("old")), noCluster, result{nil, lost, no}},
		"own Cluster lost, loss accepted": {
			tokyo(ownPG, lostOnce("uid"), accepting("uid")), noCluster, result{[]string{"Cluster"}, waitingForCluster, no}},
		"a former Dojo's Cluster lost, loss accepted": {tokyo(ownPG, accepting("uid of tokyo")), noCluster,
			result{[]string{"Cluster"}, waitingForCluster, no}},
		"own Cluster and Database lost, credentials in use": {tokyo(ownPG), do(noCluster, noDatabase, connected),
			result{nil, lost, no}},
		"own Cluster deleted before it had a database": {tokyo(ownPG), do(noCluster, noDatabase),
			result{[]string{"Cluster"}, waitingForCluster, no}},
		"no own Cluster yet, former Database in another Cluster": {tokyo(ownPG), func(w *world) {
			w.Cluster.Live, w.Database.Live.Spec.ClusterRef.Name = nil, "pg"
		}, result{[]string{"Cluster"}, waitingForCluster, no}},
		"own Cluster exists, an earlier loss accepted": {tokyo(ownPG, lostOnce("uid"), accepting("uid")), do(), result{nil, "", yes}},
		"primary lost": {tokyo(inPG), ready(0), result{nil, waitingForCluster, no}},
		"no primary yet": {tokyo(inPG), func(w *world) { w.Cluster.Live.Status.CurrentPrimary = "" },
			result{nil, waitingForCluster, no}},
		"primary lost, a standby is ready":               {tokyo(inPG), failover, result{nil, waitingForCluster, no}},
		"switchover":                                     {tokyo(inPG), switchover, result{nil, waitingForCluster, no}},
		"own Cluster's primary lost, a standby is ready": {tokyo(ownPG), failover, result{nil, waitingForCluster, no}},
		"own Cluster's primary lost for long, Cluster just written": {
			tokyo(ownPG, waitingFor("instances of the Cluster school/tokyo-db", time.Hour)),
			do(failover, unwrittenFor(time.Hour), clusterWritten), result{nil, "Degraded/ClusterNotReady", no}},
		"primary lost for long": {tokyo(inPG, waitingFor("instances of the Cluster school/pg", time.Hour)),
			do(ready(0), unwrittenFor(time.Hour)), result{nil, "Degraded/ClusterNotReady", no}},
		"primary just lost, Cluster written long ago": {tokyo(inPG), do(ready(0), unwrittenFor(time.Hour)), result{nil, waitingForCluster, no}},
		"primary lost, Ready condition just changed": {tokyo(inPG), do(ready(0), unwrittenFor(time.Hour), flipped(time.Minute)),
			result{nil, waitingForCluster, no}},
		"another owner's Cluster hibernated": {tokyo(inPG), hibernated, result{nil, "Degraded/ClusterHibernated", no}},
		"own Cluster hibernated":             {tokyo(ownPG), hibernated, result{nil, "Degraded/ClusterHibernated", no}},
		"another owner's Cluster lacks instances": {tokyo(inPG), func(w *world) { w.Cluster.Live.Spec.Instances = 3 },
			result{nil, "", yes}},
		"own Cluster lacks instances": {tokyo(ownPG), ready(2), result{nil, waitingForCluster, yes}},
		"own Cluster lacks instances for long": {tokyo(ownPG, waitingFor(standbys, time.Hour)), do(ready(2), unwrittenFor(time.Hour)),
			result{nil, "Degraded/ClusterNotReady", yes}},
		"own Cluster lacks instances for long, status just written": {tokyo(ownPG, waitingFor(standbys, time.Hour)),
			do(ready(2), unwrittenFor(time.Hour), clusterStatusWritten), result{nil, "Degraded/ClusterNotReady", yes}},
		"own Cluster lacks instances for long, spec just written": {tokyo(ownPG, waitingFor(standbys, time.Hour)),
			do(ready(2), unwrittenFor(time.Hour), clusterWritten), result{nil, waitingForCluster, yes}},
		"CloudNativePG does not reconcile the own Cluster": {tokyo(ownPG), unknownPlugin, result{nil, waitingForCluster, yes}},
		"CloudNativePG has not reconciled the own Cluster for long": {
			tokyo(ownPG, waitingFor("reconciliation of the Cluster school/tokyo-db by CloudNativePG", time.Hour)), unknownPlugin,
			result{nil, "Degraded/ClusterNotReady", yes}},
		"CloudNativePG does not reconcile another owner's Cluster": {tokyo(inPG), unknownPlugin, result{nil, "", yes}},
		"own Cluster's image older than its data":                  {tokyo(ownPG, pgVersion("17")), data(18), result{nil, "Degraded/VersionTooLow", yes}},
		"own Cluster's image has the version of its data":          {tokyo(ownPG, pgVersion("17")), data(17), result{nil, "", yes}},
		"own Cluster's data has an unknown version":                {tokyo(ownPG, pgVersion("17")), data(0), result{nil, "", yes}},
		"own Cluster's image older than its data, instances missing": {tokyo(ownPG, pgVersion("17")), do(data(18), ready(2)),
			result{nil, "Degraded/VersionTooLow", yes}},
		"own Cluster changed": {tokyo(ownPG), func(w *world) { w.Cluster.Live.Spec.StorageConfiguration.Size = "2Gi" },
			result{[]string{"Cluster"}, waitingForCluster, yes}},
		"own Cluster changed, role deleted": {tokyo(ownPG), func(w *world) { w.Cluster.Live.Spec.Instances, w.Login.Logins[owner].Role = 1, nil },
			result{[]string{"Cluster", "DatabaseRole"}, creatingRole, no}},
		"role deleted": {tokyo(inPG), func(w *world) { w.Login.Logins[owner].Role = nil },
			result{[]string{"DatabaseRole"}, creatingRole, no}},
		"database deleted": {tokyo(inPG), func(w *world) { w.Database.Live = nil },
			result{[]string{"Database"}, creatingDatabase, inUse}},
		"role pending": {tokyo(inPG), behind, result{nil, creatingRole, no}},
		"role pending for long": {tokyo(inPG), do(behind, unwrittenFor(11*time.Minute)),
			result{nil, databaseFailed, no}},
		"role pending for long, new password": {tokyo(inPG), do(behind, unwrittenFor(time.Hour), passwordWritten),
			result{nil, creatingRole, no}},
		"role pending, within the deadline": {tokyo(inPG), do(behind, unwrittenFor(5*time.Minute)),
			result{nil, creatingRole, no}},
		"database refused": {tokyo(inPG), refused, result{nil, creatingDatabase, inUse}},
		"database refused, within the deadline": {tokyo(inPG), do(refused, unwrittenFor(time.Minute)),
			result{nil, creatingDatabase, inUse}},
		"database refused, past the deadline": {tokyo(inPG), do(refused, unwrittenFor(91*time.Second)),
			result{nil, databaseFailed, inUse}},
		"database refused, past the deadline, message just changed": {
			tokyo(inPG), do(refused, unwrittenFor(91*time.Second), func(w *world) {
				w.Database.Live.ManagedFields = append(w.Database.Live.ManagedFields, metav1.ManagedFieldsEntry{
					Manager: "manager", Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "status", Time: &metav1.Time{Time: noon},
				})
			}), result{nil, databaseFailed, inUse}},
		"extension refused": {tokyo(ownPG), func(w *world) {
			refused(w)
			w.Database.Live.Status.Extensions = []cnpgv1.DatabaseObjectStatus{{Name: "x"}}
		}, result{nil, creatingDatabase, inUse}},
		"database refused, Ready condition just changed": {tokyo(inPG), do(refused, unwrittenFor(time.Hour), flipped(time.Minute)),
			result{nil, creatingDatabase, inUse}},
		"password Secret deleted": {tokyo(inPG), noPassword, result{[]string{"Secret"}, creatingRole, no}},
		"password not in Postgres": {tokyo(inPG), func(w *world) { w.Login.Logins[owner].Role.Status.SecretResourceVersion = "0" },
			result{nil, creatingRole, no}},
		"password rotation requested": {tokyo(inPG, rotating), do(), result{[]string{"Secret"}, creatingRole, no}},
		"foreign password Secret": {tokyo(inPG), func(w *world) { w.secrets[owner].Labels = nil },
			result{nil, nameConflict, no}},
		"foreign role": {tokyo(inPG), func(w *world) { w.Login.Logins[owner].Role.Labels = nil },
			result{nil, nameConflict, no}},
		"foreign database": {tokyo(inPG), func(w *world) { w.Database.Live.Labels = nil },
			result{nil, nameConflict, no}},
		"foreign Cluster has the own Cluster's name": {tokyo(ownPG), func(w *world) { w.Cluster.Live.Labels = nil },
			result{nil, nameConflict, no}},
		"foreign schedule": {tokyo(ownPG, backedUp), func(w *world) { w.Backup.Schedule.Labels = nil },
			result{nil, nameConflict, no}},
		"foreign Job": {tokyo(inPG), func(w *world) { w.jobs[0].OwnerReferences = nil },
			result{nil, nameConflict, no}},
		"PodDisruptionBudget of another Dojo has the Cluster's name": {tokyo(ownPG), func(w *world) {
			w.Cluster.Live, w.Cluster.Budgets[0] = nil, budgetOf(tokyo(named("tokyo-db")))
		}, result{nil, nameConflict, no}},
		"PodDisruptionBudget of another Dojo has the primary's name": {tokyo(ownPG), func(w *world) {
			w.Cluster.Live, w.Cluster.Budgets[1] = nil, budgetOf(tokyo(named("tokyo-db-primary")))
		}, result{nil, nameConflict, no}},
		"PodDisruptionBudget of a former Cluster": {tokyo(ownPG), func(w *world) {
			w.Cluster.Live, w.Database.Live, w.Cluster.Budgets[0] = nil, nil, &policyv1.PodDisruptionBudget{}
		}, result{[]string{"Cluster"}, waitingForCluster, no}},
		"role of another Dojo": {tokyo(inPG), func(w *world) { w.Login.Logins[owner].Role.Labels = ofKyoto },
			result{nil, nameConflict, no}},
		"foreign database being deleted": {tokyo(inPG), func(w *world) {
			w.Database.Live.Labels, w.Database.Live.DeletionTimestamp = nil, &metav1.Time{Time: noon}
		}, result{nil, "Progressing/WaitingForDeletion", no}},
		"SQL changed": {tokyo(inPG), func(w *world) { w.SQL = "other" },
			result{nil, applyingSchema, inUse}},
		"SQL changed, Job of the former SQL gone": {tokyo(inPG), func(w *world) { w.SQL, w.jobs = "other", nil },
			result{[]string{"Database", "Job"}, applyingSchema, inUse}},
		"SQL missing": {tokyo(inPG), noSQL, result{nil, "Progressing/WaitingForSQL", inUse}},
		"SQL missing for long": {tokyo(inPG, waitingFor("ConfigMap school/sql", 2*time.Minute)), noSQL,
			result{nil, "Degraded/SQLNotFound", inUse}},
		"schema Job deleted": {tokyo(inPG), func(w *world) { w.jobs = nil },
			result{nil, "", yes}},
		"schema Job runs": {tokyo(inPG), otherSQL,
			result{nil, applyingSchema, inUse}},
		"schema failed":               {tokyo(inPG), failedSchema, result{nil, "Degraded/SchemaFailed", inUse}},
		"schema pod stuck":            {tokyo(inPG), stuckSchema, result{nil, "Degraded/SchemaFailed", inUse}},
		"schema failed, new password": {tokyo(inPG), do(failedSchema, noPassword), result{[]string{"Secret"}, creatingRole, no}},
		"no spec.postgres":            {tokyo(), do(), result{nil, "", yes}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := c.dojo.DeepCopy()
			before.Annotations = nil
			w := newWorld(t, tokyo(inPG))
			if before.Spec.Postgres != nil {
				w = inSync(t, before)
			}
			c.change(w)
			db := w.plan(c.dojo)
			if diff := cmp.Diff(c.want, result{kinds(db.Plan), worst(db.Plan), usable(db)}); diff != "" {
				t.Error(diff)
			}
			for _, issue := range db.Plan.Issues {
				if issue.Part != corev1api.ConditionDatabaseReady {
					t.Errorf("the issue %s is about %q", issue.Reason, issue.Part)
				}
			}
			for _, o := range db.Plan.Apply {
				if o.Part != corev1api.ConditionDatabaseReady {
					t.Errorf("the %s belongs to %q", o.Kind, o.Part)
				}
			}
		})
	}
}

// A foreign Cluster with the name of a lost Cluster must not replace the values that a restore needs.
func TestSizeOfAForeignCluster(t *testing.T) {
	t.Parallel()
	want := &corev1api.SizeStatus{Name: "Gone", Instances: 3, Storage: "20Gi"}
	dojo := tokyo(ownPG)
	dojo.Spec.Postgres.Cluster.Size = "Gone"
	dojo.Status.Database = &corev1api.DatabaseStatus{ClusterUID: "uid", Size: want}
	s := State{Unsized: conditions.Degraded(corev1api.ReasonUnknownSize, ""), Cluster: cluster.State{Live: &cnpgv1.Cluster{}}}
	if diff := cmp.Diff(want, Status(dojo, s).Size); diff != "" {
		t.Error(diff)
	}
}

// While the platform does not define the size, the Cluster keeps the values that the size has set,
// except for fields that the spec itself sets.
func TestUnknownSize(t *testing.T) {
	t.Parallel()
	memory := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("2Gi")}
	inUse := tokyo(ownPG, func(dojo *corev1api.Dojo) {
		own := dojo.Spec.Postgres.Cluster
		own.Size, own.Resources = "Gone", &corev1.ResourceRequirements{Requests: memory, Limits: memory}
		own.Parameters = map[string]corev1api.ParameterValue{"shared_buffers": "512MB"}
	})
	unresolved := func(changes ...func(*corev1api.Dojo)) *corev1api.Dojo {
		return tokyo(append([]func(*corev1api.Dojo){ownPG, func(dojo *corev1api.Dojo) {
			dojo.Spec.Postgres.Cluster.Size, dojo.Spec.Postgres.Cluster.Instances = "Gone", nil
		}}, changes...)...)
	}
	unknown := func(w *world) { w.Unsized = conditions.Degraded(corev1api.ReasonUnknownSize, "") }
	spec := inSync(t, inUse).Cluster.Live.Spec
	with := func(change func(*cnpgv1.ClusterSpec)) *cnpgv1.ClusterSpec {
		changed := spec.DeepCopy()
		change(changed)
		return changed
	}
	for name, c := range map[string]struct {
		dojo   *corev1api.Dojo
		change func(*world)
		writes []string
		issue  string
		want   *cnpgv1.ClusterSpec
	}{
		"running": {unresolved(), func(*world) {}, nil, "Degraded/UnknownSize", &spec},
		"running, without storage in the spec": {unresolved(func(dojo *corev1api.Dojo) {
			dojo.Spec.Postgres.Cluster.Storage = corev1api.PostgresStorage{}
		}), func(*world) {}, nil, "Degraded/UnknownSize", &spec},
		"instances in the spec": {unresolved(func(dojo *corev1api.Dojo) {
			dojo.Spec.Postgres.Cluster.Instances = new(int32(5))
		}), func(*world) {}, []string{"Cluster"}, "Degraded/UnknownSize",
			with(func(spec *cnpgv1.ClusterSpec) { spec.Instances = 5 })},
		"suspended": {unresolved(suspended), func(w *world) { w.Application.Stopped = true },
			[]string{"Cluster"}, "Progressing/Suspending", &spec},
		"hibernated": {unresolved(suspended), func(w *world) {
			w.Application.Stopped = true
			w.reconcile(unresolved(suspended))
			w.hibernated()
		}, nil, "Degraded/UnknownSize", &spec},
		"suspended, no Cluster yet": {unresolved(suspended), func(w *world) { w.Cluster.Live, w.Database.Live = nil, nil },
			nil, "Degraded/UnknownSize", nil},
		"no Cluster yet": {unresolved(), func(w *world) { w.Cluster.Live, w.Database.Live = nil, nil },
			nil, "Degraded/UnknownSize", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := inSync(t, inUse)
			unknown(w)
			c.change(w)
			db := w.reconcile(c.dojo)
			if diff := cmp.Diff(c.writes, kinds(db.Plan)); diff != "" || worst(db.Plan) != c.issue {
				t.Errorf("the issue is %s, the writes are %v", worst(db.Plan), kinds(db.Plan))
			}
			if c.want == nil {
				if w.Cluster.Live != nil {
					t.Error("a Cluster is created")
				}
				return
			}
			if diff := cmp.Diff(c.want, &w.Cluster.Live.Spec); diff != "" {
				t.Error(diff)
			}
			status := Status(c.dojo, w.observe(c.dojo))
			want := &corev1api.SizeStatus{Name: "Gone", Instances: int32(c.want.Instances), Memory: "2Gi", Storage: "1Gi"}
			if diff := cmp.Diff(want, status.Size); diff != "" || status.ReadOnlyHost != "tokyo-db-ro" {
				t.Error(status.ReadOnlyHost, diff)
			}
		})
	}
}

func budgetOf(dojo *corev1api.Dojo) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: dojo.Name, OwnerReferences: controlledBy(dojo)}}
}

func flipped(passed time.Duration) func(*world) {
	return func(w *world) {
		w.Cluster.Live.Status.Conditions = []metav1.Condition{{
			Type: "Ready", Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon.Add(-passed)),
		}}
	}
}

func pgVersion(version string) func(*corev1api.Dojo) {
	return func(dojo *corev1api.Dojo) { dojo.Spec.Postgres.Cluster.Version = version }
}

func data(major int) func(*world) {
	return func(w *world) {
		w.Cluster.Live.Status.Image = "registry.example/postgres"
		w.Cluster.Live.Status.PGDataImageInfo = &cnpgv1.ImageInfo{MajorVersion: major}
	}
}

func TestImages(t *testing.T) {
	t.Parallel()
	pg := func(version, image string) *corev1api.PostgresCluster {
		return &corev1api.PostgresCluster{Version: version, ImageName: image}
	}
	versioned := inSync(t, tokyo(ownPG, pgVersion("17"))).Cluster.Live
	byDefault := inSync(t, tokyo(ownPG)).Cluster.Live
	byDefault.Spec.ImageName = "cnpg/postgresql:18" // written by CloudNativePG
	for name, c := range map[string]struct {
		want *corev1api.PostgresCluster
		live *cnpgv1.Cluster
		is   string
	}{
		"no version or image":          {pg("", ""), nil, ""},
		"version":                      {pg("17", ""), nil, "registry.example/postgres:17"},
		"image":                        {pg("", "x:17"), nil, "x:17"},
		"no version, default image":    {pg("", ""), byDefault, ""},
		"version removed":              {pg("", ""), versioned, "registry.example/postgres:17"},
		"version of the default image": {pg("18", ""), byDefault, "cnpg/postgresql:18"},
		"another version than that of the default image": {pg("17", ""), byDefault, "registry.example/postgres:17"},
	} {
		dojo := tokyo(ownPG, pgVersion(c.want.Version))
		dojo.Spec.Postgres.Cluster.ImageName = c.want.ImageName
		got, _ := cluster.For(dojo, c.live, catalog).Object["spec"].(map[string]any)["imageName"].(string)
		if got != c.is {
			t.Errorf("%s: %q, not %q", name, got, c.is)
		}
	}
	for name, dojo := range map[string]*corev1api.Dojo{
		"version": tokyo(ownPG, pgVersion("16")),
		"image":   tokyo(ownPG, func(dojo *corev1api.Dojo) { dojo.Spec.Postgres.Cluster.ImageName = "x:16.9" }),
	} {
		for was, live := range map[string]*cnpgv1.Cluster{"version": versioned, "default": byDefault} {
			if issue := cluster.VersionTooLow(dojo, live, catalog); issue == nil || !issue.IsDegraded() {
				t.Errorf("%s 16 after %s: %+v", name, was, issue)
			}
		}
	}
}

func clusterWritten(w *world) { w.Cluster.Live.ManagedFields[0].Time = &metav1.Time{Time: noon} }

func clusterStatusWritten(w *world) {
	w.Cluster.Live.ManagedFields = append(w.Cluster.Live.ManagedFields,
		metav1.ManagedFieldsEntry{Manager: "manager", Subresource: "status", Time: &metav1.Time{Time: noon}})
}

func passwordWritten(w *world) { w.secrets[owner].CreationTimestamp = metav1.NewTime(noon) }

func noSQL(w *world) { w.MissingSQL = "ConfigMap school/sql" }

func failedSchema(w *world) {
	otherSQL(w)
	w.jobs[0].Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}
}

func stuckSchema(w *world) {
	otherSQL(w)
	pod := corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "InvalidImageName"}},
	}}}}
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(w.jobs[0], batchv1.SchemeGroupVersion.WithKind("Job"))}
	w.Schema.Pods = []corev1.Pod{pod}
}

const standbys = "standbys of the Cluster school/tokyo-db"

func TestRequeueTimeOfIssues(t *testing.T) {
	t.Parallel()
	noCluster := func(w *world) { w.Cluster.Live = nil }
	lacking := func(w *world) { setReady(w.Cluster.Live, 2) }
	cases := map[string]struct {
		dojo   *corev1api.Dojo
		change func(*world)
		want   time.Duration
		object string
	}{
		"Cluster missing": {tokyo(inPG), noCluster, 10 * time.Minute, "Cluster school/pg"},
		"Cluster missing for 4 minutes": {tokyo(inPG, waitingFor("Cluster school/pg", 4*time.Minute)), noCluster,
			6 * time.Minute, "Cluster school/pg"},
		"Cluster missing for 10 minutes": {tokyo(inPG, waitingFor("Cluster school/pg", 10*time.Minute)), noCluster,
			0, "Cluster school/pg"},
		"SQL missing": {tokyo(inPG), noSQL, 90 * time.Second, "ConfigMap school/sql"},
		"SQL missing for a minute": {tokyo(inPG, waitingFor("ConfigMap school/sql", time.Minute)), noSQL,
			30 * time.Second, "ConfigMap school/sql"},
		"SQL missing for an hour": {tokyo(inPG, waitingFor("ConfigMap school/sql", time.Hour)), noSQL,
			0, "ConfigMap school/sql"},
		"own Cluster lost": {tokyo(ownPG), noCluster, 0, ""}, // an event ends the wait
		"own Cluster lacks a standby for a minute": {tokyo(ownPG, waitingFor(standbys, time.Minute)),
			func(w *world) { w.unwrittenFor(time.Hour); lacking(w) }, 9 * time.Minute, standbys},
		"role pending": {tokyo(inPG), func(w *world) { w.Login.Logins[owner].Role.Status.Applied = nil }, 10 * time.Minute, ""},
		"database refused": {tokyo(inPG), func(w *world) { w.Database.Live.Status.Applied = ptr.To(false) },
			90 * time.Second, ""},
		"schema Job has no pod yet": {tokyo(inPG), otherSQL, 90 * time.Second, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := inSync(t, c.dojo)
			c.change(w)
			issues := w.plan(c.dojo).Plan.Issues
			if len(issues) != 1 || issues[0].RequeueAfter != c.want || issues[0].WaitingFor != c.object {
				t.Errorf("want %s for %q: %+v", c.want, c.object, issues)
			}
		})
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		dojo   *corev1api.Dojo
		change func(*world)
		want   string
	}{
		"CloudNativePG removed": {tokyo(inPG), func(w *world) { w.Missing = []string{"Database"} },
			"spec.postgres needs CloudNativePG 1.30 or newer, but this cluster does not have its kind Database. " +
				"Install or upgrade CloudNativePG (https://cloudnative-pg.io); the Dojo then continues automatically."},
		"Cluster comes up": {tokyo(ownPG), func(w *world) {
			setReady(w.Cluster.Live, 1)
			w.Cluster.Live.Status.Phase = "Setting up primary"
		},
			"1 of 3 instances of the Cluster school/tokyo-db are ready: Setting up primary."},
		"primary lost": {tokyo(ownPG), func(w *world) {
			setReady(w.Cluster.Live, 0)
			w.Cluster.Live.Status.ReadyInstances, w.Cluster.Live.Status.Phase = 2, "Failing over"
		}, "Requests cannot reach Postgres: the primary pg-1 of the Cluster school/tokyo-db is not ready. " +
			"2 of 3 instances of the Cluster school/tokyo-db are ready: Failing over."},
		"Cluster is lost": {tokyo(ownPG), func(w *world) { w.Cluster.Live = nil },
			"The Cluster school/tokyo-db is gone, with the data of the Dojo, and no empty one is created in its place. Restore the data: " +
				"`kubectl dojo restore tokyo -n school`. If nothing can be restored, begin with an empty database: " +
				"`kubectl dojo accept-loss tokyo -n school`; or run `kubectl annotate dojos.core.jutsu.com tokyo -n school --overwrite " +
				"core.jutsu.com/recreate-database=uid of tokyo`. All data of the Dojo is then lost."},
		"Cluster with barman-cloud is lost": {tokyo(ownPG, func(dojo *corev1api.Dojo) {
			dojo.Spec.Postgres.Cluster.Backup = &corev1api.Backup{
				Method: corev1api.BackupPlugin, Plugin: &corev1api.BackupPluginSpec{Name: cnpg.BarmanCloud},
			}
		}), func(w *world) { w.Cluster.Live = nil },
			"The Cluster school/tokyo-db is gone, with the data of the Dojo, and no empty one is created in its place. Restore the data: " +
				"`kubectl dojo restore tokyo -n school`. If nothing can be restored, begin with an empty database: " +
				"`kubectl dojo accept-loss tokyo -n school`; or run `kubectl annotate dojos.core.jutsu.com tokyo -n school --overwrite " +
				"core.jutsu.com/recreate-database=uid of tokyo` and set another serverName in " +
				"spec.postgres.cluster.backup.plugin.parameters. All data of the Dojo is then lost."},
		"Cluster is new": {tokyo(ownPG), func(w *world) { w.Cluster.Live, w.Database.Live = nil, nil },
			"0 of 3 instances of the Cluster school/tokyo-db are ready."},
		"hibernated": {tokyo(inPG), func(w *world) { w.Cluster.Live.Annotations = map[string]string{cnpg.HibernationAnnotation: "on"} },
			"The Cluster school/pg is hibernated. Resume it with `kubectl annotate clusters.postgresql.cnpg.io pg -n school cnpg.io/hibernation-`."},
		"database refused": {tokyo(inPG), func(w *world) {
			w.Database.Live.Status.Applied, w.Database.Live.Status.Message = ptr.To(false), "no"
		},
			"Waiting until Postgres has the database dojo_school_tokyo. CloudNativePG reports: no"},
		"database refused for long": {tokyo(inPG), func(w *world) {
			w.Database.Live.Status.Applied, w.Database.Live.Status.Message = ptr.To(false), "no"
			w.unwrittenFor(time.Hour)
		}, "Postgres still lacks the database dojo_school_tokyo after more than 1m30s. CloudNativePG reports: no. " +
			"See `kubectl describe databases.postgresql.cnpg.io tokyo-db -n school`."},
		"database object deleted by another client": {tokyo(inPG, dropping), func(w *world) {
			w.Database.Live.DeletionTimestamp = &metav1.Time{Time: noon}
		}, "Another client has deleted the Database school/tokyo-db. Once no client is connected to the database " +
			"dojo_school_tokyo, CloudNativePG drops it with all data. To keep the data, run `kubectl patch dojos.core.jutsu.com " +
			"tokyo -n school --type=merge -p '{\"spec\":{\"postgres\":{\"reclaimPolicy\":\"Retain\"}}}'` now. The operator then " +
			"creates the Database again."},
		"role pending for long": {tokyo(inPG), func(w *world) { w.Login.Logins[owner].Role.Status.Applied = nil; w.unwrittenFor(time.Hour) },
			"Postgres still lacks the role dojo_school_tokyo after more than 10m0s. CloudNativePG does not say why. " +
				"See `kubectl describe databaseroles.postgresql.cnpg.io tokyo-db -n school`."},
		"foreign role": {tokyo(inPG), func(w *world) { w.Login.Logins[owner].Role.Labels = nil },
			"The DatabaseRole school/tokyo-db exists and does not belong to this Dojo. If another owner needs the DatabaseRole, give the Dojo another name. " +
				"If the DatabaseRole should belong to this Dojo, as after a restore, add the Dojo's labels: " +
				"`kubectl label databaseroles.postgresql.cnpg.io tokyo-db -n school --overwrite app.kubernetes.io/name=dojo " +
				"app.kubernetes.io/instance=tokyo app.kubernetes.io/managed-by=dojo-operator`. " +
				"With the reclaimPolicy Delete, the DatabaseRole is then deleted with the Dojo."},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := inSync(t, c.dojo)
			c.change(w)
			if diff := cmp.Diff(c.want, conditions.Worst(w.plan(c.dojo).Plan.Issues).Message); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// If the write of an object fails, only the objects that depend on it wait.
func TestDependents(t *testing.T) {
	t.Parallel()
	dojo := tokyo(ownPG, backedUp)
	w := newWorld(t, dojo)
	w.reconcile(dojo)
	w.play()
	w.Cluster.Live.Spec.Instances = 1
	got := map[string][]string{}
	for _, o := range w.plan(dojo).Plan.Apply {
		got[o.Kind] = []string{}
		for _, before := range o.After {
			if before.Namespace != "school" || before.Name != "tokyo-db" {
				t.Errorf("the %s waits for %v", o.Kind, before)
			}
			got[o.Kind] = append(got[o.Kind], before.Kind)
		}
	}
	want := map[string][]string{
		"Cluster": {"Secret"}, "ScheduledBackup": {}, "Secret": {"Cluster"}, "DatabaseRole": {"Cluster", "Secret"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAPasswordIsPassedOnDespiteAFailedSchema(t *testing.T) {
	t.Parallel()
	dojo := tokyo(inPG)
	w := inSync(t, dojo)
	old := string(w.secrets[owner].Data["password"])
	w.secrets[owner] = nil
	w.reconcile(dojo)
	w.play()
	failedSchema(w)
	db := w.plan(dojo)
	if worst(db.Plan) != "Degraded/SchemaFailed" || !db.Usable(true) || db.Usable(false) {
		t.Errorf("%s, %s", worst(db.Plan), usable(db))
	}
	if fresh := string(w.secrets[owner].Data["password"]); fresh == old {
		t.Errorf("the password is still %q", fresh)
	}
}

// If the schema's Job and a release step ran at the same time, they could wait for each other's
// locks.
func TestSQLWaitsForTheReleaseStep(t *testing.T) {
	t.Parallel()
	dojo := tokyo(inPG)
	w := inSync(t, dojo)
	w.SQL, w.jobs = "other", nil
	s := w.observe(dojo)
	s.Application.Releasing = true
	db := Plan(dojo, s, testConfig)
	if db.Plan.Apply != nil || worst(db.Plan) != "Progressing/ApplyingSchema" || db.Usable(false) {
		t.Errorf("writes %v, %s, %s", kinds(db.Plan), worst(db.Plan), usable(db))
	}
	s.Application.Releasing = false
	if db := Plan(dojo, s, testConfig); len(db.Plan.Apply) != 2 {
		t.Errorf("after the step, writes %v", kinds(db.Plan))
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 60)
	names := map[string]bool{}
	for _, c := range []struct{ namespace, name, want string }{
		{"school", "tokyo", "dojo_school_tokyo"},
		{"my-school", "tokyo-high", "dojo_my_school_tokyo_high"},
		{"school", long + "-x", "dojo_school_" + strings.Repeat("a", 42) + "_"},
		{"school", long + "-y", "dojo_school_" + strings.Repeat("a", 42) + "_"},
	} {
		dojo := tokyo(func(dojo *corev1api.Dojo) { dojo.Namespace, dojo.Name = c.namespace, c.name })
		got, other := cnpg.SQLName(dojo), second.SQLName(dojo)
		if !strings.HasPrefix(other, "dojo2_") || len(other) > 63 || names[other] {
			t.Errorf("the second login of %s/%s has the name %s", c.namespace, c.name, other)
		}
		names[other] = true
		if !strings.HasPrefix(got, c.want) || len(got) > 63 || names[got] {
			t.Errorf("the database of %s/%s has the name %s", c.namespace, c.name, got)
		}
		names[got] = true
	}
}

func TestNamesOfBackupsAreLabels(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, dojoName := range []string{
		"tokyo", strings.Repeat("a", 45), strings.Repeat("a", 46), strings.Repeat("a", 46) + "b", strings.Repeat("a", 46) + "c",
	} {
		dojo := tokyo(ownPG, backedUp, named(dojoName))
		scheduled := backup.For(dojo, dojo.BackupPolicy(), false).GetName()
		for _, name := range []string{scheduled + "-20060102150405", cnpg.FinalBackupName(dojo)} {
			if len(name) > 63 || names[name] {
				t.Errorf("the name of a Backup of %s is %s, of %d characters, known: %t", dojoName, name, len(name), names[name])
			}
			names[name] = true
		}
		if len(dojoName) <= 45 && scheduled != dojoName+"-db" {
			t.Errorf("the schedule of %s is %s", dojoName, scheduled)
		}
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	shared := corev1api.DatabaseStatus{ClusterName: "pg", Name: "dojo_school_tokyo", Host: "pg-rw"}
	own := corev1api.DatabaseStatus{
		ClusterName: "tokyo-db", Name: "dojo_school_tokyo", Host: "tokyo-db-rw", ReadOnlyHost: "tokyo-db-ro",
	}
	with := func(status corev1api.DatabaseStatus, change func(*corev1api.DatabaseStatus)) *corev1api.DatabaseStatus {
		change(&status)
		return &status
	}
	seen := func(status *corev1api.DatabaseStatus) {
		status.Version, status.Instances, status.Primary = "17.6", "2/3", "pg-1"
	}
	standbys := func(status *corev1api.DatabaseStatus) { status.ReadOnlyHost = "pg-ro" }
	known := func(status corev1api.DatabaseStatus, changes ...func(*corev1api.DatabaseStatus)) func(*corev1api.Dojo) {
		for _, change := range changes {
			change(&status)
		}
		return func(dojo *corev1api.Dojo) { dojo.Status.Database = &status }
	}
	recorded := func(status *corev1api.DatabaseStatus) { status.ClusterUID = "former" }
	named := func(status *corev1api.DatabaseStatus) {
		seen(status)
		status.ClusterUID = "uid"
	}
	ours := func(instances int, own State) State {
		own.Cluster.Live.Spec.Instances, own.Cluster.Live.UID = instances, "uid"
		own.Cluster.Live.Labels = ownership.Labels(tokyo(), ownership.Application)
		return own
	}
	live := func(instances int) State {
		c := &cnpgv1.Cluster{Spec: cnpgv1.ClusterSpec{Instances: instances}}
		c.Status.Image, c.Status.ReadyInstances, c.Status.CurrentPrimary = "postgres:17.6-bookworm", 2, "pg-1"
		return State{Cluster: cluster.State{Live: c}}
	}
	unsized := func(s State) State {
		s.Unsized = conditions.Degraded("SizeNotFound", "")
		return s
	}
	alone := func(dojo *corev1api.Dojo) { dojo.Spec.Postgres.Cluster.Instances = nil }
	single := func(status *corev1api.DatabaseStatus) {
		seen(status)
		status.ReadOnlyHost, status.Instances = "", "2/1"
	}
	cases := map[string]struct {
		dojo  *corev1api.Dojo
		state State
		want  *corev1api.DatabaseStatus
	}{
		"no spec.postgres": {tokyo(), State{}, nil},
		"in another owner's Cluster that does not exist yet": {tokyo(inPG), State{}, &shared},
		"in another owner's Cluster that exists": {tokyo(inPG), live(3), with(shared, func(s *corev1api.DatabaseStatus) {
			seen(s)
			standbys(s)
		})},
		"in another owner's Cluster with one instance":   {tokyo(inPG, known(shared, standbys)), live(1), with(shared, single)},
		"in another owner's Cluster that is gone":        {tokyo(inPG, known(shared, seen, standbys)), State{}, with(shared, standbys)},
		"in another owner's Cluster that cannot be read": {tokyo(inPG, known(shared, seen)), State{Missing: []string{"Cluster"}}, with(shared, seen)},
		"in its own Cluster that does not exist yet":     {tokyo(ownPG), State{}, &own},
		"in its own Cluster that exists":                 {tokyo(ownPG, known(own, recorded)), ours(3, live(3)), with(own, named)},
		"in its own Cluster that is lost": {tokyo(ownPG, known(own, named)), State{}, with(own, func(s *corev1api.DatabaseStatus) {
			s.ClusterUID, s.Version, s.Instances = "uid", "17.6", "0/3"
		})},
		"a foreign Cluster has the own Cluster's name": {tokyo(ownPG, known(own, recorded)), live(3), with(own, func(s *corev1api.DatabaseStatus) {
			seen(s)
			recorded(s)
		})},
		"in its own Cluster of an unknown size":                              {tokyo(ownPG, alone, known(own, recorded)), unsized(ours(3, live(3))), with(own, named)},
		"in its own Cluster of an unknown size, the cache lacks the Cluster": {tokyo(ownPG, alone, known(own)), unsized(State{}), &own},
		"in its own Cluster with one instance":                               {tokyo(ownPG, alone, known(own)), live(1), with(own, single)},
	}
	for name, c := range cases {
		if diff := cmp.Diff(c.want, Status(c.dojo, c.state)); diff != "" {
			t.Error(name, diff)
		}
	}
}

func TestReferences(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		dojo *corev1api.Dojo
		want []string
	}{
		"no spec.postgres":           {tokyo(), nil},
		"in another owner's Cluster": {tokyo(inPG), []string{"tokyo-db", "pg", "tokyo-db-2"}},
		"in its own Cluster": {tokyo(ownPG), []string{
			"tokyo-db", "tokyo-db", "tokyo-db-2", "tokyo-db-pooler-rw", "tokyo-db-primary",
		}},
		"Dojo with a long name": {tokyo(ownPG, named(strings.Repeat("a", 46))), []string{
			strings.Repeat("a", 46) + "-db", strings.Repeat("a", 46) + "-db", strings.Repeat("a", 46) + "-db-2",
			strings.Repeat("a", 46) + "-db-pooler-rw", strings.Repeat("a", 46) + "-db-primary",
			strings.Repeat("a", 36) + "-" + cnpg.ShortHash(strings.Repeat("a", 46)) + "-db",
		}},
		"with SQL": {tokyo(inPG, withSQL), []string{"tokyo-db", "pg", "tokyo-db-2", "sql", "users"}},
	}
	for name, c := range cases {
		if diff := cmp.Diff(c.want, cnpg.References(c.dojo)); diff != "" {
			t.Error(name, diff)
		}
	}
}
