// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
)

// unfenced are the groups of Leases and of reviews (TokenReview, SubjectAccessReview for metrics).
var unfenced = []string{"coordination.k8s.io", "authentication.k8s.io", "authorization.k8s.io"}

// Transport returns a transport to Kubernetes that refuses writes while the fence is closed.
func (f *Fence) Transport(next http.RoundTripper) http.RoundTripper {
	return &transport{fence: f, next: next}
}

type transport struct {
	fence *Fence
	next  http.RoundTripper
}

// WrappedRoundTripper gives client-go access to the wrapped transport.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

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

func mutates(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return false
	}
	_, path, found := strings.Cut(r.URL.Path, "/apis/") // the kubeconfig's URL of the API server may have a path
	group, _, _ := strings.Cut(path, "/")
	return !found || !slices.Contains(unfenced, group)
}

type cancelingBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b *cancelingBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
