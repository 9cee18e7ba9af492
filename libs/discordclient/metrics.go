package discordclient

import (
	"sync"
	"time"
	"weak"

	"github.com/prometheus/client_golang/prometheus"

	"jutsu.com/operators/libs/discordclient/internal/ratelimit"
)

// Metrics counts what the Clients of a process do, all of them together: bots and guilds are not told apart, since ids
// as labels would make a series of each. Routes are templates. Make one per process with [NewMetrics] and register it:
//
//	m := discordclient.NewMetrics()
//	registry.MustRegister(m)
type Metrics struct {
	requests    *prometheus.CounterVec
	duration    *prometheus.HistogramVec
	limited     *prometheus.CounterVec
	limitedWait *prometheus.HistogramVec
	events      *prometheus.CounterVec
	resyncs     *prometheus.CounterVec
	gaps        prometheus.Counter
	connects    prometheus.Counter
	disconnects prometheus.Counter

	mu      sync.Mutex
	clients []weak.Pointer[client] // weak: a Client whose token was replaced must be able to go
}

var _ prometheus.Collector = (*Metrics)(nil)

// NewMetrics makes an unregistered set of metrics.
func NewMetrics() *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &Metrics{
		requests: counter("discord_requests_total",
			"Calls of Discord's REST API that were sent, by method, route template and class of the response: 2xx to 5xx, or none without a response.",
			"method", "route", "status"),
		limited: counter("discord_rate_limited_total",
			"Calls that a rate limit delayed, by its scope and by origin: local (not sent) or discord (a 429).", "scope", "origin"),
		events: counter("discord_gateway_events_total", "Events received from the Gateway, by type; types that are not used count as other.", "type"),
		resyncs: counter("discord_resyncs_total",
			"Complete reads of a guild, by source: gateway, or rest while the Gateway was not connected or after missed events.", "source"),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "discord_request_duration_seconds", Help: "Duration of calls of Discord's REST API that were sent.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 20},
		}, []string{"method", "route"}),
		limitedWait: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "discord_rate_limit_wait_seconds", Help: "Delays of calls because of a rate limit, by its scope.",
			Buckets: []float64{.1, .5, 1, 2, 5, 15, 60, 300, 600},
		}, []string{"scope"}),
		gaps: prometheus.NewCounter(prometheus.CounterOpts{Name: "discord_gateway_gaps_total",
			Help: "Times that events were missed or could not be read; a read by REST followed."}),
		connects: prometheus.NewCounter(prometheus.CounterOpts{Name: "discord_gateway_connects_total",
			Help: "Sessions started on the Gateway."}),
		disconnects: prometheus.NewCounter(prometheus.CounterOpts{Name: "discord_gateway_disconnects_total",
			Help: "Connections to the Gateway that ended or failed."}),
	}
	// A series that begins at 0 shows its first increase, and that there was none; of limits there are few kinds.
	refused := []string{ratelimit.ScopeUser, ratelimit.ScopeShared, ratelimit.ScopeGlobal, ratelimit.ScopeBlocked}
	for origin, scopes := range map[string][]string{
		"discord": refused, "local": append(refused, ratelimit.ScopeHidden, ratelimit.ScopeUnknown),
	} {
		for _, scope := range scopes {
			m.limited.WithLabelValues(scope, origin)
			m.limitedWait.WithLabelValues(scope)
		}
	}
	return m
}

func gaugeDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// Gauges are read from the Clients when they are asked for.
var (
	descConnected = gaugeDesc("discord_gateway_connected", "Bots that are connected to the Gateway.")
	descClients   = gaugeDesc("discord_clients", "Bots that are in use.")
	descRefused   = gaugeDesc("discord_tokens_refused", "Bots whose token was refused; they make no calls until it is replaced.")
	descRemaining = gaugeDesc("discord_global_budget_remaining", "Calls that the busiest bot could still make within this second.")
	descInvalid   = gaugeDesc("discord_invalid_requests", "Refused calls within the last ten minutes, by status; at 10,000 Discord bans the address.", "status")
	descViews     = gaugeDesc("discord_guild_views", "Guilds that are cached in memory.")
	descAge       = gaugeDesc("discord_view_age_seconds", "Age of what is known of the most outdated guild in use.")
)

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(out chan<- *prometheus.Desc) {
	for _, c := range m.collectors() {
		c.Describe(out)
	}
	for _, d := range []*prometheus.Desc{descConnected, descClients, descRefused, descRemaining, descInvalid, descViews, descAge} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	for _, c := range m.collectors() {
		c.Collect(out)
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	var connected, refused, views, clients int
	var age time.Duration
	invalid := map[*InvalidRequests]bool{}
	remaining := -1
	for _, c := range m.living() {
		s := c.Stats()
		clients++
		connected += count(s.GatewayConnected)
		refused += count(s.TokenRefused)
		views += s.Guilds
		age = max(age, s.OldestView)
		invalid[c.opts.Invalid] = true
		if remaining < 0 || s.GlobalRemaining < remaining {
			remaining = s.GlobalRemaining
		}
	}
	var refusals [3]int
	for i := range invalid {
		a, b, c := i.Counts()
		refusals[0], refusals[1], refusals[2] = refusals[0]+a, refusals[1]+b, refusals[2]+c
	}
	gauge(descConnected, float64(connected))
	gauge(descClients, float64(clients))
	gauge(descRefused, float64(refused))
	gauge(descViews, float64(views))
	gauge(descAge, age.Seconds())
	if remaining >= 0 {
		gauge(descRemaining, float64(remaining))
	}
	for i, status := range []string{"401", "403", "429"} {
		gauge(descInvalid, float64(refusals[i]), status)
	}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (m *Metrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.requests, m.duration, m.limited, m.limitedWait, m.events, m.resyncs, m.gaps, m.connects, m.disconnects}
}

// watch has the gauges of a Client shown as long as it is in use.
func (m *Metrics) watch(c *client) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clients = append(m.clients, weak.Make(c))
}

// living returns the Clients that are in use and forgets the others.
func (m *Metrics) living() []*client {
	m.mu.Lock()
	defer m.mu.Unlock()
	var living []*client
	kept := m.clients[:0]
	for _, p := range m.clients {
		if c := p.Value(); c != nil {
			living, kept = append(living, c), append(kept, p)
		}
	}
	m.clients = kept
	return living
}

// The hub counts through these; a nil Metrics counts nothing.

func (m *Metrics) event(kind string) {
	if m != nil {
		m.events.WithLabelValues(kind).Inc()
	}
}

func (m *Metrics) resync(source string) {
	if m != nil {
		m.resyncs.WithLabelValues(source).Inc()
	}
}

func (m *Metrics) gap() {
	if m != nil {
		m.gaps.Inc()
	}
}

func (m *Metrics) connectedNow() {
	if m != nil {
		m.connects.Inc()
	}
}

func (m *Metrics) disconnected() {
	if m != nil {
		m.disconnects.Inc()
	}
}
