// SPDX-License-Identifier: Apache-2.0

package dojo

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8slabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/dojotest"
	"jutsu.com/operators/dojo-operator/internal/mounted"
	"jutsu.com/operators/dojo-operator/internal/optionalkinds"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/pods"
	"jutsu.com/operators/dojo-operator/internal/postgres"
	"jutsu.com/operators/dojo-operator/internal/workload"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/apply/applytest"
	"jutsu.com/operators/libs/conditions"
)

var databaseNoon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

var databaseConfig = Config{
	Postgres: postgres.Config{
		Deadline: 10 * time.Minute, ProgressDeadline: 90 * time.Second,
	},
	Workload: workload.Config{Image: "registry.example/dojo:9", ProgressDeadline: 90 * time.Second},
}

func withDatabase(changes ...func(*corev1api.Dojo)) *corev1api.Dojo {
	dojo := &corev1api.Dojo{
		ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: "tokyo"},
		Spec: corev1api.DojoSpec{
			AccountID: "Masamichi Yaga", Title: "Tokyo Jujutsu High", Replicas: ptr.To[int32](1),
			Database: corev1api.DatabasePostgres,
			Postgres: &corev1api.Postgres{
				ClusterRef: &corev1api.ClusterReference{Name: "pg"}, ReclaimPolicy: corev1api.ReclaimRetain,
			},
		},
	}
	for _, change := range changes {
		change(dojo)
	}
	return dojo
}

func inOwnCluster(dojo *corev1api.Dojo) {
	dojo.Spec.Postgres.ClusterRef = nil
	dojo.Spec.Postgres.Cluster = &corev1api.PostgresCluster{
		Instances: ptr.To[int32](3), Storage: corev1api.PostgresStorage{Size: resource.MustParse("1Gi")},
	}
}

func reclaimed(dojo *corev1api.Dojo) { dojo.Spec.Postgres.ReclaimPolicy = corev1api.ReclaimDelete }

func nightly(dojo *corev1api.Dojo) {
	dojo.Spec.Postgres.Cluster.Backup = &corev1api.Backup{
		Schedule: "0 2 * * *", Method: corev1api.BackupVolumeSnapshot, FinalBackup: true,
	}
}

type databaseWorld struct {
	*Reconciler
	t      *testing.T
	server *applytest.Server
	dojo   *corev1api.Dojo
	// without lists the kinds that are not in the cache. If unreadable is true, each of these kinds
	// still has a CustomResourceDefinition.
	without    []string
	unreadable bool
}

func (w *databaseWorld) Has(kind optionalkinds.Kind) bool {
	return kind.Group == cnpgv1.SchemeGroupVersion.Group && !slices.Contains(w.without, kind.Kind)
}

func (w *databaseWorld) Defined(_ context.Context, kind optionalkinds.Kind) (bool, error) {
	return w.Has(kind) || w.unreadable && slices.Contains(w.without, kind.Kind), nil
}

func newDatabaseWorld(t *testing.T, dojo *corev1api.Dojo) *databaseWorld {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1api.AddToScheme, clientgoscheme.AddToScheme, cnpgv1.AddToScheme,
	} {
		noError(t, add(scheme))
	}
	clock := testclock.NewFakePassiveClock(databaseNoon)
	server := applytest.New(scheme, clock)
	noError(t, addIndexes(t.Context(), server))
	w := &databaseWorld{t: t, server: server, dojo: dojo.DeepCopy()}
	w.Reconciler = &Reconciler{
		Client: server, Live: server, Kinds: w, Clock: clock, Config: databaseConfig,
		Catalog: mounted.Fixed(dojotest.Catalog()),
		applier: apply.New(server, ownership.FieldOwner, apply.Reasons{Refused: corev1api.ReasonChildRefused}, clock),
	}
	noError(t, server.Create(t.Context(), w.dojo))
	if dojo.Spec.Postgres.ClusterRef != nil {
		pg := &cnpgv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: "pg"}}
		pg.Spec.Instances = 1
		noError(t, server.Create(t.Context(), pg))
	}
	return w
}

func upToDate(t *testing.T, dojo *corev1api.Dojo) *databaseWorld {
	t.Helper()
	w := newDatabaseWorld(t, dojo)
	for range 8 {
		w.play()
		if _, plan := w.reconcile(); plan.Apply == nil && plan.Issues == nil {
			return w
		}
	}
	t.Fatal("the Dojo is not in sync after 8 reconciles")
	return nil
}

func (w *databaseWorld) plan() (State, apply.Plan) {
	w.t.Helper()
	s, err := w.observe(w.t.Context(), w.dojo, nil)
	noError(w.t, err)
	return s, Plan(w.dojo, s, w.Config)
}

func (w *databaseWorld) reconcile() (State, apply.Plan) {
	w.t.Helper()
	s, plan := w.plan()
	if results := w.applier.Run(w.t.Context(), w.dojo, plan); results.Issues != nil || results.Stale {
		w.t.Fatalf("results are %+v", results)
	}
	return s, plan
}

func inWorld[T any, L interface {
	*T
	client.Object
}](w *databaseWorld, name string) L {
	w.t.Helper()
	return applytest.Get(w.t, w.server, "school", name, L(new(T)))
}

func setStatus[T any, L interface {
	*T
	client.Object
}](w *databaseWorld, name string, change func(L)) {
	w.t.Helper()
	if live := inWorld[T, L](w, name); live != nil {
		applytest.EditStatus(w.t, w.server, "others", live, change)
	}
}

func (w *databaseWorld) remove(o client.Object, name string) {
	w.t.Helper()
	o.SetNamespace("school")
	o.SetName(name)
	noError(w.t, w.server.Delete(w.t.Context(), o))
}

// play simulates CloudNativePG and the controllers of Kubernetes.
func (w *databaseWorld) play() {
	w.t.Helper()
	for _, name := range []string{"pg", "tokyo-db"} {
		setStatus(w, name, func(cluster *cnpgv1.Cluster) {
			cluster.Status.ReadyInstances, cluster.Status.CurrentPrimary, cluster.Status.Image = cluster.Spec.Instances, "pg-1", "postgres:17"
			cluster.Status.TargetPrimary = "pg-1"
			cluster.Status.InstancesStatus = map[cnpgv1.PodStatus][]string{cnpgv1.PodHealthy: {"pg-1"}}
		})
	}
	setStatus(w, "tokyo-db", func(r *cnpgv1.DatabaseRole) {
		r.Status = cnpgv1.DatabaseRoleStatus{Applied: ptr.To(true), ObservedGeneration: r.Generation}
		if secret := inWorld[corev1.Secret](w, "tokyo-db"); secret != nil {
			r.Status.SecretResourceVersion = secret.ResourceVersion
		}
	})
	setStatus(w, "tokyo-db", func(db *cnpgv1.Database) {
		db.Status.Applied, db.Status.ObservedGeneration = ptr.To(true), db.Generation
	})
	w.schemaEnds(batchv1.JobComplete)
	w.serve(1)
}

func (w *databaseWorld) schemaEnds(with batchv1.JobConditionType) {
	w.t.Helper()
	var jobs batchv1.JobList
	noError(w.t, w.server.List(w.t.Context(), &jobs, client.InNamespace("school")))
	for i := range jobs.Items {
		setStatus(w, jobs.Items[i].Name, func(j *batchv1.Job) {
			j.Status.Conditions = []batchv1.JobCondition{{Type: with, Status: corev1.ConditionTrue}}
		})
	}
}

func (w *databaseWorld) schemaFails() {
	w.t.Helper()
	applytest.Edit(w.t, w.server, "others", inWorld[cnpgv1.Database](w, "tokyo-db"),
		func(db *cnpgv1.Database) { db.Annotations = nil })
	w.reconcile()
	w.play()
	w.schemaEnds(batchv1.JobFailed)
}

func (w *databaseWorld) serve(ready int32) {
	w.t.Helper()
	setStatus(w, "tokyo", func(d *appsv1.Deployment) {
		d.Status = appsv1.DeploymentStatus{
			ObservedGeneration: d.Generation, Replicas: *d.Spec.Replicas, UpdatedReplicas: *d.Spec.Replicas,
			ReadyReplicas: ready, AvailableReplicas: ready,
		}
	})
}

func (w *databaseWorld) crash() {
	w.t.Helper()
	w.serve(0)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "school", Name: "tokyo-1", Labels: ownership.Labels(w.dojo, ownership.Application),
	}}
	noError(w.t, w.server.Create(w.t.Context(), pod))
	setStatus(w, "tokyo-1", func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "dojo", RestartCount: 5,
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 2}},
		}}
	})
}

func writtenKinds(p apply.Plan) (all []string) {
	for _, o := range p.Apply {
		all = append(all, o.Kind)
	}
	return all
}

func worstOf(issues []conditions.Issue) string {
	issue := conditions.Worst(issues)
	if issue == nil {
		return ""
	}
	return issue.Type + "/" + issue.Reason
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestStepsToADojoWithADatabase(t *testing.T) {
	t.Parallel()
	way := []string{
		"Secret DatabaseRole: Progressing/CreatingRole", "Database: Progressing/CreatingDatabase",
		"Job: Progressing/ApplyingSchema", "Database Secret Deployment Service: Progressing/RollingOut", ": ",
	}
	cases := map[string]struct {
		dojo *corev1api.Dojo
		want []string
	}{
		"in a Cluster of another owner":                       {withDatabase(), way},
		"in a Cluster of another owner, reclaimPolicy Delete": {withDatabase(reclaimed), way},
		"in a Cluster of its own": {withDatabase(inOwnCluster, nightly), append([]string{
			"Cluster: Progressing/WaitingForCluster", "ScheduledBackup Secret DatabaseRole: Progressing/CreatingRole",
		}, way[1:]...)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newDatabaseWorld(t, c.dojo)
			var got []string
			for range len(c.want) {
				w.play()
				_, plan := w.reconcile()
				got = append(got, strings.Join(writtenKinds(plan), " ")+": "+worstOf(plan.Issues))
				if _, again := w.reconcile(); again.Apply != nil {
					t.Errorf("without any change, %v is written again", writtenKinds(again))
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A failed database delays only writes that depend on it. Crashing pods do not delay the database.
func TestPlanOfADojoWithADatabase(t *testing.T) {
	t.Parallel()
	type result struct {
		Writes          []string
		Issue, Database string
	}
	const crashes, schemaFailed = "Degraded/CrashLoopBackOff", "Degraded/SchemaFailed"
	const notInstalled, creatingRole = "Degraded/CloudNativePGNotInstalled", "Progressing/CreatingRole"
	removed := func(w *databaseWorld) { w.without = []string{"Database"} }
	scaled := func(w *databaseWorld) { w.dojo.Spec.Replicas = ptr.To[int32](5) }
	imaged := func(w *databaseWorld) { w.dojo.Spec.Image = "dojo:next" }
	behind := func(w *databaseWorld) {
		setStatus(w, "tokyo-db", func(r *cnpgv1.DatabaseRole) { r.Status.ObservedGeneration = 0 })
	}
	failed := func(w *databaseWorld) { w.schemaFails() }
	noPassword := func(w *databaseWorld) { w.remove(&corev1.Secret{}, "tokyo-db") }
	noService := func(w *databaseWorld) { w.remove(&corev1.Service{}, "tokyo") }
	taken := func(w *databaseWorld) {
		applytest.Edit(w.t, w.server, "others", inWorld[corev1.Service](w, "tokyo"),
			func(s *corev1.Service) { s.OwnerReferences = nil })
	}
	crash := func(w *databaseWorld) { w.crash() }
	cases := map[string]struct {
		changes []func(*databaseWorld)
		want    result
	}{
		"in sync":               {nil, result{nil, "", ""}},
		"CloudNativePG removed": {[]func(*databaseWorld){removed}, result{nil, notInstalled, notInstalled}},
		"CloudNativePG removed, Dojo scaled": {[]func(*databaseWorld){removed, scaled},
			result{[]string{"Deployment", "PodDisruptionBudget"}, notInstalled, notInstalled}},
		"in sync, pods crash":       {[]func(*databaseWorld){crash}, result{nil, crashes, ""}},
		"schema failed, pods crash": {[]func(*databaseWorld){failed, crash}, result{nil, schemaFailed, schemaFailed}},
		"a new image":               {[]func(*databaseWorld){imaged}, result{[]string{"Deployment"}, "Progressing/RollingOut", ""}},
		"a new image waits for SQL": {[]func(*databaseWorld){failed, imaged}, result{nil, schemaFailed, schemaFailed}},
		"a new image waits for SQL, new replicas do not": {[]func(*databaseWorld){failed, imaged, scaled},
			result{[]string{"Deployment", "PodDisruptionBudget"}, schemaFailed, schemaFailed}},
		"role not ready, pods crash": {[]func(*databaseWorld){behind, crash}, result{nil, crashes, creatingRole}},
		"role not ready, Service deleted": {[]func(*databaseWorld){behind, noService},
			result{[]string{"Service"}, creatingRole, creatingRole}},
		"password and Service deleted": {[]func(*databaseWorld){noPassword, noService},
			result{[]string{"Secret", "Service"}, creatingRole, creatingRole}},
		"role not ready, name conflict": {[]func(*databaseWorld){behind, taken},
			result{nil, "Degraded/NameConflict", "Degraded/NameConflict"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := upToDate(t, withDatabase())
			for _, change := range c.changes {
				change(w)
			}
			_, plan := w.plan()
			database := worstOf(conditions.OfPart(corev1api.ConditionDatabaseReady, plan.Issues))
			if diff := cmp.Diff(c.want, result{writtenKinds(plan), worstOf(plan.Issues), database}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPodsGetTheirPasswordDespiteAFailedSchema(t *testing.T) {
	t.Parallel()
	w := upToDate(t, withDatabase())
	old := string(inWorld[corev1.Secret](w, "tokyo-credentials").Data["DB_PASS"])
	w.schemaFails()
	w.remove(&corev1.Secret{}, "tokyo-db")
	w.reconcile()
	w.play()
	w.schemaEnds(batchv1.JobFailed)
	_, plan := w.reconcile()
	if diff := cmp.Diff([]string{"Secret", "Deployment"}, writtenKinds(plan)); diff != "" {
		t.Error(diff)
	}
	fresh, password := inWorld[corev1.Secret](w, "tokyo-credentials"), inWorld[corev1.Secret](w, "tokyo-db")
	if got := string(fresh.Data["DB_PASS"]); got == old || got != string(password.Data["password"]) {
		t.Errorf("the pods read %q", got)
	}
	if got := worstOf(plan.Issues); got != "Degraded/SchemaFailed" {
		t.Errorf("ends as %s", got)
	}
}

func TestDatabaseReadyReportsARefusedStep(t *testing.T) {
	t.Parallel()
	w := newDatabaseWorld(t, withDatabase())
	w.play()
	s, plan := w.plan()
	for name, c := range map[string]struct {
		failed error
		want   string
	}{
		"no failed write":               {nil, "CreatingRole"},
		"a refused write":               {conditions.Degraded(corev1api.ReasonChildRefused, "no"), "ChildRefused"},
		"no answer from the API server": {errors.New("connection refused"), "Retrying"},
	} {
		issues := conditions.Of(c.failed)
		for i := range issues {
			issues[i].Part = plan.Apply[1].Part
		}
		next := status(w.dojo, s, apply.Results{}, append(issues, plan.Issues...))
		got := meta.FindStatusCondition(next.Conditions, corev1api.ConditionDatabaseReady)
		if got == nil || got.Status != metav1.ConditionFalse || got.Reason != c.want ||
			got.ObservedGeneration != w.dojo.Generation {
			t.Errorf("%s: %+v", name, got)
		}
	}
	done := upToDate(t, withDatabase())
	s, plan = done.plan()
	next := status(done.dojo, s, apply.Results{}, plan.Issues)
	if !meta.IsStatusConditionTrue(next.Conditions, corev1api.ConditionDatabaseReady) {
		t.Errorf("in the end: %+v", next.Conditions)
	}
	done.dojo.Spec.Postgres = nil
	next = status(done.dojo, s, apply.Results{}, nil)
	if got := meta.FindStatusCondition(next.Conditions, corev1api.ConditionDatabaseReady); got != nil {
		t.Errorf("a Dojo without spec.postgres has %+v", got)
	}
}

// A restart of the operator does not extend the wait.
func TestWaitForACluster(t *testing.T) {
	t.Parallel()
	w := newDatabaseWorld(t, withDatabase())
	w.remove(&cnpgv1.Cluster{}, "pg")
	clock := w.Clock.(*testclock.FakePassiveClock)
	for _, step := range []struct {
		passed time.Duration
		want   string
		wait   time.Duration
	}{
		{0, "Progressing/WaitingForCluster", 10 * time.Minute},
		{4 * time.Minute, "Progressing/WaitingForCluster", 6 * time.Minute},
		{10 * time.Minute, "Degraded/ClusterNotFound", 0},
		{time.Hour, "Degraded/ClusterNotFound", 0},
	} {
		clock.SetTime(databaseNoon.Add(step.passed))
		s, plan := w.reconcile()
		w.dojo.Status = status(w.dojo, s, apply.Results{}, plan.Issues)
		want := []corev1api.Wait{{Object: "Cluster school/pg", Since: metav1.NewTime(databaseNoon)}}
		if diff := cmp.Diff(want, w.dojo.Status.WaitingFor); diff != "" {
			t.Error(step.passed, diff)
		}
		if issue := conditions.Worst(plan.Issues); worstOf(plan.Issues) != step.want || issue.RequeueAfter != step.wait {
			t.Errorf("after %s: %+v", step.passed, issue)
		}
	}
}

func TestARefusalHoldsBackDependentsOnly(t *testing.T) {
	t.Parallel()
	all := []string{
		"Cluster/tokyo-db", "ScheduledBackup/tokyo-db", "Secret/tokyo-credentials", "Deployment/tokyo",
		"PodDisruptionBudget/tokyo",
	}
	for refused, want := range map[string][]string{
		"nothing":                  all,
		"Cluster/tokyo-db":         all,
		"ScheduledBackup/tokyo-db": all,
		"Secret/tokyo-credentials": {all[0], all[1], all[2], all[4]},
		"Deployment/tokyo":         all,
	} {
		t.Run("refused: "+refused, func(t *testing.T) {
			t.Parallel()
			w := upToDate(t, withDatabase(inOwnCluster))
			w.dojo.Spec.Replicas, w.dojo.Spec.Postgres.Cluster.Instances = ptr.To[int32](5), ptr.To[int32](5)
			nightly(w.dojo)
			w.remove(&corev1.Secret{}, "tokyo-credentials") // so that the plan creates it again
			_, plan := w.plan()
			got, results := w.runRefusing(plan, refused)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if refused != "nothing" && worstOf(results.Issues) != "Degraded/ChildRefused" {
				t.Errorf("ends as %s", worstOf(results.Issues))
			}
		})
	}
}

func TestThereIsNoRoleWithoutAPassword(t *testing.T) {
	t.Parallel()
	w := newDatabaseWorld(t, withDatabase())
	w.play()
	_, plan := w.plan()
	if got, _ := w.runRefusing(plan, "Secret/tokyo-db"); !slices.Equal(got, []string{"Secret/tokyo-db"}) {
		t.Errorf("writes %v", got)
	}
}

func (w *databaseWorld) runRefusing(plan apply.Plan, refused string) (sent []string, results apply.Results) {
	send := func(o any) error {
		object := o.(interface {
			GetName() string
			GetKind() string
		})
		name := object.GetKind() + "/" + object.GetName()
		if sent = append(sent, name); name == refused {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, object.GetName(), errors.New("no"))
		}
		return nil
	}
	refusing := interceptor.NewClient(w.server, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if err := send(kinded{o, c}); err != nil {
				return err
			}
			return c.Create(ctx, o, opts...)
		},
		Apply: func(
			ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption,
		) error {
			if err := send(o); err != nil {
				return err
			}
			return c.Apply(ctx, o, opts...)
		},
	})
	applier := apply.New(refusing, ownership.FieldOwner, apply.Reasons{Refused: corev1api.ReasonChildRefused}, w.Clock)
	results = applier.Run(w.t.Context(), w.dojo, plan)
	return sent, results
}

type kinded struct {
	client.Object
	client client.Client
}

func (k kinded) GetKind() string {
	gvk, err := k.client.GroupVersionKindFor(k.Object)
	if err != nil {
		panic(err)
	}
	return gvk.Kind
}

func TestTheCacheShowsThePodsOfTheSchema(t *testing.T) {
	t.Parallel()
	labels := ownership.Labels(withDatabase(), ownership.Schema)
	for o, by := range CacheOptions(nil).ByObject {
		if _, ok := o.(*corev1.Pod); ok && !by.Label.Matches(k8slabels.Set(labels)) {
			t.Errorf("%s does not match the schema's pods", by.Label)
		}
	}
	w := upToDate(t, withDatabase())
	var jobs batchv1.JobList
	ours := client.MatchingFields{pods.JobOfSchema: "tokyo"}
	noError(t, w.server.List(t.Context(), &jobs, client.InNamespace("school"), ours))
	if len(jobs.Items) != 1 {
		t.Errorf("Jobs: %d", len(jobs.Items))
	}
}
