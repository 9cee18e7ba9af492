// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/dojotest"
	"jutsu.com/operators/dojo-operator/internal/optionalkinds"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/dojo-operator/internal/postgres/images"
	"jutsu.com/operators/dojo-operator/internal/postgres/login"
	"jutsu.com/operators/dojo-operator/internal/postgres/pooler"
	"jutsu.com/operators/dojo-operator/internal/postgres/schema"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

const owner, second = cnpg.Owner, cnpg.Second

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

var testConfig = Config{
	Deadline: 10 * time.Minute, ProgressDeadline: 90 * time.Second,
}

var catalog = images.Input{Catalog: dojotest.Catalog(), Now: noon}

func tokyo(changes ...func(*corev1api.Dojo)) *corev1api.Dojo {
	dojo := &corev1api.Dojo{
		ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: "tokyo", UID: "uid of tokyo", Generation: 3},
		Spec: corev1api.DojoSpec{
			AccountID: "Masamichi Yaga", Title: "Tokyo Jujutsu High", Replicas: ptr.To[int32](3),
			Database: corev1api.DatabasePostgres,
		},
	}
	for _, change := range changes {
		change(dojo)
	}
	return dojo
}

func inPG(dojo *corev1api.Dojo) {
	dojo.Spec.Postgres = &corev1api.Postgres{
		ClusterRef: &corev1api.ClusterReference{Name: "pg"}, ReclaimPolicy: corev1api.ReclaimRetain,
	}
}

func ownPG(dojo *corev1api.Dojo) {
	dojo.Spec.Postgres = &corev1api.Postgres{ReclaimPolicy: corev1api.ReclaimRetain, Cluster: &corev1api.PostgresCluster{
		Instances: ptr.To[int32](3), Storage: corev1api.PostgresStorage{Size: resource.MustParse("1Gi")},
	}}
}

func dropping(dojo *corev1api.Dojo) { dojo.Spec.Postgres.ReclaimPolicy = corev1api.ReclaimDelete }

func backedUp(dojo *corev1api.Dojo) {
	dojo.Spec.Postgres.Cluster.Backup = &corev1api.Backup{
		Schedule: "0 2 * * *", Method: corev1api.BackupVolumeSnapshot, FinalBackup: true,
	}
}

func withSQL(dojo *corev1api.Dojo) {
	dojo.Spec.Postgres.InitSQL = []corev1api.SQLSource{
		{ConfigMapKeyRef: &corev1api.KeyReference{Name: "sql", Key: "tables.sql"}},
		{SecretKeyRef: &corev1api.KeyReference{Name: "users", Key: "all"}},
	}
}

func named(name string) func(*corev1api.Dojo) {
	return func(dojo *corev1api.Dojo) { dojo.Name, dojo.UID = name, types.UID("uid of "+name) }
}

func rotating(dojo *corev1api.Dojo) {
	dojo.Annotations = map[string]string{corev1api.RotatePasswordAnnotation: "today"}
}

func waitingFor(object string, waited time.Duration) func(*corev1api.Dojo) {
	return func(dojo *corev1api.Dojo) {
		dojo.Status.WaitingFor = []corev1api.Wait{{Object: object, Since: metav1.NewTime(noon.Add(-waited))}}
	}
}

// world simulates the objects of a database. observe derives the State from them.
type world struct {
	State
	t       *testing.T
	dojo    *corev1api.Dojo
	secrets [2]*corev1.Secret
	jobs    []*batchv1.Job
	version int
	// source names the application's Secret, outdated says why pods may have a former login.
	source, outdated string

	SQL, MissingSQL string
}

func newWorld(t *testing.T, dojo *corev1api.Dojo) *world {
	w := &world{t: t, dojo: dojo, State: State{Now: noon, Catalog: dojotest.Catalog()}}
	if dojo.Spec.Postgres.ClusterRef != nil {
		w.Cluster.Live = &cnpgv1.Cluster{ObjectMeta: metav1.ObjectMeta{
			Namespace: dojo.Namespace, Name: "pg", UID: "uid of pg", CreationTimestamp: metav1.NewTime(noon),
		}}
		w.Cluster.Live.Spec.Instances = 1
	}
	return w
}

func inSync(t *testing.T, dojo *corev1api.Dojo) *world {
	t.Helper()
	w := newWorld(t, dojo)
	for range 8 {
		w.play()
		if db := w.reconcile(dojo); db.Plan.Apply == nil && db.Plan.Issues == nil {
			return w
		}
	}
	t.Fatal("the database is not in sync after 8 reconciles")
	return nil
}

func (w *world) observe(dojo *corev1api.Dojo) State {
	w.version++
	s := w.State
	for l, secret := range w.secrets {
		own := &s.Login.Logins[l]
		own.NewPassword = fmt.Sprint("password-", w.version, "-", l)
		if secret != nil {
			own.Secret = apply.Metadata("v1", "Secret")
			own.Secret.ObjectMeta = *secret.ObjectMeta.DeepCopy()
			if ownership.Holds(dojo, own.Secret) && !login.InSync(dojo, cnpg.Login(l), own.Secret) {
				own.Password = secret.Data["password"]
			}
		}
	}
	s.forget()
	s.Login.Connect(dojo, w.source)
	s.Application.Outdated = w.outdated
	s.Schema = schema.State{Now: noon, Missing: w.MissingSQL, Pods: w.Schema.Pods}
	if s.Cluster.Live != nil && s.Database.Live != nil && w.MissingSQL == "" {
		s.Schema.Digest = fmt.Sprint(w.SQL, " for ", s.Cluster.Live.UID, s.Database.Live.UID)
		s.Schema.Versions = "versions of " + s.Schema.Digest
	}
	for _, job := range w.jobs {
		if job.Annotations["core.jutsu.com/schema"] == s.Schema.Digest {
			s.Schema.SameName = job
		}
		switch {
		case !metav1.IsControlledBy(job, dojo):
		case strings.HasPrefix(job.Name, dojo.Name+"-statistics-"):
			s.Schema.Statistics = append(s.Schema.Statistics, job)
		default:
			s.Schema.Jobs = append(s.Schema.Jobs, job)
		}
	}
	return s
}

func (s *State) forget() {
	for kind, forget := range map[*optionalkinds.Kind]func(){
		&cnpg.ClusterKind:  func() { s.Cluster.Live = nil },
		&cnpg.RoleKind:     func() { s.Login.Logins[owner].Role, s.Login.Logins[second].Role = nil, nil },
		&cnpg.DatabaseKind: func() { s.Database.Live = nil },
		&cnpg.ScheduleKind: func() { s.Backup.Schedule = nil },
		&cnpg.BackupKind:   func() { s.Backup.Final = nil },
		&cnpg.PoolerKind:   func() { s.Pooler = pooler.State{} },
	} {
		if !s.has(*kind) {
			forget()
		}
	}
}

func without(kinds ...string) func(*world) { return func(w *world) { w.Missing = kinds } }

func removed() func(*world) {
	var all []string
	for _, kind := range cnpg.Kinds() {
		all = append(all, kind.Kind)
	}
	return without(all...)
}

func (w *world) plan(dojo *corev1api.Dojo) Database { return Plan(dojo, w.observe(dojo), testConfig) }

func (w *world) reconcile(dojo *corev1api.Dojo) Database {
	w.t.Helper()
	db := w.plan(dojo)
	for _, o := range db.Plan.Apply {
		switch o.Kind {
		case "Secret":
			l := loginOf(dojo, o)
			w.secrets[l] = stored(w, w.secrets[l], o)
		case "Job":
			job := stored[batchv1.Job](w, nil, o)
			job.UID = types.UID(job.Name)
			w.jobs = append(w.jobs, job)
		case "Cluster":
			w.Cluster.Live = stored(w, w.Cluster.Live, o)
		case "DatabaseRole":
			login := &w.Login.Logins[loginOf(dojo, o)]
			before := login.Role
			if login.Role = stored(w, before, o); before != nil {
				login.Role.Status = before.Status
			}
		case "Database":
			w.Database.Live = stored(w, w.Database.Live, o)
		case "ScheduledBackup":
			w.Backup.Schedule = stored(w, w.Backup.Schedule, o)
		case "Pooler":
			w.Pooler.Pooler = stored(w, w.Pooler.Pooler, o)
		default:
			w.t.Fatalf("a %s is written", o.Kind)
		}
	}
	return db
}

func loginOf(dojo *corev1api.Dojo, o *apply.Object) cnpg.Login {
	if o.Name == second.ObjectName(dojo) {
		return second
	}
	return owner
}

// stored returns an object as the API server would store it after the operator's apply.
func stored[T any, L interface {
	*T
	client.Object
}](w *world, live L, o *apply.Object) L {
	w.t.Helper()
	after := L(new(T))
	must(w.t, runtime.DefaultUnstructuredConverter.FromUnstructured(o.Desired.Object, after))
	fields, err := fieldpath.SetFromValue(value.NewValueInterface(withoutLists(o.Desired.Object))).ToJSON()
	must(w.t, err)
	at := metav1.NewTime(noon)
	after.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: ownership.FieldOwner, Operation: metav1.ManagedFieldsOperationApply, Time: &at,
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(string(fields)),
	}})
	w.version++
	after.SetResourceVersion(strconv.Itoa(w.version))
	after.SetUID(types.UID("uid of the " + o.Kind))
	after.SetCreationTimestamp(at)
	if o.Kind != "Secret" {
		after.SetGeneration(1)
	}
	if live != nil {
		after.SetGeneration(live.GetGeneration() + 1)
	}
	return after
}

// withoutLists makes each list one value, like server-side apply of CloudNativePG's kinds.
func withoutLists(v any) any {
	switch v := v.(type) {
	case map[string]any:
		leaves := map[string]any{}
		for key, value := range v {
			leaves[key] = withoutLists(value)
		}
		return leaves
	case []any:
		return "a list"
	}
	return v
}

func (w *world) play() {
	w.playPostgres()
	for _, job := range w.jobs {
		job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	}
}

func (w *world) playPostgres() {
	if cluster := w.Cluster.Live; cluster != nil {
		cluster.Status = cnpgv1.ClusterStatus{
			CurrentPrimary: "pg-1", TargetPrimary: "pg-1", Image: "postgres:17", Conditions: cluster.Status.Conditions,
		}
		for _, plugin := range cluster.Spec.Plugins {
			cluster.Status.PluginStatus = append(cluster.Status.PluginStatus, cnpgv1.PluginStatus{Name: plugin.Name})
		}
		setReady(cluster, cluster.Spec.Instances)
	}
	for l, login := range w.Login.Logins {
		if login.Role == nil {
			continue
		}
		login.Role.Status = cnpgv1.DatabaseRoleStatus{Applied: ptr.To(true), ObservedGeneration: login.Role.Generation}
		if w.secrets[l] != nil {
			login.Role.Status.SecretResourceVersion = w.secrets[l].ResourceVersion
		}
	}
	w.playPooler()
	if w.Database.Live != nil {
		w.Database.Live.Status = cnpgv1.DatabaseStatus{Applied: ptr.To(true), ObservedGeneration: w.Database.Live.Generation}
	}
}

func setReady(cluster *cnpgv1.Cluster, instances int) {
	var ready []string
	for i := range instances {
		ready = append(ready, fmt.Sprint("pg-", i+1))
	}
	cluster.Status.ReadyInstances = instances
	cluster.Status.InstancesStatus = map[cnpgv1.PodStatus][]string{cnpgv1.PodHealthy: ready}
}

func (w *world) unwrittenFor(passed time.Duration) {
	at := metav1.NewTime(noon.Add(-passed))
	for _, o := range []metav1.Object{w.Cluster.Live, w.Login.Logins[owner].Role, w.Database.Live, w.secrets[owner]} {
		o.SetCreationTimestamp(at)
		fields := o.GetManagedFields()
		for i := range fields {
			fields[i].Time = &at
		}
		o.SetManagedFields(fields)
	}
}

func otherSQL(w *world) {
	w.SQL, w.jobs = "other", nil
	w.reconcile(w.dojo)
	w.playPostgres()
}

func controlledBy(dojo *corev1api.Dojo) []metav1.OwnerReference {
	return []metav1.OwnerReference{*metav1.NewControllerRef(dojo, corev1api.GroupVersion.WithKind("Dojo"))}
}

func kinds(p apply.Plan) (all []string) {
	for _, o := range p.Apply {
		all = append(all, o.Kind)
	}
	return all
}

func deleted(p apply.Plan) (all []string) {
	for _, old := range p.Delete {
		all = append(all, old.Kind)
	}
	return all
}

func worst(p apply.Plan) string {
	issue := conditions.Worst(p.Issues)
	if issue == nil {
		return ""
	}
	return issue.Type + "/" + issue.Reason
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
