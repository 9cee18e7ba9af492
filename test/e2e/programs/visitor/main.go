// SPDX-License-Identifier: Apache-2.0

// Command visitor requests a page of a Service repeatedly, and serves the results as JSON on port
// 8080. Each request opens a new connection, so Kubernetes routes each request independently.
//
//	visitor URL [INTERVAL [TIMEOUT]]
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"
)

// An answer is a complete response with a status below 400. Every other result is a failure.
type visits struct {
	Answers   int       `json:"answers"`
	Failures  int       `json:"failures"`
	Last      string    `json:"last"` // the last failure
	FailedAt  time.Time `json:"failedAt"`
	LongestMS int64     `json:"longestMs"` // the longest time between two answers, in ms
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: visitor URL [INTERVAL [TIMEOUT]]")
		os.Exit(2)
	}
	given := append(slices.Clone(os.Args[2:]), "", "")
	interval, err := time.ParseDuration(cmp.Or(given[0], "50ms"))
	timeout, err2 := time.ParseDuration(cmp.Or(given[1], "15s"))
	if err := errors.Join(err, err2); err != nil {
		fmt.Fprintln(os.Stderr, "visitor:", err)
		os.Exit(2)
	}
	v := &visitor{url: os.Args[1],
		client: &http.Client{Timeout: timeout, Transport: &http.Transport{DisableKeepAlives: true}}}
	go v.visit(interval)
	server := &http.Server{Addr: ":8080", Handler: http.HandlerFunc(v.serve), ReadHeaderTimeout: 5 * time.Second}
	fmt.Fprintln(os.Stderr, "visitor:", server.ListenAndServe())
	os.Exit(1)
}

type visitor struct {
	url    string
	client *http.Client

	mu       sync.Mutex
	visits   visits
	answered time.Time
}

func (v *visitor) visit(interval time.Duration) {
	for range time.Tick(interval) {
		go v.once()
	}
}

func (v *visitor) once() {
	trouble := v.ask()
	v.mu.Lock()
	defer v.mu.Unlock()
	now := time.Now()
	if trouble != "" {
		v.visits.Failures, v.visits.Last, v.visits.FailedAt = v.visits.Failures+1, trouble, now
		return
	}
	if v.visits.Answers > 0 {
		v.visits.LongestMS = max(v.visits.LongestMS, now.Sub(v.answered).Milliseconds())
	}
	v.visits.Answers, v.answered = v.visits.Answers+1, now
}

func (v *visitor) ask() string {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, v.url, nil)
	if err != nil {
		return err.Error()
	}
	response, err := v.client.Do(request)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	switch {
	case err != nil:
		return err.Error()
	case response.StatusCode >= http.StatusBadRequest:
		return response.Status + ": " + string(body)
	}
	return ""
}

func (v *visitor) serve(w http.ResponseWriter, _ *http.Request) {
	v.mu.Lock()
	defer v.mu.Unlock()
	_ = json.NewEncoder(w).Encode(v.visits) // fails if the client has disconnected
}
