// SPDX-License-Identifier: Apache-2.0

package guildcache

import (
	"sync"
	"time"
	"weak"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache/internal/store"
)

// Metrics counts what the Clients of a process do, all of them together, their calls included. Make
// one per process with [NewMetrics] and register it.
type Metrics struct {
	prometheus.Collector
	calls    *discordclient.Metrics
	counters store.Counters

	mu      sync.Mutex
	clients []weak.Pointer[Client] // weak: a Client whose token was replaced must be able to go
}

// NewMetrics makes an unregistered set of metrics.
func NewMetrics() *Metrics {
	registry := prometheus.NewRegistry()
	auto := promauto.With(registry)
	counter := func(name, help string) prometheus.Counter {
		return auto.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	m := &Metrics{
		Collector: registry, calls: discordclient.NewMetrics(), counters: store.Counters{
			Events: auto.NewCounterVec(prometheus.CounterOpts{Name: "discord_gateway_events_total",
				Help: "Events received from the Gateway, by type; types that are not used count as other."}, []string{"type"}),
			Resyncs: auto.NewCounterVec(prometheus.CounterOpts{Name: "discord_resyncs_total",
				Help: "Complete reads of a guild, by source: gateway, or rest while the Gateway was not connected " +
					"or after missed events.",
			}, []string{"source"}),
			Gaps: counter("discord_gateway_gaps_total",
				"Times that events were missed or could not be read; a read by REST followed."),
			Connects:    counter("discord_gateway_connects_total", "Sessions started on the Gateway."),
			Disconnects: counter("discord_gateway_disconnects_total", "Connections to the Gateway that ended or failed."),
		}}
	registry.MustRegister(m.calls, gauges{m})
	return m
}

func gaugeDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

var (
	descConnected = gaugeDesc("discord_gateway_connected", "Bots that are connected to the Gateway.")
	descClients   = gaugeDesc("discord_clients", "Bots that are in use.")
	descRefused   = gaugeDesc("discord_tokens_refused",
		"Bots whose token was refused; they make no calls until it is replaced.")
	descRemaining = gaugeDesc("discord_global_budget_remaining",
		"Calls that the busiest bot could still make within this second.")
	descInvalid = gaugeDesc("discord_invalid_requests",
		"Refused calls within the last ten minutes, by status; at 10,000 Discord bans the address.", "status")
	descViews = gaugeDesc("discord_guild_views", "Guilds that are cached in memory.")
	descAge   = gaugeDesc("discord_view_age_seconds", "Age of what is known of the most outdated guild in use.")
)

// gauges are read from the Clients when they are asked for.
type gauges struct{ metrics *Metrics }

// Describe implements prometheus.Collector.
func (gauges) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		descConnected, descClients, descRefused, descRemaining, descInvalid, descViews, descAge,
	} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (g gauges) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	var connected, refused, views float64
	var age time.Duration
	invalid := map[*discordclient.InvalidRequests]discordclient.Stats{} // shared by Clients
	clients, remaining := g.metrics.living(), -1
	for _, c := range clients {
		s := c.Stats()
		if s.GatewayConnected {
			connected++
		}
		if s.TokenRefused {
			refused++
		}
		views += float64(s.Guilds)
		age = max(age, s.OldestView)
		invalid[c.opts.Invalid.Whole()] = s.Stats
		if remaining < 0 || s.GlobalRemaining < remaining {
			remaining = s.GlobalRemaining
		}
	}
	var refusals [3]int
	for _, s := range invalid {
		refusals[0], refusals[1], refusals[2] = refusals[0]+s.Unauthorized, refusals[1]+s.Forbidden, refusals[2]+s.TooMany
	}
	gauge(descConnected, connected)
	gauge(descClients, float64(len(clients)))
	gauge(descRefused, refused)
	gauge(descViews, views)
	gauge(descAge, age.Seconds())
	if remaining >= 0 {
		gauge(descRemaining, float64(remaining))
	}
	for i, status := range []string{"401", "403", "429"} {
		gauge(descInvalid, float64(refusals[i]), status)
	}
}

// watch has the gauges of a Client shown as long as it is in use.
func (m *Metrics) watch(c *Client) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clients = append(m.clients, weak.Make(c))
}

// living returns the Clients that are in use and forgets the others.
func (m *Metrics) living() []*Client {
	m.mu.Lock()
	defer m.mu.Unlock()
	var living []*Client
	kept := m.clients[:0]
	for _, p := range m.clients {
		if c := p.Value(); c != nil {
			living, kept = append(living, c), append(kept, p)
		}
	}
	m.clients = kept
	return living
}
