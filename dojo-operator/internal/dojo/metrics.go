package dojo

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/conditions"
)

// Metrics are the operator's own, beside those of controller-runtime. The counters are kept; the gauges are counted from the
// cache when Prometheus asks, on the leader only, so that no series is told twice.
type Metrics struct {
	applies         *prometheus.CounterVec
	rotations       prometheus.Counter
	timeToAvailable prometheus.Histogram
	timeToReady     prometheus.Histogram
}

// readyBuckets are seconds: from what is there at once to what nobody waits for.
var readyBuckets = []float64{1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800}

// NewMetrics registers the operator's metrics. The reader is the cache that Dojos are counted from, once elected is closed.
func NewMetrics(registry prometheus.Registerer, dojos client.Reader, elected <-chan struct{}) (*Metrics, error) {
	m := &Metrics{
		applies: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dojo_child_applies_total",
			Help: "Writes of a Dojo's children, by kind and by result (created, updated, unchanged, failed).",
		}, []string{"kind", "result"}),
		rotations: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "dojo_credential_rotations_total",
			Help: "Changes of database credentials that were passed on to a Dojo's pods.",
		}),
		timeToAvailable: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "dojo_time_to_available_seconds",
			Help:    "Time from the creation of a Dojo until it was first Available.",
			Buckets: readyBuckets,
		}),
		timeToReady: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "dojo_time_to_ready_seconds",
			Help:    "Time until a Dojo was Ready, from its creation or from when it last stopped being so: after a change of its spec, or a failure.",
			Buckets: readyBuckets,
		}),
	}
	for _, c := range []prometheus.Collector{m.applies, m.rotations, m.timeToAvailable, m.timeToReady, &gauges{dojos: dojos, elected: elected}} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// applied counts a write of a child and returns how it ended.
func (m *Metrics) applied(c *child, changed bool, err error) (result string) {
	result = "created"
	switch {
	case err != nil:
		result = "failed"
	case !changed:
		result = "unchanged"
	case c.exists:
		result = "updated"
	}
	m.applies.WithLabelValues(c.kind, result).Inc()
	if c.rotation && err == nil {
		m.rotations.Inc()
	}
	return result
}

func (m *Metrics) available(after time.Duration) {
	m.timeToAvailable.Observe(after.Seconds())
}

func (m *Metrics) ready(after time.Duration) {
	m.timeToReady.Observe(after.Seconds())
}

var (
	conditionDesc = prometheus.NewDesc("dojo_condition",
		"Whether a condition of a Dojo is True (1) or not (0).", []string{"namespace", "dojo", "type", "reason"}, nil)
	wantedDesc = prometheus.NewDesc("dojo_replicas_wanted",
		"Replicas that a Dojo should have: what its spec asks for, or an autoscaler of its Deployment.", []string{"namespace", "dojo"}, nil)
	readyDesc = prometheus.NewDesc("dojo_replicas_ready",
		"Replicas of a Dojo that are ready.", []string{"namespace", "dojo"}, nil)
	transitionDesc = prometheus.NewDesc("dojo_ready_transition_timestamp_seconds",
		"When a Dojo last became Ready or stopped being so, in seconds since 1970.", []string{"namespace", "dojo"}, nil)
)

// gauges tells how every Dojo is.
type gauges struct {
	dojos   client.Reader
	elected <-chan struct{}
}

// Describe implements prometheus.Collector.
func (g *gauges) Describe(out chan<- *prometheus.Desc) {
	out <- conditionDesc
	out <- wantedDesc
	out <- readyDesc
	out <- transitionDesc
}

// Collect implements prometheus.Collector.
func (g *gauges) Collect(out chan<- prometheus.Metric) {
	select {
	case <-g.elected:
	default:
		return
	}
	var dojos corev1api.DojoList
	if err := g.dojos.List(context.Background(), &dojos, client.UnsafeDisableDeepCopy); err != nil {
		out <- prometheus.NewInvalidMetric(wantedDesc, err)
		return
	}
	for i := range dojos.Items {
		d := &dojos.Items[i]
		gauge := func(desc *prometheus.Desc, value float64, more ...string) {
			out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, append([]string{d.Namespace, d.Name}, more...)...)
		}
		for _, c := range d.Status.Conditions {
			holds := 0.0
			if c.Status == metav1.ConditionTrue {
				holds = 1
			}
			gauge(conditionDesc, holds, c.Type, c.Reason)
			if c.Type == conditions.Ready {
				gauge(transitionDesc, float64(c.LastTransitionTime.Unix()))
			}
		}
		gauge(wantedDesc, float64(lastWanted(d)))
		gauge(readyDesc, float64(d.Status.ReadyReplicas))
	}
}
