// SPDX-License-Identifier: Apache-2.0

package dojo

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/credentials"
	"jutsu.com/operators/dojo-operator/internal/dojotest"
	"jutsu.com/operators/dojo-operator/internal/metrics"
	"jutsu.com/operators/dojo-operator/internal/monitoring"
	"jutsu.com/operators/dojo-operator/internal/mounted"
	"jutsu.com/operators/dojo-operator/internal/optionalkinds"
	"jutsu.com/operators/dojo-operator/internal/postgres"
	"jutsu.com/operators/dojo-operator/internal/workload"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/apply/applytest"
)

var testConfig = Config{
	Postgres: postgres.Config{
		Deadline: 10 * time.Minute, ProgressDeadline: 90 * time.Second,
	},
	Credentials: credentials.Config{ProgressDeadline: 90 * time.Second},
	Workload:    workload.Config{Image: "registry.example/dojo:9", ProgressDeadline: 90 * time.Second},
	Monitoring:  monitoring.Config{ProgressDeadline: 90 * time.Second},
}

func must(t dojotest.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type world struct {
	*dojotest.Cluster
	reconciler *Reconciler
	t          dojotest.TB
	events     *events.FakeRecorder
	without    string // a kind that the cluster does not have
}

func (w *world) Has(kind optionalkinds.Kind) bool { return kind.Kind != w.without }

func (w *world) Defined(_ context.Context, kind optionalkinds.Kind) (bool, error) {
	return w.Has(kind), nil
}

func newWorld(t dojotest.TB, objects ...client.Object) *world {
	t.Helper()
	c := dojotest.NewCluster(t, objects...)
	must(t, addIndexes(context.Background(), c.Server))
	elected := make(chan struct{})
	counts, err := metrics.New(prometheus.NewRegistry(), c.Server, elected)
	must(t, err)
	w := &world{Cluster: c, t: t, events: events.NewFakeRecorder(100)}
	w.reconciler = &Reconciler{
		Client: asCached(c.Server), Live: c.Server, Events: w.events, Metrics: counts, Kinds: w, Config: testConfig,
		Catalog: mounted.Fixed(dojotest.Catalog()),
		Clock:   testclock.NewFakePassiveClock(dojotest.Noon), applier: c.Applier,
	}
	return w
}

func asCached(server client.WithWatch) client.Client {
	return interceptor.NewClient(server, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, name client.ObjectKey, o client.Object, _ ...client.GetOption) error {
			if err := c.Get(ctx, name, o); err != nil {
				return err
			}
			_, err := strip(o)
			return err
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if err := c.List(ctx, list, options...); err != nil {
				return err
			}
			return meta.EachListItem(list, func(o runtime.Object) error {
				_, err := strip(o)
				return err
			})
		},
	})
}

func (w *world) plan(dojo *corev1api.Dojo) (State, apply.Plan) {
	w.t.Helper()
	s, err := w.reconciler.observe(context.Background(), dojo, nil)
	must(w.t, err)
	return s, Plan(dojo, s, testConfig)
}

func (w *world) do(dojo *corev1api.Dojo) apply.Plan {
	w.t.Helper()
	_, plan := w.plan(dojo)
	w.Do(dojo, plan)
	return plan
}

func reconciled(t dojotest.TB, dojo *corev1api.Dojo, objects ...client.Object) *world {
	t.Helper()
	w := newWorld(t, append(objects, dojotest.Source())...)
	w.do(dojo)
	w.serve(*dojo.Spec.Replicas)
	w.do(dojo)
	return w
}

func (w *world) serve(ready int32) {
	w.t.Helper()
	applytest.EditStatus(w.t, w.Server, "kube-controller-manager", w.deployment(), func(d *appsv1.Deployment) {
		desired := *d.Spec.Replicas
		d.Status = appsv1.DeploymentStatus{
			ObservedGeneration: d.Generation, Replicas: desired, UpdatedReplicas: desired,
			ReadyReplicas: ready, AvailableReplicas: ready,
			Conditions: []appsv1.DeploymentCondition{{
				Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable",
			}},
		}
	})
}

func objectOf[T any, L interface {
	*T
	client.Object
}](w *world, name string) L {
	w.t.Helper()
	return applytest.Get(w.t, w.Server, "school", name, L(new(T)))
}

func (w *world) deployment() *appsv1.Deployment { return objectOf[appsv1.Deployment](w, "tokyo") }
func (w *world) service() *corev1.Service       { return objectOf[corev1.Service](w, "tokyo") }
func (w *world) own() *corev1.Secret            { return objectOf[corev1.Secret](w, "tokyo-credentials") }
func (w *world) source() *corev1.Secret         { return objectOf[corev1.Secret](w, "pg-app") }

func (w *world) remove(o client.Object) {
	w.t.Helper()
	must(w.t, w.Delete(context.Background(), o))
}

func key(name, value string) func(*corev1.Secret) {
	return func(s *corev1.Secret) { s.Data[name] = []byte(value) }
}

func scaledTo(n int32) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Replicas = &n }
}

func mongo(dojo *corev1api.Dojo) { dojo.Spec.Database = corev1api.DatabaseMongo }

func exposed(dojo *corev1api.Dojo) {
	dojo.Spec.Exposure = &corev1api.Exposure{
		Hosts: []corev1api.Hostname{"dojo.example.org"}, Ingress: &corev1api.IngressExposure{},
	}
}

func monitored(dojo *corev1api.Dojo) { dojo.Spec.Monitoring = &corev1api.Monitoring{Enabled: true} }

func referring(namespace string) func(*corev1api.Dojo) {
	return func(dojo *corev1api.Dojo) { dojo.Spec.CredentialsRef.Namespace = namespace }
}

func inGroup(dojo *corev1api.Dojo) {
	dojo.Spec.Alerts = &corev1api.Alerts{Discord: &corev1api.DiscordAlerts{
		GroupRef: &corev1api.DiscordGroupReference{Name: "alerts"},
	}}
}

func inChannel(dojo *corev1api.Dojo) {
	dojo.Spec.Alerts = &corev1api.Alerts{Discord: &corev1api.DiscordAlerts{
		ChannelRef: &corev1api.DiscordReference{Name: "all"},
	}}
}

func inCluster(dojo *corev1api.Dojo) {
	dojo.Spec.CredentialsRef = nil
	dojo.Spec.Postgres = &corev1api.Postgres{ClusterRef: &corev1api.ClusterReference{Name: "pg"}}
}

func ownCluster(dojo *corev1api.Dojo) {
	dojo.Spec.CredentialsRef = nil
	dojo.Spec.Postgres = &corev1api.Postgres{Cluster: &corev1api.PostgresCluster{Instances: new(int32(1))}}
}

func withSQL(dojo *corev1api.Dojo) {
	dojo.Spec.Postgres.InitSQL = []corev1api.SQLSource{
		{ConfigMapKeyRef: &corev1api.KeyReference{Name: "sql", Key: "a"}},
		{SecretKeyRef: &corev1api.KeyReference{Name: "users", Key: "b"}},
	}
}
