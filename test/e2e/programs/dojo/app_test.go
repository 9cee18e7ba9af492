// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The operator's alerts read these metrics (dojo-operator/internal/monitoring).
func TestRequestsAreCounted(t *testing.T) {
	server := httptest.NewServer((&app{title: "Tokyo"}).handler())
	defer server.Close()
	for path, want := range map[string]int{"/probe/liveness": http.StatusOK, "/": http.StatusOK,
		"/no-such-page": http.StatusNotFound} {
		if got, _ := ask(t, http.MethodGet, server.URL+path, ""); got != want {
			t.Errorf("GET %s: %d, want %d", path, got, want)
		}
	}
	if got, body := ask(t, http.MethodPost, server.URL+"/weapon", `{"id":"1"}`); got != http.StatusBadRequest {
		t.Errorf("POST /weapon: %d %s", got, body)
	}
	_, metrics := ask(t, http.MethodGet, server.URL+"/metrics", "")
	for _, want := range []string{`gin_requests_total{code="200"`, `gin_requests_total{code="404"`,
		"gin_request_duration_seconds_sum{", "gin_request_duration_seconds_count{"} {
		if !strings.Contains(metrics, want) {
			t.Errorf("no %s in the metrics", want)
		}
	}
}

func ask(t *testing.T, method, url, body string) (status int, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	all, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(all)
}
