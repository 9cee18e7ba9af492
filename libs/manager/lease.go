package manager

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
)

// finishLeaseWrites lets writes of Leases end in their own time, which is their deadline, when the process is told to end. One that is cut off may
// have taken effect all the same: client-go's leader election would not know that the lease is held, or in which version, and would leave it without
// giving it back, so that the others wait until it runs out.
func finishLeaseWrites(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		if req.Method == http.MethodGet || !strings.Contains(req.URL.Path, "/apis/coordination.k8s.io/") {
			return next.RoundTrip(req)
		}
		ctx := context.WithoutCancel(req.Context())
		if deadline, ok := req.Context().Deadline(); ok {
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadline(ctx, deadline)
			defer cancel()
		}
		return wholeAnswer(next.RoundTrip(req.WithContext(ctx)))
	})
}

// wholeAnswer reads the body, for which the context of the request would have to live on.
func wholeAnswer(answer *http.Response, err error) (*http.Response, error) {
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	return answer, nil
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
