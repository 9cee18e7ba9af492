// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/dojotest"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/apply/expectations"
	"jutsu.com/operators/libs/conditions"
)

var errUnreachable = errors.New("connection refused")

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var elected = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

func metricsOf(t *testing.T, elected <-chan struct{}, dojos ...client.Object) (*Metrics, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	m, err := New(registry, fake.NewClientBuilder().WithScheme(dojotest.Scheme).WithObjects(dojos...).Build(), elected)
	must(t, err)
	return m, registry
}

func reporting(ready int32, issue *conditions.Issue) func(*corev1api.Dojo) {
	return func(dojo *corev1api.Dojo) {
		dojo.Status.ReadyReplicas = ready
		conditions.Set(&dojo.Status.Conditions, dojo.Generation, conditions.Usable(corev1api.ReasonReplicasReady, "x"), issue)
	}
}

func backedUp(dojo *corev1api.Dojo) {
	dojo.Spec.Postgres = &corev1api.Postgres{Cluster: &corev1api.PostgresCluster{Backup: &corev1api.Backup{}}}
}

func result(kind string, outcome apply.Outcome, rotation bool) apply.Result {
	o := &apply.Object{Key: expectations.KeyOf(kind, "school", "tokyo"), Rotation: rotation}
	return apply.Result{Object: o, Outcome: outcome}
}

func TestMetricsLint(t *testing.T) {
	t.Parallel()
	m, registry := metricsOf(t, elected, dojotest.Dojo(reporting(3, nil), backedUp))
	m.Applied(result("Secret", apply.Updated, true))
	m.Available(time.Second)
	m.Ready(time.Second)
	problems, err := testutil.GatherAndLint(registry)
	must(t, err)
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	families, err := registry.Gather()
	must(t, err)
	if len(families) != 9 {
		t.Errorf("%d metrics were checked", len(families))
	}
}

func TestGauges(t *testing.T) {
	t.Parallel()
	kyoto := dojotest.Dojo(dojotest.Named("kyoto"), dojotest.Replicas(5),
		reporting(4, conditions.Degraded(corev1api.ReasonCrashLoopBackOff, "x")))
	kyoto.Status.DesiredReplicas = new(int32(4)) // spec.replicas is 5, and an autoscaler has removed one replica
	for i := range kyoto.Status.Conditions {
		kyoto.Status.Conditions[i].LastTransitionTime = metav1.Unix(1785585600, 0)
	}
	nara := dojotest.Dojo(dojotest.Named("nara"), dojotest.Replicas(0), backedUp)
	nara.Status.Database = &corev1api.DatabaseStatus{
		LastBackup: &corev1api.CompletedBackup{Name: "b", Time: metav1.Unix(1785585601, 0)}, NewerVersion: "17.11",
	}
	osaka := dojotest.Dojo(dojotest.Named("osaka"), dojotest.Replicas(0), backedUp)
	osaka.Status.Database = &corev1api.DatabaseStatus{
		LastBackup: &corev1api.CompletedBackup{Name: "b", Time: metav1.Unix(1785585602, 0)},
	}
	never := dojotest.Dojo(dojotest.Named("otaru"), dojotest.Replicas(0), backedUp)
	_, registry := metricsOf(t, elected, kyoto, nara, never, osaka, dojotest.Dojo())
	want := `
# HELP dojo_condition Whether a condition of a Dojo is True (1) or not (0).
# TYPE dojo_condition gauge
dojo_condition{dojo="kyoto",namespace="school",reason="CrashLoopBackOff",type="Degraded"} 1
dojo_condition{dojo="kyoto",namespace="school",reason="CrashLoopBackOff",type="Progressing"} 0
dojo_condition{dojo="kyoto",namespace="school",reason="CrashLoopBackOff",type="Ready"} 0
dojo_condition{dojo="kyoto",namespace="school",reason="ReplicasReady",type="Available"} 1
# HELP dojo_last_backup_timestamp_seconds ` + backupHelp + `
# TYPE dojo_last_backup_timestamp_seconds gauge
dojo_last_backup_timestamp_seconds{dojo="nara",namespace="school"} 1.785585601e+09
dojo_last_backup_timestamp_seconds{dojo="osaka",namespace="school"} 1.785585602e+09
dojo_last_backup_timestamp_seconds{dojo="otaru",namespace="school"} 0
# HELP dojo_postgres_outdated ` + outdatedHelp + `
# TYPE dojo_postgres_outdated gauge
dojo_postgres_outdated{dojo="nara",namespace="school"} 1
dojo_postgres_outdated{dojo="osaka",namespace="school"} 0
# HELP dojo_ready_transition_timestamp_seconds ` + transitionHelp + `
# TYPE dojo_ready_transition_timestamp_seconds gauge
dojo_ready_transition_timestamp_seconds{dojo="kyoto",namespace="school"} 1.7855856e+09
# HELP dojo_replicas_desired ` + desiredHelp + `
# TYPE dojo_replicas_desired gauge
dojo_replicas_desired{dojo="kyoto",namespace="school"} 4
dojo_replicas_desired{dojo="nara",namespace="school"} 0
dojo_replicas_desired{dojo="osaka",namespace="school"} 0
dojo_replicas_desired{dojo="otaru",namespace="school"} 0
dojo_replicas_desired{dojo="tokyo",namespace="school"} 3
# HELP dojo_replicas_ready Replicas of a Dojo that are ready.
# TYPE dojo_replicas_ready gauge
dojo_replicas_ready{dojo="kyoto",namespace="school"} 4
dojo_replicas_ready{dojo="nara",namespace="school"} 0
dojo_replicas_ready{dojo="osaka",namespace="school"} 0
dojo_replicas_ready{dojo="otaru",namespace="school"} 0
dojo_replicas_ready{dojo="tokyo",namespace="school"} 0
`
	must(t, testutil.GatherAndCompare(registry, strings.NewReader(want), gaugeNames...))
}

const (
	transitionHelp = "When the condition Ready of a Dojo last changed its status, in seconds since 1970."
	backupHelp     = "When the last backup of a Dojo's own Cluster completed, in seconds since 1970; 0 before the first " +
		"backup, absent without spec.postgres.cluster.backup."
	outdatedHelp = "Whether the operator knows a newer minor version or build of Postgres for a Dojo's own Cluster (1) or not " +
		"(0); always 0 without spec.postgres.cluster.version."
	desiredHelp = "Replicas that a Dojo should have: spec.replicas, or the number that an autoscaler of its Deployment has " +
		"set; 0 while the Dojo is suspended."
	readyHelp = "Time until a Dojo was Ready: from its creation, or from when it stopped being Ready."
)

var gaugeNames = []string{
	"dojo_condition", "dojo_ready_transition_timestamp_seconds", "dojo_replicas_ready", "dojo_replicas_desired",
	"dojo_last_backup_timestamp_seconds", "dojo_postgres_outdated",
}

func TestGaugesOfTheLeaderOnly(t *testing.T) {
	t.Parallel()
	election := make(chan struct{})
	_, registry := metricsOf(t, election, dojotest.Dojo(reporting(3, nil)))
	for _, c := range []struct {
		state string
		want  int
	}{{"standby", 0}, {"elected", 7}} {
		got, err := testutil.GatherAndCount(registry, gaugeNames...)
		must(t, err)
		if got != c.want {
			t.Errorf("%s: %d series", c.state, got)
		}
		if c.want == 0 {
			close(election)
		}
	}
}

// If the operator cannot list Dojos, a scrape must fail: otherwise the gauges would silently be
// missing.
func TestGaugesReportAFailure(t *testing.T) {
	t.Parallel()
	broken := fake.NewClientBuilder().WithScheme(dojotest.Scheme).WithInterceptorFuncs(interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errUnreachable
		},
	}).Build()
	registry := prometheus.NewPedanticRegistry()
	_, err := New(registry, broken, elected)
	must(t, err)
	if _, err := registry.Gather(); err == nil || !strings.Contains(err.Error(), errUnreachable.Error()) {
		t.Errorf("got %v", err)
	}
}

func TestCounters(t *testing.T) {
	t.Parallel()
	m, registry := metricsOf(t, elected)
	for _, r := range []apply.Result{
		result("Deployment", apply.Created, false),
		result("Service", apply.Updated, false), result("Service", apply.Updated, false),
		result("Service", apply.Failed, false), result("Service", apply.NotChanged, false),
		result("Secret", apply.Updated, true), result("Secret", apply.Failed, true),
	} {
		m.Applied(r)
	}
	m.Available(90 * time.Second)
	m.Available(2 * time.Second)
	m.Ready(15 * time.Second)
	want := `
# HELP dojo_child_applies_total Writes of the operator to children of Dojos, by kind and by result (created, updated, unchanged, failed); deletions do not count.
# TYPE dojo_child_applies_total counter
dojo_child_applies_total{kind="Deployment",result="created"} 1
dojo_child_applies_total{kind="Secret",result="failed"} 1
dojo_child_applies_total{kind="Secret",result="updated"} 1
dojo_child_applies_total{kind="Service",result="failed"} 1
dojo_child_applies_total{kind="Service",result="unchanged"} 1
dojo_child_applies_total{kind="Service",result="updated"} 2
# HELP dojo_credential_rotations_total Changes of database credentials, each counted when the operator writes the new credentials to the Secret of a Dojo's pods.
# TYPE dojo_credential_rotations_total counter
dojo_credential_rotations_total 1
# HELP dojo_time_to_available_seconds Time from the creation of a Dojo until it was first Available. A Dojo that was suspended or had 0 replicas before that does not count.
# TYPE dojo_time_to_available_seconds histogram
dojo_time_to_available_seconds_bucket{le="1"} 0
dojo_time_to_available_seconds_bucket{le="2"} 1
dojo_time_to_available_seconds_bucket{le="5"} 1
dojo_time_to_available_seconds_bucket{le="10"} 1
dojo_time_to_available_seconds_bucket{le="20"} 1
dojo_time_to_available_seconds_bucket{le="30"} 1
dojo_time_to_available_seconds_bucket{le="60"} 1
dojo_time_to_available_seconds_bucket{le="120"} 2
dojo_time_to_available_seconds_bucket{le="300"} 2
dojo_time_to_available_seconds_bucket{le="600"} 2
dojo_time_to_available_seconds_bucket{le="1800"} 2
dojo_time_to_available_seconds_bucket{le="+Inf"} 2
dojo_time_to_available_seconds_sum 92
dojo_time_to_available_seconds_count 2
# HELP dojo_time_to_ready_seconds ` + readyHelp + `
# TYPE dojo_time_to_ready_seconds histogram
dojo_time_to_ready_seconds_bucket{le="1"} 0
dojo_time_to_ready_seconds_bucket{le="2"} 0
dojo_time_to_ready_seconds_bucket{le="5"} 0
dojo_time_to_ready_seconds_bucket{le="10"} 0
dojo_time_to_ready_seconds_bucket{le="20"} 1
dojo_time_to_ready_seconds_bucket{le="30"} 1
dojo_time_to_ready_seconds_bucket{le="60"} 1
dojo_time_to_ready_seconds_bucket{le="120"} 1
dojo_time_to_ready_seconds_bucket{le="300"} 1
dojo_time_to_ready_seconds_bucket{le="600"} 1
dojo_time_to_ready_seconds_bucket{le="1800"} 1
dojo_time_to_ready_seconds_bucket{le="+Inf"} 1
dojo_time_to_ready_seconds_sum 15
dojo_time_to_ready_seconds_count 1
`
	must(t, testutil.GatherAndCompare(registry, strings.NewReader(want)))
}

func TestMetricsAreRegisteredOnce(t *testing.T) {
	t.Parallel()
	_, registry := metricsOf(t, elected)
	if _, err := New(registry, nil, elected); err == nil {
		t.Error("two operators export the same series")
	}
}
