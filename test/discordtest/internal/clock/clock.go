// SPDX-License-Identifier: Apache-2.0

// Package clock is the simulator's clock, which tests can freeze and move forward.
package clock

import (
	"slices"
	"sync"
	"time"
)

// Clock is frozen or follows real time. Tests move it with Advance instead of sleeping.
type Clock struct {
	mu     sync.Mutex
	frozen bool
	at     time.Time     // current time of a frozen clock
	offset time.Duration // difference from real time, of a running clock
	timers []*timer      // sorted by time
	wake   *time.Timer   // for a running clock: fires when timers[0] is due
}

type timer struct {
	at time.Time
	do func()
}

// New returns a clock that begins at the time start, or now if start is zero.
func New(start time.Time, frozen bool) *Clock {
	c := &Clock{frozen: frozen, at: start}
	if start.IsZero() {
		c.at = time.Now()
	}
	c.offset = time.Until(c.at)
	if start.IsZero() {
		c.offset = 0
	}
	return c
}

// Now returns the simulator's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.present()
}

func (c *Clock) present() time.Time {
	if c.frozen {
		return c.at
	}
	return time.Now().Add(c.offset)
}

// Advance moves the clock by d. Then it runs all functions that are due, sorted by their times.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	c.at = c.at.Add(d)
	c.offset += d
	c.mu.Unlock()
	c.runDue()
}

// After calls the function do when the clock has moved by d. stop cancels the call.
func (c *Clock) After(d time.Duration, do func()) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &timer{at: c.present().Add(d), do: do}
	i, _ := slices.BinarySearchFunc(c.timers, t, func(a, b *timer) int {
		if a.at.After(b.at) {
			return 1
		}
		return -1
	})
	c.timers = slices.Insert(c.timers, i, t)
	c.arm()
	return func() { c.cancel(t) }
}

func (c *Clock) cancel(t *timer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timers = slices.DeleteFunc(c.timers, func(x *timer) bool { return x == t })
	c.arm()
}

// arm starts a real timer for timers[0] of a running clock. Callers must lock mu.
func (c *Clock) arm() {
	if c.wake != nil {
		c.wake.Stop()
		c.wake = nil
	}
	if c.frozen || len(c.timers) == 0 {
		return
	}
	c.wake = time.AfterFunc(max(0, c.timers[0].at.Sub(c.present())), c.runDue)
}

// runDue calls due functions with mu unlocked, so that they may use the clock.
func (c *Clock) runDue() {
	for {
		c.mu.Lock()
		if len(c.timers) == 0 || c.timers[0].at.After(c.present()) {
			c.arm()
			c.mu.Unlock()
			return
		}
		t := c.timers[0]
		c.timers = c.timers[1:]
		c.mu.Unlock()
		t.do()
	}
}

// Stop removes all timers.
func (c *Clock) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timers = nil
	c.arm()
}
