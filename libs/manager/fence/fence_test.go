// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

type lease struct {
	holder string
	err    error
	writes int
	takes  func()
}

func (l *lease) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	return &resourcelock.LeaderElectionRecord{HolderIdentity: l.holder}, nil, l.err
}

func (l *lease) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.Update(ctx, record)
}

func (l *lease) Update(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	l.takes()
	if l.err == nil {
		l.holder = record.HolderIdentity
		l.writes++
	}
	return l.err
}

func (l *lease) RecordEvent(string) {}
func (l *lease) Identity() string   { return "me" }
func (l *lease) Describe() string   { return "a lease" }

const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
)

type rig struct {
	*Fence
	now   time.Time
	lease *lease
	lock  *Lock
}

func newRig() *rig {
	r := &rig{Fence: New(leaseDuration, renewDeadline), now: time.Unix(100, 0)}
	r.Fence.now = func() time.Time { return r.now }
	r.lease = &lease{takes: func() { r.now = r.now.Add(time.Second) }}
	r.lock = r.Lock()
	r.lock.Interface = r.lease
	return r
}

func (r *rig) wait(d time.Duration) { r.now = r.now.Add(d) }

func (r *rig) renew(ctx context.Context) error {
	return r.lock.Update(ctx, resourcelock.LeaderElectionRecord{HolderIdentity: "me"})
}

func (r *rig) release(ctx context.Context) error {
	if _, _, err := r.lock.Get(ctx); err != nil {
		return err
	}
	return r.lock.Update(ctx, resourcelock.LeaderElectionRecord{})
}

func TestFence(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		do        func(context.Context, *rig)
		remaining time.Duration // time until a write that is sent now is cancelled; 0 if the fence refuses the write
	}{
		"before the election": {func(context.Context, *rig) {}, 0},
		"the Lease is created": {func(ctx context.Context, r *rig) {
			_ = r.lock.Create(ctx, resourcelock.LeaderElectionRecord{HolderIdentity: "me"})
		}, 11500 * time.Millisecond},
		"the deadline counts from the start of the renewal": {func(ctx context.Context, r *rig) { _ = r.renew(ctx) }, 11500 * time.Millisecond},
		"just before the deadline":                          {func(ctx context.Context, r *rig) { _ = r.renew(ctx); r.wait(9*time.Second - 1) }, 2500*time.Millisecond + 1},
		"at the deadline":                                   {func(ctx context.Context, r *rig) { _ = r.renew(ctx); r.wait(9 * time.Second) }, 0},
		"after a freeze":                                    {func(ctx context.Context, r *rig) { _ = r.renew(ctx); r.wait(time.Minute) }, 0},
		"renewed after a freeze":                            {func(ctx context.Context, r *rig) { _ = r.renew(ctx); r.wait(time.Minute); _ = r.renew(ctx) }, 11500 * time.Millisecond},
		"a renewal that fails does not count": {func(ctx context.Context, r *rig) {
			_ = r.renew(ctx)
			r.wait(8 * time.Second)
			r.lease.err = http.ErrServerClosed
			_ = r.renew(ctx)
		}, 0},
		"a renewal that fails does not close the fence": {func(ctx context.Context, r *rig) {
			_ = r.renew(ctx)
			r.lease.err = http.ErrServerClosed
			_ = r.renew(ctx)
		}, 10500 * time.Millisecond},
		"another process has the Lease": {func(ctx context.Context, r *rig) {
			_ = r.renew(ctx)
			r.lease.holder = "other"
			_, _, _ = r.lock.Get(ctx)
		}, 0},
		"the process reads its own Lease": {func(ctx context.Context, r *rig) {
			_ = r.renew(ctx)
			_, _, _ = r.lock.Get(ctx)
		}, 11500 * time.Millisecond},
		"released": {func(ctx context.Context, r *rig) { _ = r.renew(ctx); _ = r.release(ctx) }, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig()
			c.do(t.Context(), r)
			until, err := r.Check()
			if c.remaining == 0 && !errors.Is(err, ErrNotLeading) {
				t.Errorf("open until %s, %v", until, err)
			}
			if c.remaining > 0 && (err != nil || until.Sub(r.now) != c.remaining) {
				t.Errorf("a write may last %s, want %s: %v", until.Sub(r.now), c.remaining, err)
			}
		})
	}
}

func TestNothingIsFencedWithoutAnElection(t *testing.T) {
	t.Parallel()
	var none *Fence
	if until, err := none.Check(); err != nil || !until.IsZero() {
		t.Errorf("got %s, %v", until, err)
	}
}

func TestOnlyAnOwnLeaseIsReleased(t *testing.T) {
	t.Parallel()
	for holder, want := range map[string]string{"me": "", "other": "other"} {
		r := newRig()
		_ = r.renew(t.Context())
		r.lease.holder = holder
		_ = r.release(t.Context())
		if r.lease.holder != want {
			t.Errorf("the Lease of %q is held by %q, want %q", holder, r.lease.holder, want)
		}
	}
}

func TestTransport(t *testing.T) {
	t.Parallel()
	reached := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached++
		_, _ = io.WriteString(w, "done")
	}))
	defer server.Close()
	cases := map[string]struct {
		method, path string
		always       bool
	}{
		"a read":                          {http.MethodGet, "/api/v1/pods", true},
		"a create":                        {http.MethodPost, "/api/v1/namespaces/ns/secrets", false},
		"a status":                        {http.MethodPatch, "/apis/discord.jutsu.com/v1alpha1/namespaces/ns/discordroles/r/status", false},
		"an event":                        {http.MethodPost, "/apis/events.k8s.io/v1/namespaces/ns/events", false},
		"a delete":                        {http.MethodDelete, "/apis/apps/v1/namespaces/ns/deployments/d", false},
		"an update":                       {http.MethodPut, "/apis/apps/v1/namespaces/ns/deployments/d", false},
		"the Lease":                       {http.MethodPut, "/apis/coordination.k8s.io/v1/namespaces/ns/leases/l", true},
		"the Lease, behind a path prefix": {http.MethodPut, "/k8s/clusters/c/apis/coordination.k8s.io/v1/namespaces/ns/leases/l", true},
		"a token review":                  {http.MethodPost, "/apis/authentication.k8s.io/v1/tokenreviews", true},
		"an access review":                {http.MethodPost, "/apis/authorization.k8s.io/v1/subjectaccessreviews", true},
		"a Secret in a namespace named coordination.k8s.io": {http.MethodPost, "/api/v1/namespaces/coordination.k8s.io/secrets", false},
		"the API group x.coordination.k8s.io":               {http.MethodPost, "/apis/x.coordination.k8s.io/v1/leases", false},
	}
	for name, c := range cases {
		for _, open := range []bool{true, false} {
			r := newRig()
			r.Fence.now = time.Now
			if open {
				r.set(time.Now())
			}
			request, err := http.NewRequestWithContext(t.Context(), c.method, server.URL+c.path, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			before := reached
			response, err := (&http.Client{Transport: r.Transport(http.DefaultTransport)}).Do(request)
			sent := open || c.always
			if (reached > before) != sent || (err == nil) != sent {
				t.Errorf("%s, fence open %v: sent %v, %v", name, open, reached > before, err)
			}
			if err != nil {
				if !errors.Is(err, ErrNotLeading) {
					t.Errorf("%s: %v", name, err)
				}
				continue
			}
			if body, err := io.ReadAll(response.Body); err != nil || string(body) != "done" {
				t.Errorf("%s: %q, %v", name, body, err)
			}
			_ = response.Body.Close()
		}
	}
}

func TestAWriteIsCancelledInTime(t *testing.T) {
	t.Parallel()
	f := New(300*time.Millisecond, 200*time.Millisecond)
	f.set(time.Now())
	hangs := roundTripper(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	})
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/v1/pods", http.NoBody)
	if _, err := f.Transport(hangs).RoundTrip(request); !errors.Is(err, context.DeadlineExceeded) { //nolint:bodyclose // there is none
		t.Errorf("got %v", err)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestQuiet(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err   error
		after time.Duration
		fails bool
	}{
		"reconciled":    {nil, time.Hour, false},
		"another error": {http.ErrServerClosed, 0, true},
		"refused":       {fmt.Errorf("patch status: %w", ErrNotLeading), retryPeriod, false},
	} {
		inner := reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
			if c.err != nil {
				return reconcile.Result{}, c.err
			}
			return reconcile.Result{RequeueAfter: c.after}, nil
		})
		result, err := Quiet(inner).Reconcile(t.Context(), reconcile.Request{})
		if (err != nil) != c.fails || result.RequeueAfter != c.after {
			t.Errorf("%s: %v, %v", name, result, err)
		}
	}
}
