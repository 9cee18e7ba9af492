// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestRefusedCallsAreCountedByNamespace(t *testing.T) {
	t.Parallel()
	f := newForbidden()
	transport := f.wrap(roundTripper(func(r *http.Request) (*http.Response, error) {
		answer := httptest.NewRecorder()
		if !strings.HasSuffix(r.URL.Path, "/allowed") {
			answer.WriteHeader(http.StatusForbidden)
		}
		return answer.Result(), nil
	}))
	for _, path := range []string{
		"/apis/apps/v1/namespaces/team-a/deployments", "/api/v1/namespaces/team-a/secrets/tokyo/allowed",
		"/api/v1/namespaces/team-a/secrets/tokyo", "/api/v1/namespaces/team-b", "/apis/core.jutsu.com/v1/dojos",
	} {
		req := httptest.NewRequest(http.MethodGet, "https://kubernetes"+path, http.NoBody)
		resp, err := transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
	}
	want := `
# HELP kubernetes_requests_forbidden_total Calls that the API server refused with 403, by namespace. The label is empty for cluster-wide calls, and for further namespaces after the first 5000.
# TYPE kubernetes_requests_forbidden_total counter
kubernetes_requests_forbidden_total{namespace=""} 1
kubernetes_requests_forbidden_total{namespace="team-a"} 2
kubernetes_requests_forbidden_total{namespace="team-b"} 1
`
	if err := testutil.CollectAndCompare(f, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	for i := range 2 * maxNamespaces {
		f.count(strconv.Itoa(i))
	}
	if n := testutil.CollectAndCount(f); n > maxNamespaces+1 {
		t.Errorf("%d series", n)
	}
}
