// SPDX-License-Identifier: Apache-2.0

// Package fence refuses writes while another process may lead. client-go stops a leader that cannot
// renew its Lease. But a process that was frozen for longer than the lease duration could still
// write for up to the renew deadline, beside its successor. Reads, the Lease itself and the reviews
// of the metrics endpoint are not fenced.
package fence

import (
	"context"
	"errors"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// ErrNotLeading refuses a write. Do not report it: the next renewal may permit the write.
var ErrNotLeading = errors.New("the Lease was not renewed in time: another process may lead now or soon")

const retryPeriod = time.Second

// Fence allows or refuses writes. A nil Fence allows all writes. With the default flags, in seconds
// after the last successful renewal:
//
//	 0 to 10    writes are sent; each is cancelled by 12.5 (--lease-renew-deadline is 10)
//	10 to 12.5  no write is sent; earlier writes may end
//	12.5 to 15  no write runs; a request that was sent may still arrive
//	from 15     another process may lead (--lease-duration is 15)
//
// A request may still arrive too late, after a delay in the process or the network. The API server
// refuses a late finalizer or status by its resourceVersion. Discord cannot refuse a late create,
// so the successor waits for --recovery-wait after it first sees another process's finalizer. If a
// paused virtual machine stops all its clocks, the fence notices the pause only after a correction.
type Fence struct {
	lease, renew time.Duration
	now          func() time.Time

	mu      sync.Mutex
	renewed time.Time // time just before the last successful renewal was sent; zero closes the fence
}

// New returns a closed fence.
func New(leaseDuration, renewDeadline time.Duration) *Fence {
	return &Fence{lease: leaseDuration, renew: renewDeadline, now: time.Now}
}

// Check returns ErrNotLeading, or the time at which a write must be cancelled (zero means never).
func (f *Fence) Check() (until time.Time, err error) {
	if f == nil {
		return time.Time{}, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	passed := age(f.renewed, now)
	if f.renewed.IsZero() || passed >= f.renew {
		return time.Time{}, ErrNotLeading
	}
	return now.Add((f.renew+f.lease)/2 - passed), nil
}

// age uses the clock that shows more time: Linux stops the monotonic clock in suspend mode.
func age(since, now time.Time) time.Duration {
	return max(now.Sub(since), now.Round(0).Sub(since.Round(0)))
}

func (f *Fence) set(renewed time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.renewed = renewed
}

// Quiet requeues the object if the fence refused a write, without an error that metrics count.
func Quiet(r reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		result, err := r.Reconcile(ctx, request)
		if errors.Is(err, ErrNotLeading) {
			return reconcile.Result{RequeueAfter: retryPeriod}, nil
		}
		return result, err
	})
}
