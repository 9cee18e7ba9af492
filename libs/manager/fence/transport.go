// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
)

// unfenced are the API groups whose writes need no leader: the Lease itself, and the reviews of the
// metrics endpoint, which store nothing.
var unfenced = []string{"coordination.k8s.io", "authentication.k8s.io", "authorization.k8s.io"}

// Transport returns a transport for Kubernetes that refuses what only a leader may write.
func (f *Fence) Transport(next http.RoundTripper) http.RoundTripper {
	return &transport{fence: f, next: next}
}

type transport struct {
	fence *Fence
	next  http.RoundTripper
}

// WrappedRoundTripper lets client-go reach the transport below.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !mutates(r) {
		return t.next.RoundTrip(r)
	}
	until, err := t.fence.Check()
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, err
	}
	ctx, cancel := r.Context(), context.CancelFunc(func() {})
	if !until.IsZero() {
		ctx, cancel = context.WithDeadline(ctx, until)
	}
	response, err := t.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	response.Body = &cancelingBody{ReadCloser: response.Body, cancel: cancel}
	return response, nil
}

// mutates reports whether a request may change what only a leader may change.
func mutates(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return false
	}
	_, path, found := strings.Cut(r.URL.Path, "/apis/") // an API server may be served below a path
	group, _, _ := strings.Cut(path, "/")
	return !found || !slices.Contains(unfenced, group)
}

// cancelingBody ends the context of a request with its response.
type cancelingBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close implements io.Closer.
func (b *cancelingBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
