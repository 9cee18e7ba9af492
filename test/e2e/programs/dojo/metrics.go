// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Names and labels are as in the real application (https://github.com/zsais/go-gin-prometheus).
var (
	requests = promauto.NewCounterVec(prometheus.CounterOpts{
		Name: "gin_requests_total", Help: "How many HTTP requests were processed, by status code, method and path.",
	}, []string{"code", "method", "handler", "host", "url"})
	durations = promauto.NewHistogramVec(prometheus.HistogramOpts{
		Name: "gin_request_duration_seconds", Help: "How long HTTP requests took.",
	}, []string{"code", "method", "url"})
)

type recorder struct {
	http.ResponseWriter
	code int
}

func (r *recorder) WriteHeader(code int) {
	r.code = code
	r.ResponseWriter.WriteHeader(code)
}

func count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began, seen := time.Now(), &recorder{w, http.StatusOK}
		next.ServeHTTP(seen, r)
		code := strconv.Itoa(seen.code)
		requests.WithLabelValues(code, r.Method, r.Pattern, r.Host, r.URL.Path).Inc()
		durations.WithLabelValues(code, r.Method, r.URL.Path).Observe(time.Since(began).Seconds())
	})
}
