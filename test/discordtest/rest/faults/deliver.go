// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"jutsu.com/operators/test/discordtest/rest/call"
)

// wait waits for the duration d or, if d is 0, until hold is closed. It returns false if ctx ends
// or the server closes first.
func (f *Faults) wait(ctx context.Context, d time.Duration, hold <-chan struct{}) bool {
	if d == 0 && hold == nil {
		return true
	}
	if d > 0 {
		done := make(chan struct{})
		stop := f.discord.Clock.After(d, func() { close(done) })
		defer stop()
		hold = done
	}
	select {
	case <-hold:
		return true
	case <-ctx.Done():
	case <-f.released:
	}
	return false
}

// Before waits for the time x.Before. It returns false if the wait ends early.
func (f *Faults) Before(ctx context.Context, x *Fault) bool {
	return x == nil || f.wait(ctx, x.Before, nil)
}

// Replace returns the response of the fault x. It returns the response a if x has no response,
// or if a is an error of the executed call and x's response is a success.
func (x *Fault) Replace(a call.Answer) call.Answer {
	if x == nil || x.Status == 0 || x.Effect && a.Status >= 400 && x.Status < 400 {
		return a
	}
	h := x.Header.Clone()
	if h == nil {
		h = http.Header{"Content-Type": {"application/json"}}
	}
	return call.Answer{Status: x.Status, Header: h, Body: []byte(x.Body)}
}

// Deliver sends the response a. The fault x may delay it, cut it, or close the connection instead.
func (f *Faults) Deliver(w http.ResponseWriter, r *http.Request, x *Fault, a call.Answer) {
	if x != nil {
		if !f.wait(r.Context(), x.After, nil) || !f.wait(r.Context(), 0, x.Hold) {
			panic(http.ErrAbortHandler)
		}
		if x.Drop {
			cut(w, a, x.Cut)
		}
	}
	for k, v := range a.Header {
		w.Header()[k] = v
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(a.Body)))
	if a.Status == http.StatusNoContent {
		w.Header().Del("Content-Length")
	}
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body)
}

func cut(w http.ResponseWriter, a call.Answer, n int) {
	defer panic(http.ErrAbortHandler)
	if n == 0 {
		return
	}
	var raw bytes.Buffer
	fmt.Fprintf(&raw, "HTTP/1.1 %d %s\r\n", a.Status, http.StatusText(a.Status))
	_ = a.Header.Write(&raw)
	fmt.Fprintf(&raw, "Content-Length: %d\r\n\r\n", len(a.Body))
	raw.Write(a.Body)
	if n < 0 {
		n = max(0, raw.Len()+n)
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	_, _ = conn.Write(raw.Bytes()[:min(n, raw.Len())])
	_ = conn.Close()
}
