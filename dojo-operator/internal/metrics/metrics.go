// SPDX-License-Identifier: Apache-2.0

// Package metrics exports the operator's own metrics, in addition to controller-runtime's metrics.
package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// Metrics counts the operator's writes, and records how long Dojos take to become usable.
type Metrics struct {
	applies         *prometheus.CounterVec
	rotations       prometheus.Counter
	timeToAvailable prometheus.Histogram
	timeToReady     prometheus.Histogram
}

var readyBuckets = []float64{1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800}

// New registers the metrics. elected is closed when the operator becomes the leader. Only the
// leader exports the gauges: a standby must not export the same series.
func New(registry prometheus.Registerer, dojos client.Reader, elected <-chan struct{}) (*Metrics, error) {
	m := &Metrics{
		applies: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dojo_child_applies_total",
			Help: "Writes of the operator to children of Dojos, by kind and by result (created, updated, unchanged, failed); " +
				"deletions do not count.",
		}, []string{"kind", "result"}),
		rotations: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "dojo_credential_rotations_total",
			Help: "Changes of database credentials, each counted when the operator writes the new credentials to the " +
				"Secret of a Dojo's pods.",
		}),
		timeToAvailable: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "dojo_time_to_available_seconds",
			Help: "Time from the creation of a Dojo until it was first Available. A Dojo that was suspended or had 0 replicas " +
				"before that does not count.",
			Buckets: readyBuckets,
		}),
		timeToReady: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "dojo_time_to_ready_seconds",
			Help:    "Time until a Dojo was Ready: from its creation, or from when it stopped being Ready.",
			Buckets: readyBuckets,
		}),
	}
	states := &gauges{dojos: dojos, elected: elected}
	for _, c := range []prometheus.Collector{m.applies, m.rotations, m.timeToAvailable, m.timeToReady, states} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Applied counts a write of a child.
func (m *Metrics) Applied(result apply.Result) {
	m.applies.WithLabelValues(result.Object.Kind, string(result.Outcome)).Inc()
	if result.Object.Rotation && result.Outcome != apply.Failed {
		m.rotations.Inc()
	}
}

// Available records the time from a Dojo's creation until the Dojo first became Available.
func (m *Metrics) Available(after time.Duration) { m.timeToAvailable.Observe(after.Seconds()) }

// Ready records how long a Dojo was not Ready before it became Ready.
func (m *Metrics) Ready(after time.Duration) { m.timeToReady.Observe(after.Seconds()) }

var (
	perDojo       = []string{"namespace", "dojo"}
	conditionDesc = prometheus.NewDesc("dojo_condition",
		"Whether a condition of a Dojo is True (1) or not (0).", []string{"namespace", "dojo", "type", "reason"}, nil)
	desiredDesc = prometheus.NewDesc("dojo_replicas_desired",
		"Replicas that a Dojo should have: spec.replicas, or the number that an autoscaler of its Deployment has set; "+
			"0 while the Dojo is suspended.", perDojo, nil)
	readyDesc = prometheus.NewDesc("dojo_replicas_ready",
		"Replicas of a Dojo that are ready.", perDojo, nil)
	transitionDesc = prometheus.NewDesc("dojo_ready_transition_timestamp_seconds",
		"When the condition Ready of a Dojo last changed its status, in seconds since 1970.", perDojo, nil)
	backupDesc = prometheus.NewDesc("dojo_last_backup_timestamp_seconds",
		"When the last backup of a Dojo's own Cluster completed, in seconds since 1970; 0 before the first backup, "+
			"absent without spec.postgres.cluster.backup.",
		perDojo, nil)
	outdatedDesc = prometheus.NewDesc("dojo_postgres_outdated",
		"Whether the operator knows a newer minor version or build of Postgres for a Dojo's own Cluster (1) or not (0); "+
			"always 0 without spec.postgres.cluster.version.", perDojo, nil)
)

type gauges struct {
	dojos   client.Reader
	elected <-chan struct{}
}

func (g *gauges) Describe(out chan<- *prometheus.Desc) {
	out <- conditionDesc
	out <- desiredDesc
	out <- readyDesc
	out <- transitionDesc
	out <- backupDesc
	out <- outdatedDesc
}

func (g *gauges) Collect(out chan<- prometheus.Metric) {
	select {
	case <-g.elected:
	default:
		return
	}
	var dojos corev1api.DojoList
	if err := g.dojos.List(context.Background(), &dojos, client.UnsafeDisableDeepCopy); err != nil {
		out <- prometheus.NewInvalidMetric(desiredDesc, err)
		return
	}
	for i := range dojos.Items {
		dojo := &dojos.Items[i]
		gauge := func(desc *prometheus.Desc, value float64, more ...string) {
			labels := append([]string{dojo.Namespace, dojo.Name}, more...)
			out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
		}
		for _, c := range dojo.Status.Conditions {
			gauge(conditionDesc, map[bool]float64{true: 1}[c.Status == metav1.ConditionTrue], c.Type, c.Reason)
			if c.Type == conditions.TypeReady {
				gauge(transitionDesc, float64(c.LastTransitionTime.Unix()))
			}
		}
		gauge(desiredDesc, float64(ptr.Deref(dojo.Status.DesiredReplicas, *dojo.Spec.Replicas)))
		gauge(readyDesc, float64(dojo.Status.ReadyReplicas))
		if dojo.BackupPolicy() != nil {
			gauge(backupDesc, lastBackup(dojo))
		}
		if own := dojo.Spec.Postgres; own != nil && own.Cluster != nil && dojo.Status.Database != nil {
			gauge(outdatedDesc, map[bool]float64{true: 1}[dojo.Status.Database.NewerVersion != ""])
		}
	}
}

func lastBackup(dojo *corev1api.Dojo) float64 {
	if db := dojo.Status.Database; db != nil && db.LastBackup != nil {
		return float64(db.LastBackup.Time.Unix())
	}
	return 0
}
