package dojo

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
)

// inPG gives the Dojo a database in the standing Cluster pg, ownPG one in a Cluster of its own.
func inPG(d *corev1api.Dojo) {
	d.Spec.CredentialsRef = nil
	d.Spec.Postgres = &corev1api.Postgres{ClusterRef: &corev1api.ClusterReference{Name: "pg"}, ReclaimPolicy: corev1api.ReclaimRetain}
}

func ownPG(d *corev1api.Dojo) {
	d.Spec.CredentialsRef = nil
	d.Spec.Postgres = &corev1api.Postgres{ReclaimPolicy: corev1api.ReclaimRetain, Cluster: &corev1api.PostgresCluster{
		Instances: ptr.To[int32](3), Storage: corev1api.PostgresStorage{Size: resource.MustParse("1Gi")},
	}}
}

func dropping(d *corev1api.Dojo) { d.Spec.Postgres.ReclaimPolicy = corev1api.ReclaimDelete }

func backedUp(d *corev1api.Dojo) {
	d.Spec.Postgres.Cluster.Backup = &corev1api.Backup{Schedule: "0 2 * * *", Method: corev1api.BackupVolumeSnapshot, FinalBackup: true}
}

func leaving(d *corev1api.Dojo) {
	d.DeletionTimestamp, d.Finalizers = &metav1.Time{Time: noon}, []string{corev1api.DatabaseFinalizer}
}

// put sets a field of a custom resource of the world.
func (w *world) put(kind string, value any, path ...string) {
	w.t.Helper()
	must(w.t, unstructured.SetNestedField(w.custom[kind].Object, value, path...))
}

// standing makes the Cluster pg.
func (w *world) standing() {
	o := clusterKind.Object()
	o.SetNamespace("school")
	o.SetName("pg")
	o.SetCreationTimestamp(metav1.NewTime(noon))
	w.custom = map[string]*unstructured.Unstructured{"Cluster": o}
	w.put("Cluster", int64(1), "spec", "instances")
}

// play does what CloudNativePG and the Job's pod would do.
func (w *world) play() {
	if w.custom["Cluster"] != nil {
		wanted, _, _ := unstructured.NestedInt64(w.custom["Cluster"].Object, "spec", "instances")
		w.put("Cluster", map[string]any{"readyInstances": wanted, "currentPrimary": "pg-1", "image": "postgres:17"}, "status")
	}
	for _, kind := range []string{"DatabaseRole", "Database"} {
		if o := w.custom[kind]; o != nil {
			status := map[string]any{"applied": true, "observedGeneration": o.GetGeneration()}
			if kind == "DatabaseRole" && w.password != nil {
				status["secretResourceVersion"] = w.password.ResourceVersion
			}
			w.put(kind, status, "status")
		}
	}
	for _, job := range w.jobs {
		job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	}
}

// settledDatabase is a world in which a Dojo with a database, as it is given, is settled.
func settledDatabase(t *testing.T, d *corev1api.Dojo) *world {
	t.Helper()
	w := &world{t: t}
	if d.Spec.Postgres.ClusterRef != nil {
		w.standing()
	}
	for range 12 {
		w.play()
		if s := w.pass(d); s.apply == nil && s.verdict == nil {
			return w
		}
		if w.deployment != nil {
			w.serve(*w.deployment.Spec.Replicas)
		}
	}
	t.Fatal("does not settle")
	return nil
}

func TestTheWayToADatabase(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		dojo *corev1api.Dojo
		want []string
	}{
		"in a standing Cluster": {tokyo(inPG, replicas(1)), []string{
			"Secret DatabaseRole: Waiting/CreatingRole", "Database: Waiting/CreatingDatabase", "Job: Waiting/ApplyingSchema",
			"Secret Deployment Service: Waiting/RollingOut", ": settled",
		}},
		"in one of its own": {tokyo(ownPG, replicas(1), backedUp), []string{
			"Cluster: Waiting/WaitingForCluster", "ScheduledBackup Secret DatabaseRole: Waiting/CreatingRole",
			"Database: Waiting/CreatingDatabase", "Job: Waiting/ApplyingSchema", "Secret Deployment Service: Waiting/RollingOut", ": settled",
		}},
		"to be deleted with the Dojo": {tokyo(inPG, dropping, replicas(1)), []string{
			"Secret DatabaseRole: Waiting/CreatingRole", "Database: Waiting/CreatingDatabase", "Job: Waiting/ApplyingSchema",
			"Secret Deployment Service: Waiting/RollingOut", ": settled",
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{t: t}
			if c.dojo.Spec.Postgres.ClusterRef != nil {
				w.standing()
			}
			var got []string
			for range len(c.want) {
				w.play()
				s := w.pass(c.dojo)
				got = append(got, strings.Join(kinds(s), " ")+": "+outcomeOf(s.verdict))
				if again := w.pass(c.dojo); again.apply != nil {
					t.Errorf("without anything having happened, %v is written again", kinds(again))
				}
				if w.deployment != nil {
					w.serve(1)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPlanOfADatabase(t *testing.T) {
	t.Parallel()
	type result struct {
		Writes   []string
		Outcome  string
		Database string
	}
	status := func(kind string, values map[string]any) func(w *world) {
		return func(w *world) {
			old, _, _ := unstructured.NestedMap(w.custom[kind].Object, "status")
			for key, value := range values {
				old[key] = value
			}
			w.put(kind, old, "status")
		}
	}
	ago := func(kind string, passed time.Duration) func(w *world) {
		return func(w *world) {
			for _, o := range []metav1.Object{w.custom[kind], w.custom["Cluster"], w.password} {
				at := metav1.NewTime(noon.Add(-passed))
				o.SetCreationTimestamp(at)
				fields := o.GetManagedFields()
				for i := range fields {
					fields[i].Time = &at
				}
				o.SetManagedFields(fields)
			}
		}
	}
	do := func(changes ...func(w *world)) func(w *world) {
		return func(w *world) {
			for _, change := range changes {
				change(w)
			}
		}
	}
	refused := status("Database", map[string]any{"applied": false, "message": "no"})
	behind := status("DatabaseRole", map[string]any{"observedGeneration": int64(0)})
	cases := map[string]struct {
		dojo   *corev1api.Dojo
		change func(w *world)
		want   result
	}{
		"settled":                   {tokyo(inPG), do(), result{nil, "settled", "settled"}},
		"CloudNativePG gone":        {tokyo(inPG), func(w *world) { w.without = "Database" }, result{nil, "Terminal/CloudNativePGNotInstalled", "Terminal/CloudNativePGNotInstalled"}},
		"gone, scaled":              {tokyo(inPG, replicas(5)), func(w *world) { w.without = "Database" }, result{[]string{"Deployment"}, "Terminal/CloudNativePGNotInstalled", "Terminal/CloudNativePGNotInstalled"}},
		"Cluster gone":              {tokyo(inPG), func(w *world) { delete(w.custom, "Cluster") }, result{nil, "Waiting/WaitingForCluster", "Waiting/WaitingForCluster"}},
		"own Cluster deleted":       {tokyo(ownPG), func(w *world) { delete(w.custom, "Cluster") }, result{[]string{"Cluster"}, "Waiting/WaitingForCluster", "Waiting/WaitingForCluster"}},
		"primary away":              {tokyo(inPG), status("Cluster", map[string]any{"readyInstances": int64(0)}), result{nil, "Waiting/WaitingForCluster", "Waiting/WaitingForCluster"}},
		"standing, lacks instances": {tokyo(inPG), func(w *world) { w.put("Cluster", int64(3), "spec", "instances") }, result{nil, "settled", "settled"}},
		"own, lacks instances":      {tokyo(ownPG), status("Cluster", map[string]any{"readyInstances": int64(2)}), result{nil, "Waiting/WaitingForCluster", "Waiting/WaitingForCluster"}},
		"own, lacks them for long": {tokyo(ownPG), do(status("Cluster", map[string]any{"readyInstances": int64(2)}), ago("Cluster", time.Hour)),
			result{nil, "Terminal/ClusterNotReady", "Terminal/ClusterNotReady"}},
		"role deleted":             {tokyo(inPG), func(w *world) { delete(w.custom, "DatabaseRole") }, result{[]string{"DatabaseRole"}, "Waiting/CreatingRole", "Waiting/CreatingRole"}},
		"database deleted":         {tokyo(inPG), func(w *world) { delete(w.custom, "Database") }, result{[]string{"Database"}, "Waiting/CreatingDatabase", "Waiting/CreatingDatabase"}},
		"role not looked at":       {tokyo(inPG), behind, result{nil, "Waiting/CreatingRole", "Waiting/CreatingRole"}},
		"role not for long":        {tokyo(inPG), do(behind, ago("DatabaseRole", 11*time.Minute)), result{nil, "Terminal/DatabaseFailed", "Terminal/DatabaseFailed"}},
		"role not, a moment ago":   {tokyo(inPG), do(behind, ago("DatabaseRole", 5*time.Minute)), result{nil, "Waiting/CreatingRole", "Waiting/CreatingRole"}},
		"database refused":         {tokyo(inPG), refused, result{nil, "Waiting/CreatingDatabase", "Waiting/CreatingDatabase"}},
		"database refused, grace":  {tokyo(inPG), do(refused, ago("Database", time.Minute)), result{nil, "Waiting/CreatingDatabase", "Waiting/CreatingDatabase"}},
		"database refused, past":   {tokyo(inPG), do(refused, ago("Database", 91*time.Second)), result{nil, "Terminal/DatabaseFailed", "Terminal/DatabaseFailed"}},
		"password deleted":         {tokyo(inPG), func(w *world) { w.password = nil }, result{[]string{"Secret"}, "Waiting/CreatingRole", "Waiting/CreatingRole"}},
		"password not in Postgres": {tokyo(inPG), status("DatabaseRole", map[string]any{"secretResourceVersion": "0"}), result{nil, "Waiting/CreatingRole", "Waiting/CreatingRole"}},
		"a stranger's password":    {tokyo(inPG), func(w *world) { w.password.Labels = nil }, result{nil, "Terminal/NameTaken", "Terminal/NameTaken"}},
		"a stranger's database":    {tokyo(inPG), func(w *world) { w.custom["Database"].SetLabels(nil) }, result{nil, "Terminal/NameTaken", "Terminal/NameTaken"}},
		"another Dojo's role": {tokyo(inPG), func(w *world) {
			w.custom["DatabaseRole"].SetLabels(labels(tokyo(func(d *corev1api.Dojo) { d.Name = "kyoto" })))
		}, result{nil, "Terminal/NameTaken", "Terminal/NameTaken"}},
		"SQL changed":          {tokyo(inPG), func(w *world) { w.sql = []string{"ConfigMap/sql/a/u/2"} }, result{[]string{"Job"}, "Waiting/ApplyingSchema", "Waiting/ApplyingSchema"}},
		"SQL missing":          {tokyo(inPG), func(w *world) { w.absentSQL = "ConfigMap school/sql" }, result{nil, "Waiting/WaitingForSQL", "Waiting/WaitingForSQL"}},
		"schema Job deleted":   {tokyo(inPG), func(w *world) { w.jobs = nil }, result{[]string{"Job"}, "Waiting/ApplyingSchema", "Waiting/ApplyingSchema"}},
		"schema failed":        {tokyo(inPG), failedSchema, result{nil, "Terminal/SchemaFailed", "Terminal/SchemaFailed"}},
		"failed, pods crash":   {tokyo(inPG), do(failedSchema, crashing), result{nil, "Terminal/SchemaFailed", "Terminal/SchemaFailed"}},
		"settled, pods crash":  {tokyo(inPG), crashing, result{nil, "Terminal/CrashLoopBackOff", "settled"}},
		"failed, new password": {tokyo(inPG), do(failedSchema, func(w *world) { w.password = nil }), result{[]string{"Secret"}, "Waiting/CreatingRole", "Waiting/CreatingRole"}},
		"waits, pods crash":    {tokyo(inPG), do(behind, crashing), result{nil, "Terminal/CrashLoopBackOff", "Waiting/CreatingRole"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settled := c.dojo.DeepCopy()
			settled.Spec.Replicas = ptr.To[int32](3)
			w := settledDatabase(t, settled)
			c.change(w)
			s := plan(c.dojo, w.see(c.dojo), testConfig)
			if diff := cmp.Diff(c.want, result{kinds(s), outcomeOf(s.verdict), outcomeOf(s.database)}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func failedSchema(w *world) {
	w.jobs[0].Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}
	w.jobPods = []corev1.Pod{{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3, Message: "ERROR: no\n"}},
	}}}}}
}

// A schema that fails must not keep the pods from the password that Postgres has.
func TestAPasswordIsPassedOnWhateverTheSchemaDoes(t *testing.T) {
	t.Parallel()
	d := tokyo(inPG)
	w := settledDatabase(t, d)
	old := string(w.own.Data["DB_PASS"])
	failedSchema(w)
	w.password = nil
	w.pass(d)
	jobs := w.jobs[0].Status
	w.play()
	w.jobs[0].Status = jobs
	s := w.pass(d)
	if diff := cmp.Diff([]string{"Secret", "Deployment"}, kinds(s)); diff != "" {
		t.Error(diff)
	}
	if fresh := string(w.own.Data["DB_PASS"]); fresh == old || fresh != string(w.password.Data["password"]) {
		t.Errorf("the pods read %q", fresh)
	}
	if outcomeOf(s.database) != "Terminal/SchemaFailed" {
		t.Errorf("database: %v", s.database)
	}
}

func TestPostgresName(t *testing.T) {
	t.Parallel()
	of := func(namespace, name string) string {
		return postgresName(tokyo(func(d *corev1api.Dojo) { d.Namespace, d.Name = namespace, name }))
	}
	long := strings.Repeat("a", 60)
	names := map[string]bool{}
	for _, c := range []struct{ namespace, name, want string }{
		{"school", "tokyo", "dojo_school_tokyo"},
		{"my-school", "tokyo-high", "dojo_my_school_tokyo_high"},
		{"school", long + "-x", "dojo_school_" + strings.Repeat("a", 42) + "_"},
		{"school", long + "-y", "dojo_school_" + strings.Repeat("a", 42) + "_"},
	} {
		got := of(c.namespace, c.name)
		if !strings.HasPrefix(got, c.want) || len(got) > 63 || names[got] {
			t.Errorf("%s/%s is called %s", c.namespace, c.name, got)
		}
		names[got] = true
	}
}

func TestDatabaseReadyTellsWhatKeptAStepFromBeingTaken(t *testing.T) {
	t.Parallel()
	d := tokyo(inPG)
	w := &world{t: t}
	w.standing()
	w.play()
	seen := w.see(d)
	todo := plan(d, seen, testConfig)
	for name, c := range map[string]struct {
		failed error
		want   string
	}{
		"as planned": {nil, "CreatingRole"},
		"refused":    {refusal(d, todo.apply[1], errForbidden), "ChildRefused"},
		"away":       {errAway, "Retrying"},
	} {
		todo.apply[1].failed = c.failed
		got := meta.FindStatusCondition(status(d, seen, todo, graver(c.failed, todo.verdict)).Conditions, corev1api.ConditionDatabaseReady)
		if got == nil || got.Status != metav1.ConditionFalse || got.Reason != c.want || got.ObservedGeneration != d.Generation {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if c := meta.FindStatusCondition(status(tokyo(), settledWorld(t, tokyo()).see(tokyo()), &steps{}, nil).Conditions, corev1api.ConditionDatabaseReady); c != nil {
		t.Errorf("a Dojo without spec.postgres has %+v", c)
	}
}

// The condition is CloudNativePG's own; what it says of a Dojo without backups is nobody's business.
func TestBackupSucceeded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dojo *corev1api.Dojo
		says string
		want string
	}{
		"none yet":   {tokyo(ownPG, backedUp), "", ""},
		"succeeded":  {tokyo(ownPG, backedUp), "True", "True/LastBackupSucceeded: The last backup has succeeded."},
		"failed":     {tokyo(ownPG, backedUp), "False", "False/LastBackupFailed: The last backup has failed: no space left. See `kubectl get backups`."},
		"not wanted": {tokyo(ownPG), "False", ""},
	} {
		w := settledDatabase(t, c.dojo)
		if c.says != "" {
			w.put("Cluster", []any{map[string]any{"type": "LastBackupSucceeded", "status": c.says, "reason": "x", "message": "no space left."}}, "status", "conditions")
		}
		seen, got := w.see(c.dojo), ""
		s := status(c.dojo, seen, plan(c.dojo, seen, testConfig), nil)
		if found := meta.FindStatusCondition(s.Conditions, corev1api.ConditionBackupSucceeded); found != nil {
			got = string(found.Status) + "/" + found.Reason + ": " + found.Message
		}
		if got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
