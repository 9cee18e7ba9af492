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
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/conditions"
)

var elected = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	return s
}

// school are a server with two channels of its own, a group that waits and a channel that needs somebody.
func school() []client.Object {
	meta := metav1.ObjectMeta{Namespace: "school", Name: "tokyo"}
	server := &v1alpha1.DiscordServer{ObjectMeta: meta}
	server.Status.ServerID, server.Status.Channels = "1401681709430341704", &v1alpha1.ChannelCount{Total: 2}
	group, channel := &v1alpha1.DiscordGroup{ObjectMeta: meta}, &v1alpha1.DiscordChannel{ObjectMeta: meta}
	for of, outcome := range map[*[]metav1.Condition]error{
		&server.Status.Conditions:  nil,
		&group.Status.Conditions:   conditions.Progressing("WaitingForServer", ""),
		&channel.Status.Conditions: conditions.Degraded("Conflict", ""),
	} {
		conditions.Set(of, 1, conditions.Usable("Exists", "x"), conditions.Worst(conditions.Of(outcome)))
		for i := range *of {
			(*of)[i].LastTransitionTime = metav1.Unix(1785585600, 0)
		}
	}
	return []client.Object{server, group, channel}
}

func metricsOf(t *testing.T, elected <-chan struct{}, objects ...client.Object) (*Metrics, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	m, err := New(registry, fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(objects...).Build(), elected)
	if err != nil {
		t.Fatal(err)
	}
	return m, registry
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	m, registry := metricsOf(t, elected, school()...)
	m.Drift("DiscordChannel", "topic")
	m.Created("DiscordChannel", "created")
	m.Deleted("DiscordGroup", "retained")
	m.Ready("DiscordServer", 3*time.Second)

	want := `
# HELP discord_creates_total Servers, categories and channels on Discord that objects have acquired, by kind and by how: created, adopted, or recovered, which is found after a create of unknown outcome.
# TYPE discord_creates_total counter
discord_creates_total{how="adopted",kind="DiscordChannel"} 0
discord_creates_total{how="adopted",kind="DiscordGroup"} 0
discord_creates_total{how="adopted",kind="DiscordServer"} 0
discord_creates_total{how="created",kind="DiscordChannel"} 1
discord_creates_total{how="created",kind="DiscordGroup"} 0
discord_creates_total{how="created",kind="DiscordServer"} 0
discord_creates_total{how="recovered",kind="DiscordChannel"} 0
discord_creates_total{how="recovered",kind="DiscordGroup"} 0
discord_creates_total{how="recovered",kind="DiscordServer"} 0
# HELP discord_deletes_total Deleted objects, by kind and by what happened on Discord: deleted, retained, gone, which is deleted there before, or abandoned, which is left there by force.
# TYPE discord_deletes_total counter
discord_deletes_total{how="abandoned",kind="DiscordChannel"} 0
discord_deletes_total{how="abandoned",kind="DiscordGroup"} 0
discord_deletes_total{how="abandoned",kind="DiscordServer"} 0
discord_deletes_total{how="deleted",kind="DiscordChannel"} 0
discord_deletes_total{how="deleted",kind="DiscordGroup"} 0
discord_deletes_total{how="deleted",kind="DiscordServer"} 0
discord_deletes_total{how="gone",kind="DiscordChannel"} 0
discord_deletes_total{how="gone",kind="DiscordGroup"} 0
discord_deletes_total{how="gone",kind="DiscordServer"} 0
discord_deletes_total{how="retained",kind="DiscordChannel"} 0
discord_deletes_total{how="retained",kind="DiscordGroup"} 1
discord_deletes_total{how="retained",kind="DiscordServer"} 0
# HELP discord_drift_corrections_total Settings that were changed on Discord and corrected, by kind and by field; the field existence stands for what was deleted on Discord and created again.
# TYPE discord_drift_corrections_total counter
discord_drift_corrections_total{field="existence",kind="DiscordChannel"} 0
discord_drift_corrections_total{field="existence",kind="DiscordGroup"} 0
discord_drift_corrections_total{field="existence",kind="DiscordServer"} 0
discord_drift_corrections_total{field="topic",kind="DiscordChannel"} 1
# HELP discord_object_condition Whether a condition of an object is True (1) or not (0).
# TYPE discord_object_condition gauge
discord_object_condition{kind="DiscordChannel",name="tokyo",namespace="school",reason="Conflict",type="Degraded"} 1
discord_object_condition{kind="DiscordChannel",name="tokyo",namespace="school",reason="Conflict",type="Progressing"} 0
discord_object_condition{kind="DiscordChannel",name="tokyo",namespace="school",reason="Conflict",type="Ready"} 0
discord_object_condition{kind="DiscordChannel",name="tokyo",namespace="school",reason="Exists",type="Available"} 1
discord_object_condition{kind="DiscordGroup",name="tokyo",namespace="school",reason="Exists",type="Available"} 1
discord_object_condition{kind="DiscordGroup",name="tokyo",namespace="school",reason="WaitingForServer",type="Degraded"} 0
discord_object_condition{kind="DiscordGroup",name="tokyo",namespace="school",reason="WaitingForServer",type="Progressing"} 1
discord_object_condition{kind="DiscordGroup",name="tokyo",namespace="school",reason="WaitingForServer",type="Ready"} 0
discord_object_condition{kind="DiscordServer",name="tokyo",namespace="school",reason="Exists",type="Available"} 1
discord_object_condition{kind="DiscordServer",name="tokyo",namespace="school",reason="Reconciled",type="Degraded"} 0
discord_object_condition{kind="DiscordServer",name="tokyo",namespace="school",reason="Reconciled",type="Progressing"} 0
discord_object_condition{kind="DiscordServer",name="tokyo",namespace="school",reason="Reconciled",type="Ready"} 1
# HELP discord_object_ready_transition_timestamp_seconds Unix time at which the condition Ready of an object last changed.
# TYPE discord_object_ready_transition_timestamp_seconds gauge
discord_object_ready_transition_timestamp_seconds{kind="DiscordChannel",name="tokyo",namespace="school"} 1.7855856e+09
discord_object_ready_transition_timestamp_seconds{kind="DiscordGroup",name="tokyo",namespace="school"} 1.7855856e+09
discord_object_ready_transition_timestamp_seconds{kind="DiscordServer",name="tokyo",namespace="school"} 1.7855856e+09
# HELP discord_server_channels Channels and categories of a server, those that no object manages included; Discord allows 500.
# TYPE discord_server_channels gauge
discord_server_channels{name="tokyo",namespace="school"} 2
`
	compared := append([]string{"discord_creates_total", "discord_deletes_total", "discord_drift_corrections_total"}, gaugeNames...)
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), compared...); err != nil {
		t.Error(err)
	}
	if n, err := testutil.GatherAndCount(registry, "discord_time_to_ready_seconds"); err != nil || n != 3 {
		t.Errorf("%d histograms of the time to be Ready, %v", n, err)
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("lint: %v, %v", problems, err)
	}
}

var gaugeNames = []string{"discord_object_condition", "discord_object_ready_transition_timestamp_seconds", "discord_server_channels"}

func TestGaugesOfTheLeaderOnly(t *testing.T) {
	t.Parallel()
	election := make(chan struct{})
	_, registry := metricsOf(t, election, school()...)
	if n, err := testutil.GatherAndCount(registry, gaugeNames...); err != nil || n != 0 {
		t.Errorf("standing by: %d series, %v", n, err)
	}
	close(election)
	if n, err := testutil.GatherAndCount(registry, gaugeNames...); err != nil || n != 16 {
		t.Errorf("elected: %d series, %v", n, err)
	}
}

// A gauge that cannot be counted is an error for Prometheus, not a silence that looks like no objects.
func TestGaugesTellOfAFailure(t *testing.T) {
	t.Parallel()
	away := errors.New("connection refused")
	broken := fake.NewClientBuilder().WithScheme(scheme(t)).WithInterceptorFuncs(interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return away },
	}).Build()
	registry := prometheus.NewPedanticRegistry()
	if _, err := New(registry, broken, elected); err != nil {
		t.Fatal(err)
	}
	if _, err := registry.Gather(); err == nil || !strings.Contains(err.Error(), away.Error()) {
		t.Errorf("got %v", err)
	}
}
