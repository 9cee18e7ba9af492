// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Lock is the Lease of the leader election. A renewal opens the fence, and a release closes it.
// client-go's elector calls Lock from one goroutine.
type Lock struct {
	resourcelock.Interface
	fence *Fence
	other string // holder at the last Get, if it was another process; otherwise empty
}

// Lock returns a Lock for the fence. Set its field Interface to the Lease before the election
// begins.
func (f *Fence) Lock() *Lock { return &Lock{fence: f} }

// Get implements resourcelock.Interface.
func (l *Lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err != nil {
		return record, raw, err
	}
	l.other = ""
	if record.HolderIdentity != l.Identity() {
		l.other = record.HolderIdentity
		l.fence.set(time.Time{})
	}
	return record, raw, nil
}

// Create implements resourcelock.Interface.
func (l *Lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.renew(func() error { return l.Interface.Create(ctx, record) })
}

// Update implements resourcelock.Interface: it renews or releases the Lease.
func (l *Lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if record.HolderIdentity == l.Identity() {
		return l.renew(func() error { return l.Interface.Update(ctx, record) })
	}
	l.fence.set(time.Time{})
	if l.other != "" {
		// client-go does not compare this holder with its own identity before a release. A process
		// that was frozen and then receives SIGTERM would release its successor's Lease.
		return fmt.Errorf("the Lease is held by %s", l.other)
	}
	return l.Interface.Update(ctx, record)
}

// renew records the time before it sends a renewal. Other candidates count the lease duration from
// a later time, when they see the renewal.
func (l *Lock) renew(write func() error) error {
	before := l.fence.now()
	err := write()
	if err == nil {
		l.fence.set(before)
	}
	return err
}
