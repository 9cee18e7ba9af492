// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Lock is a Lease that opens and closes a fence. The elector of client-go uses it in one goroutine.
type Lock struct {
	// Interface is the Lease itself.
	resourcelock.Interface
	fence *Fence
	// other is the other holder of the Lease as it was read last; empty for none.
	other string
}

// Lock returns a lock without its Lease, which must be set before the election begins.
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
		// client-go releases by what it knew before the Get that precedes each release. A process that
		// continues after a freeze because of SIGTERM would release the Lease of its successor.
		return fmt.Errorf("the Lease is held by %s", l.other)
	}
	return l.Interface.Update(ctx, record)
}

// renew counts a renewal from before it is sent: candidates count from when they see it.
func (l *Lock) renew(write func() error) error {
	before := l.fence.now()
	err := write()
	if err == nil {
		l.fence.set(before)
	}
	return err
}
