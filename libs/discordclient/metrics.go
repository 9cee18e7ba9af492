// SPDX-License-Identifier: Apache-2.0

package discordclient

import (
	"errors"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"jutsu.com/operators/libs/discordclient/internal/ratelimit"
)

// Metrics counts the calls of all Clients, without labels for bots and guilds. A nil *Metrics
// counts nothing.
type Metrics struct {
	prometheus.Collector
	requests    *prometheus.CounterVec
	duration    *prometheus.HistogramVec
	limited     *prometheus.CounterVec
	limitedWait *prometheus.HistogramVec
}

// NewMetrics makes unregistered metrics. The metrics of package guildcache include them.
func NewMetrics() *Metrics {
	registry := prometheus.NewRegistry()
	auto := promauto.With(registry)
	m := &Metrics{
		Collector: registry,
		requests: auto.NewCounterVec(prometheus.CounterOpts{Name: "discord_requests_total",
			Help: "Calls of Discord's REST API that were sent, by method, route template and class of the response: " +
				"2xx to 5xx, or none without a response.",
		}, []string{"method", "route", "status"}),
		limited: auto.NewCounterVec(prometheus.CounterOpts{Name: "discord_rate_limited_total",
			Help: "Calls that a rate limit has delayed. The label scope names the limit. The label origin is local if the " +
				"call was not sent, and discord if Discord answered with 429.",
		}, []string{"scope", "origin"}),
		duration: auto.NewHistogramVec(prometheus.HistogramOpts{
			Name: "discord_request_duration_seconds", Help: "Duration of the calls that were sent to Discord's REST API.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 20},
		}, []string{"method", "route"}),
		limitedWait: auto.NewHistogramVec(prometheus.HistogramOpts{
			Name: "discord_rate_limit_wait_seconds", Help: "Delays of calls because of a rate limit, by scope of the limit.",
			Buckets: []float64{.1, .5, 1, 2, 5, 15, 60, 300, 600},
		}, []string{"scope"}),
	}
	// Create all series with 0, so that Prometheus sees the first increase of each.
	refused := []string{ratelimit.ScopeUser, ratelimit.ScopeShared, ratelimit.ScopeGlobal, ratelimit.ScopeBlocked}
	for origin, scopes := range map[string][]string{
		"discord": refused, "local": append(refused, ratelimit.ScopeTenant, ratelimit.ScopeHidden, ratelimit.ScopeUnknown),
	} {
		for _, scope := range scopes {
			m.limited.WithLabelValues(scope, origin)
			m.limitedWait.WithLabelValues(scope)
		}
	}
	return m
}

func (m *Metrics) observe(cl *call, err error, took time.Duration) {
	if m == nil {
		return
	}
	status := "2xx"
	if limited, ok := errors.AsType[*RateLimited](err); ok {
		m.limitedWait.WithLabelValues(limited.Scope).Observe(limited.After.Seconds())
		if limited.Local {
			m.limited.WithLabelValues(limited.Scope, "local").Inc()
			return
		}
		m.limited.WithLabelValues(limited.Scope, "discord").Inc()
		status = "4xx"
	} else if e, ok := errors.AsType[*Error](err); ok {
		if e.unsent {
			return
		}
		status = "none"
		if e.Status != 0 {
			status = strconv.Itoa(e.Status/100) + "xx"
		}
	}
	m.requests.WithLabelValues(cl.method, cl.route, status).Inc()
	m.duration.WithLabelValues(cl.method, cl.route).Observe(took.Seconds())
}
