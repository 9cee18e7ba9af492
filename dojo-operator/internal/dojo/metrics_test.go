package dojo

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"jutsu.com/operators/libs/conditions"
)

var elected = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// metricsOf registers the metrics of an operator that sees the given Dojos.
func metricsOf(t *testing.T, elected <-chan struct{}, dojos ...client.Object) (*Metrics, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	m, err := NewMetrics(registry, fake.NewClientBuilder().WithScheme(testScheme).WithObjects(dojos...).Build(), elected)
	must(t, err)
	return m, registry
}

func TestMetricsLint(t *testing.T) {
	t.Parallel()
	m, registry := metricsOf(t, elected, tokyo(was(3, conditions.Usable("ReplicasReady", "x"), nil)))
	m.applied(&child{kind: kindSecret, rotation: true}, true, nil)
	m.available(time.Second)
	m.ready(time.Second)
	problems, err := testutil.GatherAndLint(registry)
	must(t, err)
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	families, err := registry.Gather()
	must(t, err)
	if len(families) != 8 {
		t.Errorf("%d metrics were looked at", len(families))
	}
}

func TestGauges(t *testing.T) {
	t.Parallel()
	kyoto := tokyo(replicas(5), was(4, conditions.Usable("ReplicasReady", "x"), &conditions.Terminal{Reason: "CrashLoopBackOff"}))
	kyoto.Name, kyoto.Status.ReadyStatus = "kyoto", "4/4" // an autoscaler has taken one of five away
	for i := range kyoto.Status.Conditions {
		kyoto.Status.Conditions[i].LastTransitionTime = metav1.Unix(1785585600, 0)
	}
	_, registry := metricsOf(t, elected, kyoto, tokyo())
	want := `
# HELP dojo_condition Whether a condition of a Dojo is True (1) or not (0).
# TYPE dojo_condition gauge
dojo_condition{dojo="kyoto",namespace="school",reason="CrashLoopBackOff",type="Degraded"} 1
dojo_condition{dojo="kyoto",namespace="school",reason="CrashLoopBackOff",type="Progressing"} 0
dojo_condition{dojo="kyoto",namespace="school",reason="CrashLoopBackOff",type="Ready"} 0
dojo_condition{dojo="kyoto",namespace="school",reason="ReplicasReady",type="Available"} 1
# HELP dojo_ready_transition_timestamp_seconds When a Dojo last became Ready or stopped being so, in seconds since 1970.
# TYPE dojo_ready_transition_timestamp_seconds gauge
dojo_ready_transition_timestamp_seconds{dojo="kyoto",namespace="school"} 1.7855856e+09
# HELP dojo_replicas_ready Replicas of a Dojo that are ready.
# TYPE dojo_replicas_ready gauge
dojo_replicas_ready{dojo="kyoto",namespace="school"} 4
dojo_replicas_ready{dojo="tokyo",namespace="school"} 0
# HELP dojo_replicas_wanted Replicas that a Dojo should have: what its spec asks for, or an autoscaler of its Deployment.
# TYPE dojo_replicas_wanted gauge
dojo_replicas_wanted{dojo="kyoto",namespace="school"} 4
dojo_replicas_wanted{dojo="tokyo",namespace="school"} 3
`
	must(t, testutil.GatherAndCompare(registry, strings.NewReader(want), gaugeNames...))
}

var gaugeNames = []string{"dojo_condition", "dojo_ready_transition_timestamp_seconds", "dojo_replicas_ready", "dojo_replicas_wanted"}

func TestGaugesOfTheLeaderOnly(t *testing.T) {
	t.Parallel()
	election := make(chan struct{})
	_, registry := metricsOf(t, election, tokyo(was(3, conditions.Usable("ReplicasReady", "x"), nil)))
	for _, c := range []struct {
		state string
		want  int
	}{{"standing by", 0}, {"elected", 7}} {
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

// A gauge that cannot be counted is an error for Prometheus, not a silence that looks like no Dojos.
func TestGaugesTellOfAFailure(t *testing.T) {
	t.Parallel()
	broken := fake.NewClientBuilder().WithScheme(testScheme).WithInterceptorFuncs(interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return errAway },
	}).Build()
	registry := prometheus.NewPedanticRegistry()
	_, err := NewMetrics(registry, broken, elected)
	must(t, err)
	if _, err := registry.Gather(); err == nil || !strings.Contains(err.Error(), errAway.Error()) {
		t.Errorf("got %v", err)
	}
}

func TestCounters(t *testing.T) {
	t.Parallel()
	m, registry := metricsOf(t, elected)
	created, updated := &child{kind: kindDeployment}, &child{kind: kindService, exists: true}
	rotated := &child{kind: kindSecret, exists: true, rotation: true}
	for _, c := range []*child{created, updated, updated, rotated} {
		m.applied(c, true, nil)
	}
	for _, c := range []*child{updated, rotated} {
		m.applied(c, false, errAway)
	}
	m.applied(updated, false, nil)
	m.available(90 * time.Second)
	m.available(2 * time.Second)
	m.ready(15 * time.Second)
	want := `
# HELP dojo_child_applies_total Writes of a Dojo's children, by kind and by result (created, updated, unchanged, failed).
# TYPE dojo_child_applies_total counter
dojo_child_applies_total{kind="Deployment",result="created"} 1
dojo_child_applies_total{kind="Secret",result="failed"} 1
dojo_child_applies_total{kind="Secret",result="updated"} 1
dojo_child_applies_total{kind="Service",result="failed"} 1
dojo_child_applies_total{kind="Service",result="unchanged"} 1
dojo_child_applies_total{kind="Service",result="updated"} 2
# HELP dojo_credential_rotations_total Changes of database credentials that were passed on to a Dojo's pods.
# TYPE dojo_credential_rotations_total counter
dojo_credential_rotations_total 1
# HELP dojo_time_to_available_seconds Time from the creation of a Dojo until it was first Available.
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
# HELP dojo_time_to_ready_seconds Time until a Dojo was Ready, from its creation or from when it last stopped being so: after a change of its spec, or a failure.
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
	if _, err := NewMetrics(registry, nil, elected); err == nil {
		t.Error("two operators tell the same series")
	}
}
