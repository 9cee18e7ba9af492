// SPDX-License-Identifier: Apache-2.0

package pooler

import (
	"testing"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/dojotest"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/apply"
)

func ownPG(dojo *corev1api.Dojo) {
	dojo.Spec.CredentialsRef = nil
	dojo.Spec.Postgres = &corev1api.Postgres{Cluster: &corev1api.PostgresCluster{}}
}

func pooled(dojo *corev1api.Dojo) {
	ownPG(dojo)
	dojo.Spec.Postgres.Cluster.Pooler = &corev1api.Pooler{Instances: new(int32(2)), Mode: corev1api.PoolModeTransaction}
}

func byCNPG[O client.Object](o O) O {
	o.SetNamespace("school")
	o.SetName("tokyo-db-pooler-rw")
	o.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: "postgresql.cnpg.io/v1", Kind: "Pooler", Name: "tokyo-db-pooler-rw", Controller: new(true),
	}})
	return o
}

func started(t *testing.T, dojo *corev1api.Dojo, pods int32) State {
	t.Helper()
	c := dojotest.NewCluster(t)
	step := Plan(dojo, State{}, Input{Input: cnpg.Input{Now: dojotest.Noon}})
	c.Do(dojo, apply.Plan{Apply: step.Apply})
	s, err := Observe(t.Context(), c.Reader(dojo), dojo)
	if err != nil || s.Pooler == nil {
		t.Fatal(s, err)
	}
	s.Deployment, s.Service = byCNPG(&appsv1.Deployment{}), byCNPG(&corev1.Service{})
	s.Deployment.Status.AvailableReplicas = pods
	return s
}

func TestPlan(t *testing.T) {
	t.Parallel()
	type result struct {
		Writes, Deletes bool
		Issue           string
		// Host has the hosts for an application without credentials, for an application that uses
		// the primary, and for an application that uses the Pooler.
		Host [3]string
	}
	const name = "tokyo-db-pooler-rw"
	answers, primary, waits := [3]string{name, name, name}, [3]string{}, [3]string{name, "", name}
	const object, end = "instances of the Pooler school/tokyo-db-pooler-rw", "end of the Pooler school/tokyo-db-pooler-rw"
	with := dojotest.Dojo(pooled)
	ready := func(s *State) { s.Deployment.Status.AvailableReplicas = 2 }
	one := func(s *State) { s.Deployment.Status.AvailableReplicas = 1 }
	inUse, behind, stopped := Input{InUse: true}, Input{Outdated: "the rollout is not complete"}, Input{Stopped: true}
	foreign := func(o metav1.Object) { o.SetOwnerReferences(nil) }
	without := func(changes ...func(*corev1api.Dojo)) *corev1api.Dojo {
		return dojotest.Dojo(append([]func(*corev1api.Dojo){ownPG}, changes...)...)
	}
	cases := map[string]struct {
		dojo   *corev1api.Dojo
		change func(*State)
		in     Input
		want   result
	}{
		"no Pooler in the spec": {without(), func(s *State) { *s = State{} }, Input{}, result{Host: primary}},
		"no Pooler yet":         {with, func(s *State) { *s = State{} }, Input{}, result{true, false, "Progressing/WaitingForPooler", waits}},
		"no pod yet":            {with, func(*State) {}, Input{}, result{false, false, "Progressing/WaitingForPooler", waits}},
		"no pod for too long": {dojotest.Dojo(pooled, dojotest.WaitingFor(object, time.Hour)), func(*State) {}, Input{},
			result{false, false, "Degraded/PoolerNotReady", waits}},
		"one of two pods is available": {with, one, Input{}, result{false, false, "Progressing/WaitingForPooler", answers}},
		"ready":                        {with, ready, Input{}, result{Host: answers}},
		"instances changed": {dojotest.Dojo(pooled, func(dojo *corev1api.Dojo) { dojo.Spec.Postgres.Cluster.Pooler.Instances = new(int32(3)) }), ready,
			Input{}, result{true, false, "Progressing/WaitingForPooler", answers}},
		"the application is stopped while the Pooler's pods run": {with, ready, stopped, result{true, false, "Progressing/WaitingForPooler", answers}},
		"a foreign Pooler": {with, func(s *State) { ready(s); foreign(s.Pooler) }, Input{},
			result{false, false, "Degraded/NameConflict", waits}},
		"a foreign Deployment": {with, func(s *State) { ready(s); foreign(s.Deployment) }, Input{},
			result{false, false, "Degraded/NameConflict", waits}},
		"a foreign Service": {with, func(s *State) { ready(s); foreign(s.Service) }, Input{},
			result{false, false, "Degraded/NameConflict", waits}},
		"deleted by a user": {with, func(s *State) { ready(s); s.Pooler.DeletionTimestamp = &metav1.Time{Time: dojotest.Noon} },
			Input{}, result{Host: waits}},
		"removed from the spec, credentials name it": {without(), ready, inUse, result{false, false, "Progressing/RemovingPooler", primary}},
		"removed from the spec, pods may use it":     {without(), ready, behind, result{false, false, "Progressing/RemovingPooler", primary}},
		"removed from the spec, pods may use it for too long": {without(dojotest.WaitingFor(end, time.Hour)), ready, behind,
			result{false, false, "Degraded/RemovingPooler", primary}},
		"removed from the spec, no pod uses it": {without(), ready, Input{}, result{Deletes: true, Host: primary}},
		"removed from the spec, foreign Pooler": {without(), func(s *State) { foreign(s.Pooler) }, Input{}, result{Host: primary}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := started(t, with, 0)
			c.change(&s)
			c.in.Now, c.in.Deadline = dojotest.Noon, time.Minute
			step := Plan(c.dojo, s, c.in)
			got := result{Writes: step.Apply != nil, Deletes: step.Delete != nil, Host: [3]string{
				Host(c.dojo, s, false, false), Host(c.dojo, s, true, false), Host(c.dojo, s, true, true),
			}}
			got.Issue = dojotest.Worst(step.Plan().Issues)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff, step.Incomplete)
			}
		})
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	dojo := dojotest.Dojo(pooled)
	s := started(t, dojo, 1)
	s.Pooler.Status.PhaseReason = `ClientCASecret "tokyo-db-ca" not found`
	got := Plan(dojo, s, Input{Input: cnpg.Input{Now: dojotest.Noon, Deadline: time.Minute}}).Incomplete.Message
	want := "1 of 2 instances of the Pooler school/tokyo-db-pooler-rw are available; " +
		`CloudNativePG reports: ClientCASecret "tokyo-db-ca" not found.`
	if got != want {
		t.Error(cmp.Diff(want, got))
	}
	stopping := Plan(dojo, started(t, dojo, 1), Input{Input: cnpg.Input{Now: dojotest.Noon, Deadline: time.Minute}, Stopped: true})
	want = "0 instances of the Pooler school/tokyo-db-pooler-rw should be available, not 1."
	if got := stopping.Incomplete.Message; got != want {
		t.Error(cmp.Diff(want, got))
	}
	wantStatus := &corev1api.PoolerStatus{Host: "tokyo-db-pooler-rw", InUse: true, Instances: "1/2"}
	if diff := cmp.Diff(wantStatus, Status(dojo, s, true)); diff != "" {
		t.Error(diff)
	}
	s.Pooler.OwnerReferences = nil
	if Status(dojo, s, false) != nil || Status(dojo, State{}, false) != nil {
		t.Error("the status has a foreign or missing Pooler")
	}
}

// PgBouncer expects the pool mode in lower case.
func TestFor(t *testing.T) {
	t.Parallel()
	dojo := dojotest.Dojo(pooled)
	dojo.Spec.Postgres.Cluster.Pooler.Parameters = map[string]corev1api.PoolerParameterValue{
		"default_pool_size": "50", "server_login_retry": "3",
	}
	want := map[string]any{
		"cluster": map[string]any{"name": "tokyo-db"}, "type": "rw", "instances": int64(2),
		"pgbouncer": map[string]any{"poolMode": "transaction", "parameters": map[string]any{
			"default_pool_size": "50", "server_login_retry": "3", "server_reset_query": ResetQuery,
		}},
	}
	if diff := cmp.Diff(want, For(dojo, false).Object["spec"]); diff != "" {
		t.Error(diff)
	}
	dojo.Spec.Postgres.Cluster.Pooler = &corev1api.Pooler{}
	bouncer, _, _ := unstructured.NestedMap(For(dojo, false).Object, "spec", "pgbouncer")
	parameters := map[string]any{"server_login_retry": "1", "server_reset_query": ResetQuery}
	if diff := cmp.Diff(map[string]any{"poolMode": "session", "parameters": parameters}, bouncer); diff != "" {
		t.Error(diff)
	}
}

func TestStrip(t *testing.T) {
	t.Parallel()
	mine, other := byCNPG(&appsv1.Deployment{}), &appsv1.Deployment{}
	for _, o := range []*appsv1.Deployment{mine, other} {
		o.Status.AvailableReplicas, o.Status.Conditions = 2, make([]appsv1.DeploymentCondition, 9)
		Strip(o)
		if o.Status.Conditions != nil {
			t.Error("Strip keeps the Deployment's conditions")
		}
	}
	if mine.Status.AvailableReplicas != 2 || other.Status.AvailableReplicas != 0 {
		t.Error(mine.Status.AvailableReplicas, other.Status.AvailableReplicas)
	}
}

func TestObserve(t *testing.T) {
	t.Parallel()
	c := dojotest.NewCluster(t, byCNPG(&cnpgv1.Pooler{}), byCNPG(&appsv1.Deployment{}), byCNPG(&corev1.Service{}))
	read := func(dojo *corev1api.Dojo) [3]bool {
		s, err := Observe(t.Context(), c.Reader(dojo), dojo)
		if err != nil {
			t.Error(err)
		}
		return [3]bool{s.Pooler != nil, s.Deployment != nil, s.Service != nil}
	}
	inOthers := func(dojo *corev1api.Dojo) {
		dojo.Spec.Postgres = &corev1api.Postgres{ClusterRef: &corev1api.ClusterReference{Name: "pg"}}
	}
	if all := read(dojotest.Dojo(ownPG)); all != [3]bool{true, true, true} {
		t.Error("a Pooler that the spec does not have:", all)
	}
	if none := read(dojotest.Dojo(inOthers)); none != [3]bool{} {
		t.Error("a Dojo in another owner's Cluster:", none)
	}
	if err := c.Delete(t.Context(), byCNPG(&cnpgv1.Pooler{})); err != nil {
		t.Fatal(err)
	}
	if none := read(dojotest.Dojo(ownPG)); none != [3]bool{} {
		t.Error("a Dojo that has no Pooler and desires none:", none)
	}
	if some := read(dojotest.Dojo(pooled)); some != [3]bool{false, true, true} {
		t.Error("before the Pooler is created:", some)
	}
}
