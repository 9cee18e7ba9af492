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

// Metrics counts events and calls of all Clients. Make and register one per process.
type Metrics struct {
	prometheus.Collector
	calls    *discordclient.Metrics
	counters store.Counters

	mu      sync.Mutex
	clients []weak.Pointer[Client] // weak, so that the garbage collector frees a Client whose token was replaced
}

// NewMetrics makes metrics without registering them.
func NewMetrics() *Metrics {
	registry := prometheus.NewRegistry()
	auto := promauto.With(registry)
	counter := func(name, help string) prometheus.Counter {
		return auto.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	m := &Metrics{
		Collector: registry, calls: discordclient.NewMetrics(), counters: store.Counters{
			Events: auto.NewCounterVec(prometheus.CounterOpts{Name: "discord_gateway_events_total",
				Help: "Events received from the Gateway, by type; unused types count as \"other\"."}, []string{"type"}),
			Resyncs: auto.NewCounterVec(prometheus.CounterOpts{Name: "discord_resyncs_total",
				Help: "Complete reads of a guild, by source: \"gateway\", or \"rest\" (once per resync period, and " +
					"whenever the cached state may be outdated).",
			}, []string{"source"}),
			Gaps: counter("discord_gateway_gaps_total",
				"Number of times that events were missed or could not be decoded; the guild is then read by REST."),
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
	descConnected = gaugeDesc("discord_gateway_connected", "Bots that are connected to the Gateway, by namespace.",
		"namespace")
	descClients = gaugeDesc("discord_clients", "Bots that are in use, by namespace.", "namespace")
	descRefused = gaugeDesc("discord_tokens_refused",
		"Bots whose token was refused, by namespace; these bots make no calls until the token is replaced.", "namespace")
	descRemaining = gaugeDesc("discord_global_budget_remaining",
		"Calls that the busiest bot can still make in this second; absent while no bot is in use.")
	descInvalid = gaugeDesc("discord_invalid_requests",
		"Refused calls within the last ten minutes, by status; at 10,000 in total, Discord bans the IP address.",
		"status")
	descViews = gaugeDesc("discord_guild_views", "Guilds that are cached in memory, by namespace of the bot.", "namespace")
	descAge   = gaugeDesc("discord_view_age_seconds",
		"Age of the cached state of the most outdated guild in use, by namespace of the bot; 0 without a guild in use.",
		"namespace")
)

type gauges struct{ metrics *Metrics }

func (gauges) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		descConnected, descClients, descRefused, descRemaining, descInvalid, descViews, descAge,
	} {
		out <- d
	}
}

func (g gauges) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	of := map[string]*bots{}
	invalid := map[*discordclient.InvalidRequests]discordclient.Stats{} // several Clients may share a count
	clients, remaining := g.metrics.living(), -1
	if len(clients) == 0 {
		of[""] = &bots{} // without Clients, report 0: a missing series could also mean a failed scrape
	}
	for _, c := range clients {
		s := c.Stats()
		if of[c.opts.Namespace] == nil {
			of[c.opts.Namespace] = &bots{}
		}
		of[c.opts.Namespace].add(s)
		invalid[c.opts.Invalid.Whole()] = s.Stats
		if remaining < 0 || s.GlobalRemaining < remaining {
			remaining = s.GlobalRemaining
		}
	}
	var refusals [3]int
	for _, s := range invalid {
		refusals[0], refusals[1], refusals[2] = refusals[0]+s.Unauthorized, refusals[1]+s.Forbidden, refusals[2]+s.TooMany
	}
	for namespace, b := range of {
		gauge(descConnected, b.connected, namespace)
		gauge(descClients, b.clients, namespace)
		gauge(descRefused, b.refused, namespace)
		gauge(descViews, b.views, namespace)
		gauge(descAge, b.age.Seconds(), namespace)
	}
	if remaining >= 0 {
		gauge(descRemaining, float64(remaining))
	}
	for i, status := range []string{"401", "403", "429"} {
		gauge(descInvalid, float64(refusals[i]), status)
	}
}

type bots struct {
	clients, connected, refused, views float64
	age                                time.Duration
}

func (b *bots) add(s Stats) {
	b.clients++
	if s.GatewayConnected {
		b.connected++
	}
	if s.TokenRefused {
		b.refused++
	}
	b.views += float64(s.Guilds)
	b.age = max(b.age, s.OldestView)
}

func (m *Metrics) watch(c *Client) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clients = append(m.clients, weak.Make(c))
}

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
