// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Lock is the Lease. A renewal opens the fence. A release closes it, and so does a Get that returns
// another holder. Use the Lock from one goroutine.
type Lock struct {
	resourcelock.Interface
	fence *Fence
	other string // holder at the last Get, if it was another process; otherwise empty
}

// Lock returns a Lock. Set its field Interface to the Lease before the election begins.
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
		// Otherwise, client-go would release the successor's Lease when a frozen process gets SIGTERM.
		return fmt.Errorf("the Lease is held by %s", l.other)
	}
	return l.Interface.Update(ctx, record)
}

// renew records the time before the request. Other candidates count the lease duration from the
// later time at which they see the renewal, so the fence closes before they may lead.
func (l *Lock) renew(write func() error) error {
	before := l.fence.now()
	err := write()
	if err == nil {
		l.fence.set(before)
	}
	return err
}
