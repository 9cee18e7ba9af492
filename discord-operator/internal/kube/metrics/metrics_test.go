// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"errors"
	"os"
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

func school() []client.Object {
	meta := metav1.ObjectMeta{Namespace: "school", Name: "tokyo"}
	server := &v1alpha1.DiscordServer{ObjectMeta: meta}
	server.Status.ServerID, server.Status.Channels = "1401681709430341704", &v1alpha1.ChannelCount{Total: 2}
	group, channel := &v1alpha1.DiscordGroup{ObjectMeta: meta}, &v1alpha1.DiscordChannel{ObjectMeta: meta}
	role := &v1alpha1.DiscordRole{ObjectMeta: meta}
	channel.Spec.ManagementPolicy = v1alpha1.ManagementPolicyObserve
	channel.Status.Differences = []string{"topic: \"old\" -> \"new\"", "move"}
	for of, issue := range map[*[]metav1.Condition]error{
		&server.Status.Conditions:  nil,
		&group.Status.Conditions:   conditions.Progressing("WaitingForServer", ""),
		&channel.Status.Conditions: conditions.Degraded("Conflict", ""),
		&role.Status.Conditions:    conditions.Degraded("RoleTooHigh", ""),
	} {
		conditions.Set(of, 1, conditions.Usable("Exists", "x"), conditions.Worst(conditions.Of(issue)))
		for i := range *of {
			(*of)[i].LastTransitionTime = metav1.Unix(1785585600, 0)
		}
	}
	return []client.Object{server, group, channel, role}
}

func metricsOf(t *testing.T, elected <-chan struct{}, objects ...client.Object) (*Metrics, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	return New(registry, fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(objects...).Build(), elected), registry
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	m, registry := metricsOf(t, elected, school()...)
	m.Drift("DiscordChannel", "school", "topic")
	m.Created("DiscordChannel", "created")
	m.Deleted("DiscordGroup", "retained")
	m.Ready("DiscordServer", 3*time.Second)

	want, err := os.Open("testdata/metrics.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = want.Close() }()
	compared := append([]string{"discord_creates_total", "discord_deletes_total", "discord_drift_corrections_total"},
		gaugeNames...)
	if err := testutil.GatherAndCompare(registry, want, compared...); err != nil {
		t.Error(err)
	}
	if n, err := testutil.GatherAndCount(registry, "discord_time_to_ready_seconds"); err != nil || n != 4 {
		t.Errorf("%d histograms of the time to be Ready, %v", n, err)
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("lint: %v, %v", problems, err)
	}
}

var gaugeNames = []string{"discord_object_condition", "discord_object_ready_transition_timestamp_seconds",
	"discord_server_channels", "discord_object_differences"}

func TestGaugesOfTheLeaderOnly(t *testing.T) {
	t.Parallel()
	election := make(chan struct{})
	_, registry := metricsOf(t, election, school()...)
	if n, err := testutil.GatherAndCount(registry, gaugeNames...); err != nil || n != 0 {
		t.Errorf("standby: %d series, %v", n, err)
	}
	close(election)
	if n, err := testutil.GatherAndCount(registry, gaugeNames...); err != nil || n != 22 {
		t.Errorf("elected: %d series, %v", n, err)
	}
}

func TestGaugesReportAFailure(t *testing.T) {
	t.Parallel()
	refused := errors.New("connection refused")
	broken := fake.NewClientBuilder().WithScheme(scheme(t)).WithInterceptorFuncs(interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return refused },
	}).Build()
	registry := prometheus.NewPedanticRegistry()
	New(registry, broken, elected)
	if _, err := registry.Gather(); err == nil || !strings.Contains(err.Error(), refused.Error()) {
		t.Errorf("got %v", err)
	}
}
