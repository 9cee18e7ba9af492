// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

const attempts = 4

type bot struct {
	apiURL, token string
}

type response struct {
	status int
	body   any
}

func (r response) ok() bool { return r.status/100 == 2 }

// do repeats calls that exceed a rate limit, and failed GETs and DELETEs. Its errors contain
// neither the token nor an address.
func (b *bot) do(ctx context.Context, method, path string, body any) (response, error) {
	repeatable := method == http.MethodGet || method == http.MethodDelete
	failed := 0
	for {
		r, wait, err := b.once(ctx, method, path, body)
		limited := err == nil && r.status == http.StatusTooManyRequests
		switch {
		case ctx.Err() != nil:
			return r, ctx.Err()
		case err == nil && !limited && r.status < http.StatusInternalServerError:
			return r, nil
		case !limited:
			failed, wait = failed+1, time.Second
		}
		if !limited && (!repeatable || failed == attempts) {
			return r, errors.Join(fmt.Errorf("%s %s: status %d", method, path, r.status), err)
		}
		if err := pause(ctx, wait); err != nil {
			return r, err
		}
	}
}

func (b *bot) once(ctx context.Context, method, path string, body any) (r response, wait time.Duration, err error) {
	var sent io.Reader
	if body != nil {
		written, err := json.Marshal(body)
		if err != nil {
			return r, 0, err
		}
		sent = bytes.NewReader(written)
	}
	request, err := http.NewRequestWithContext(ctx, method, b.apiURL+path, sent)
	if err != nil {
		return r, 0, err
	}
	request.Header = http.Header{"Authorization": {"Bot " + b.token}, "User-Agent": {secondClient},
		"Content-Type": {"application/json"}, "X-Audit-Log-Reason": {"make discord-live"}}
	answer, err := noRedirects.Do(request)
	if err != nil {
		return r, 0, errors.New("the connection fails")
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxBody))
	if err != nil {
		return r, 0, errors.New("the connection ended in the middle of the answer")
	}
	r.status = answer.StatusCode
	if json.Unmarshal(text, &r.body) != nil {
		r.body = nil
	}
	return r, retryAfter(r.body), nil
}

func retryAfter(body any) time.Duration {
	seconds, _ := asObject(body)["retry_after"].(float64)
	return max(time.Second, time.Duration(seconds*float64(time.Second)))
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
