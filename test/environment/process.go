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

// Grace is a little more than an operator allows itself to stop (--shutdown-timeout).
const Grace = 12 * time.Second

// Process is one running operator. When the program that started it is killed, and its cluster goes
// with it, the operator ends by itself as soon as it cannot renew its lease: within 10 seconds by
// default.
type Process struct {
	*process.Process
	metrics, probes string // host:port
}

// MetricsURL is where it serves its metrics, to clients that the API server allows to get /metrics.
func (p *Process) MetricsURL() string { return "https://" + p.metrics + "/metrics" }

// AwaitReady returns nil as soon as the operator reports itself ready, and an error when it ends or
// the context does.
func (p *Process) AwaitReady(ctx context.Context) error {
	return p.Await(ctx, func(ctx context.Context) error {
		return process.Serves(ctx, http.DefaultClient, "http://"+p.probes+"/readyz")
	})
}

// Scrape reads the metrics with a token, or without any where it is empty.
func (p *Process) Scrape(ctx context.Context, token string) (code int, text string, err error) {
	selfSigned := &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // our own process
	}
	return p.ScrapeWith(ctx, &http.Client{Transport: selfSigned, Timeout: 10 * time.Second}, token)
}

// ScrapeWith is Scrape with a client that verifies the certificate in its own way.
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
