// SPDX-License-Identifier: Apache-2.0

package clock

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestClock(t *testing.T) {
	t.Parallel()
	t0 := time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC)
	c := New(t0, true)
	var got []string
	note := func(s string) func() { return func() { got = append(got, s) } }
	c.After(3*time.Second, note("third"))
	c.After(time.Second, note("first"))
	c.After(2*time.Second, note("second"))
	c.After(2*time.Second, note("second too"))
	stop := c.After(time.Second, note("called off"))
	stop()
	c.Advance(2 * time.Second)
	if d := cmp.Diff([]string{"first", "second", "second too"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if now := c.Now(); !now.Equal(t0.Add(2 * time.Second)) {
		t.Errorf("it is %s", now)
	}
	c.Stop()
	c.Advance(time.Hour)
	if len(got) != 3 {
		t.Errorf("after stop: %v", got)
	}
}

func TestRunningClock(t *testing.T) {
	t.Parallel()
	t0 := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	c := New(t0, false)
	defer c.Stop()
	if d := c.Now().Sub(t0); d < 0 || d > time.Minute {
		t.Errorf("it starts %s off", d)
	}
	fired := make(chan struct{})
	c.After(time.Hour+10*time.Millisecond, func() { close(fired) })
	c.Advance(time.Hour)
	<-fired
}
