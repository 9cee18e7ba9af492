// SPDX-License-Identifier: Apache-2.0

// Package metrics has the metrics of the operator's objects. Only the leader reports their gauges, so
// that each series has one source. No label is a Discord id.
package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/conditions"
)

// Metrics has the counters and the histogram that reconcilers write.
type Metrics struct {
	drift       *prometheus.CounterVec
	creates     *prometheus.CounterVec
	deletes     *prometheus.CounterVec
	timeToReady *prometheus.HistogramVec
}

// New registers the metrics. The gauges report nothing until elected closes.
func New(registry prometheus.Registerer, objects client.Reader, elected <-chan struct{}) *Metrics {
	auto := promauto.With(registry)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return auto.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &Metrics{
		drift: counter("discord_drift_corrections_total",
			"Settings that users or other programs changed on Discord and the operator corrected, by kind, namespace and "+
				"field; the fields \"existence\" and \"webhook\" count resources and webhooks that were deleted on Discord and "+
				"created again.", "kind", "namespace", "field"),
		creates: counter("discord_creates_total",
			"How often an object began to manage a server, category, channel or role on Discord, by kind and by how: created "+
				"(also again, after a deletion on Discord), adopted, or recovered (found after a create with a lost answer).",
			"kind", "how"),
		deletes: counter("discord_deletes_total",
			"Deleted objects, by kind and by what happened on Discord: deleted, retained, gone (the object had no "+
				"resource to delete), or abandoned (left there by a forced deletion).", "kind", "how"),
		timeToReady: auto.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "discord_time_to_ready_seconds",
			Help:    "Time from the creation of an object until it was first Ready, by kind.",
			Buckets: []float64{.25, .5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800},
		}, []string{"kind"}),
	}
	m.initialize()
	registry.MustRegister(&gauges{objects: objects, elected: elected})
	return m
}

// initialize starts series at 0, so that a first event counts as an increase. It omits drift, whose
// labels are not known at the start.
func (m *Metrics) initialize() {
	for _, kind := range []string{"DiscordServer", "DiscordGroup", "DiscordChannel", "DiscordRole"} {
		m.timeToReady.WithLabelValues(kind)
		for _, how := range []string{"created", "adopted", "recovered"} {
			m.creates.WithLabelValues(kind, how)
		}
		for _, how := range []string{"deleted", "retained", "gone", "abandoned"} {
			m.deletes.WithLabelValues(kind, how)
		}
	}
}

// Drift counts the correction of a field that was changed on Discord.
func (m *Metrics) Drift(kind, namespace, field string) {
	m.drift.WithLabelValues(kind, namespace, field).Inc()
}

// Created counts a resource that an object now manages. how is "created", "adopted" or "recovered".
func (m *Metrics) Created(kind, how string) { m.creates.WithLabelValues(kind, how).Inc() }

// Deleted counts a deleted object. how is "deleted", "retained", "gone" or "abandoned".
func (m *Metrics) Deleted(kind, how string) { m.deletes.WithLabelValues(kind, how).Inc() }

// Ready observes the time from an object's creation until it was Ready for the first time.
func (m *Metrics) Ready(kind string, after time.Duration) {
	m.timeToReady.WithLabelValues(kind).Observe(after.Seconds())
}

var (
	conditionDesc = prometheus.NewDesc("discord_object_condition",
		"Whether a condition of an object is True (1) or not (0).", []string{"kind", "namespace", "name", "type", "reason"},
		nil)
	channelsDesc = prometheus.NewDesc("discord_server_channels",
		"Channels and categories of a server, including those that no object manages; Discord allows 500. Absent until the "+
			"operator has read the server.",
		[]string{"namespace", "name"}, nil)
	differencesDesc = prometheus.NewDesc("discord_object_differences",
		"Differences between Discord and the spec of an object whose managementPolicy is Observe; at most 64.",
		[]string{"kind", "namespace", "name"}, nil)
	transitionDesc = prometheus.NewDesc("discord_object_ready_transition_timestamp_seconds",
		"Unix time at which the status of an object's condition Ready last changed.",
		[]string{"kind", "namespace", "name"}, nil)
)

type gauges struct {
	objects client.Reader
	elected <-chan struct{}
}

func (g *gauges) Describe(out chan<- *prometheus.Desc) {
	out <- conditionDesc
	out <- channelsDesc
	out <- differencesDesc
	out <- transitionDesc
}

func (g *gauges) Collect(out chan<- prometheus.Metric) {
	select {
	case <-g.elected:
	default:
		return
	}
	var servers v1alpha1.DiscordServerList
	var groups v1alpha1.DiscordGroupList
	var channels v1alpha1.DiscordChannelList
	var roles v1alpha1.DiscordRoleList
	for _, list := range []client.ObjectList{&servers, &groups, &channels, &roles} {
		if err := g.objects.List(context.Background(), list, client.UnsafeDisableDeepCopy); err != nil {
			out <- prometheus.NewInvalidMetric(conditionDesc, err)
			return
		}
	}
	for i := range servers.Items {
		s := &servers.Items[i]
		collect(out, "DiscordServer", s)
		if s.Status.Channels != nil {
			out <- prometheus.MustNewConstMetric(channelsDesc, prometheus.GaugeValue, float64(s.Status.Channels.Total),
				s.Namespace, s.Name)
		}
	}
	for i := range groups.Items {
		collect(out, "DiscordGroup", &groups.Items[i])
	}
	for i := range channels.Items {
		collect(out, "DiscordChannel", &channels.Items[i])
	}
	for i := range roles.Items {
		collect(out, "DiscordRole", &roles.Items[i])
	}
}

type object interface {
	client.Object
	GetConditions() []metav1.Condition
	GetManagementPolicy() v1alpha1.ManagementPolicy
	GetDifferences() []string
}

func collect(out chan<- prometheus.Metric, kind string, o object) {
	if o.GetManagementPolicy() == v1alpha1.ManagementPolicyObserve {
		out <- prometheus.MustNewConstMetric(differencesDesc, prometheus.GaugeValue, float64(len(o.GetDifferences())), kind,
			o.GetNamespace(), o.GetName())
	}
	for _, c := range o.GetConditions() {
		value := 0.0
		if c.Status == metav1.ConditionTrue {
			value = 1
		}
		out <- prometheus.MustNewConstMetric(conditionDesc, prometheus.GaugeValue, value, kind, o.GetNamespace(),
			o.GetName(), c.Type, c.Reason)
		if c.Type == conditions.TypeReady {
			out <- prometheus.MustNewConstMetric(transitionDesc, prometheus.GaugeValue, float64(c.LastTransitionTime.Unix()),
				kind, o.GetNamespace(), o.GetName())
		}
	}
}
