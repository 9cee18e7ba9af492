// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"net/http"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// forbidden counts 403s by namespace. In one total, the 403s of a full quota in one namespace would
// hide a missing permission in another.
type forbidden struct {
	*prometheus.CounterVec
	mu         sync.Mutex
	namespaces map[string]bool
}

// maxNamespaces limits the time series, because users can refer to any namespace.
const maxNamespaces = 5000

func newForbidden() *forbidden {
	f := &forbidden{namespaces: map[string]bool{}, CounterVec: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "kubernetes_requests_forbidden_total",
		Help: "Calls that the API server refused with 403, by namespace. The label is empty for cluster-wide calls, and " +
			"for further namespaces after the first 5000.",
	}, []string{"namespace"})}
	f.WithLabelValues("") // a series that starts at 0 shows its first increase
	return f
}

func (f *forbidden) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err == nil && resp.StatusCode == http.StatusForbidden {
			f.count(namespaceOf(r.URL.Path))
		}
		return resp, err
	})
}

func (f *forbidden) count(namespace string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.namespaces) >= maxNamespaces && !f.namespaces[namespace] {
		namespace = ""
	}
	f.namespaces[namespace] = true
	f.WithLabelValues(namespace).Inc()
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func namespaceOf(path string) string {
	_, rest, _ := strings.Cut(path, "/namespaces/")
	namespace, _, _ := strings.Cut(rest, "/")
	return namespace
}
