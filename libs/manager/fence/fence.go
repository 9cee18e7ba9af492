// SPDX-License-Identifier: Apache-2.0

// Package fence refuses writes while another process may lead.
//
// client-go stops a leader that cannot renew its Lease. But a process that was frozen for longer
// than the lease duration could still write for up to the renew deadline, beside its successor.
//
// A candidate takes over at the earliest one lease duration after it has seen a renewal. The fence
// counts from a time just before the renewal was sent. A write must be sent before the renew
// deadline, and is cancelled halfway between the renew deadline and the lease duration. The second
// half of that time is for requests that were sent before the cancellation and have not arrived
// yet.
//
// With the default flags, in seconds after the last successful renewal:
//
//	 0 to 10    writes are sent; each is cancelled by 12.5 (--lease-renew-deadline is 10)
//	10 to 12.5  no write is sent; writes under way may end
//	12.5 to 15  no write is under way; a request that was sent may still arrive
//	from 15     another process may lead (--lease-duration is 15)
//
// Reads, the Lease itself and the reviews of the metrics endpoint are not fenced. A release of the
// Lease closes the fence first. If a successor already holds the Lease, the Lease is not released;
// client-go alone would release it.
//
// Two gaps remain. First, a process may stop between the check and the system call that sends the
// request, or a network may delay a request by more than 2.5 s. The API server refuses such a
// late write of a finalizer or status by its resourceVersion. A create on Discord has no such
// condition. So the successor waits for --recovery-wait after it has first seen a finalizer of
// another process, and finds the resources created before. Second, if a virtual machine is paused
// and both of its clocks stand still, the fence notices this only after its clock is corrected.
package fence

import (
	"context"
	"errors"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// ErrNotLeading refuses a write because another process may lead. Do not report it: the next
// renewal may permit the write.
var ErrNotLeading = errors.New("the Lease was not renewed in time, so another process may lead by now")

const retryPeriod = time.Second

// Fence allows or refuses writes. It is safe for concurrent use. A nil Fence allows all writes.
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

// Check returns ErrNotLeading if a write must not be sent now. Otherwise it returns the time at
// which the write must be cancelled; zero means never.
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

// age returns now minus since, by the monotonic clock or by the wall clock, whichever is longer. On
// Linux the monotonic clock stops while the machine is suspended, and the wall clock is set forward
// afterwards.
func age(since, now time.Time) time.Duration {
	return max(now.Sub(since), now.Round(0).Sub(since.Round(0)))
}

func (f *Fence) set(renewed time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.renewed = renewed
}

// Quiet wraps a reconciler. If the fence has refused a write, Quiet requeues the object instead of
// returning an error, so logs and metrics count no error.
func Quiet(r reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		result, err := r.Reconcile(ctx, request)
		if errors.Is(err, ErrNotLeading) {
			return reconcile.Result{RequeueAfter: retryPeriod}, nil
		}
		return result, err
	})
}
