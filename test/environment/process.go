// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"time"

	"jutsu.com/operators/test/testcluster/process"
)

// Grace is slightly longer than the default of an operator's --shutdown-timeout (10 s).
const Grace = 12 * time.Second

// Process is a running operator. If its cluster ends, a process with the Lease ends at its renew
// deadline.
type Process struct {
	*process.Process
	metrics, probes string // host:port
}

// MetricsURL returns the URL of the metrics. A client needs the permission to get /metrics.
func (p *Process) MetricsURL() string { return "https://" + p.metrics + "/metrics" }

// AwaitReady waits until the operator is ready, and fails if the operator or the context ends.
func (p *Process) AwaitReady(ctx context.Context) error {
	return p.Await(ctx, func(ctx context.Context) error {
		return process.Serves(ctx, http.DefaultClient, "http://"+p.probes+"/readyz")
	})
}

// Scrape reads the metrics. If token is empty, the request has no token.
func (p *Process) Scrape(ctx context.Context, token string) (code int, text string, err error) {
	selfSigned := &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // our own process
	}
	return p.ScrapeWith(ctx, &http.Client{Transport: selfSigned, Timeout: 10 * time.Second}, token)
}

// ScrapeWith is Scrape with a given client, which can verify the operator's certificate.
func (p *Process) ScrapeWith(ctx context.Context, client *http.Client, token string) (code int, text string,
	err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.MetricsURL(), nil)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}
