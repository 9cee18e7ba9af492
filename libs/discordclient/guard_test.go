// SPDX-License-Identifier: Apache-2.0

package discordclient_test

import (
	"errors"
	"testing"
	"time"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/test/discordtest"
)

type guard struct {
	until time.Time
	err   error
	asked int
}

func (g *guard) guard(_ *discordtest.Options, o *discordclient.Options) {
	o.Guard = func() (time.Time, error) { g.asked++; return g.until, g.err }
}

func TestAGuardRefusesMutatingCalls(t *testing.T) {
	t.Parallel()
	g := &guard{err: errors.New("another process leads")}
	r := newRig(t, g.guard)
	for range 5 { // more failures than the Client needs to assume an outage
		_, err := r.client.CreateChannel(t.Context(), r.guild, discordclient.ChannelCreate{Name: "alerts"}, "test")
		wantClass(t, err, discordclient.ClassTransient)
		if !errors.Is(err, g.err) {
			t.Errorf("got %v", err)
		}
	}
	if n := r.calls(); n != 0 {
		t.Errorf("%d calls were sent", n)
	}
	if _, err := r.client.ListChannels(t.Context(), r.guild); err != nil {
		t.Errorf("a read: %v", err)
	}
	g.err = nil
	r.create(discordclient.ChannelCreate{Name: "alerts"})
	if g.asked != 6 {
		t.Errorf("the guard was asked %d times", g.asked)
	}
}

func TestLimitsApplyBeforeTheGuard(t *testing.T) {
	t.Parallel()
	g := &guard{}
	r := newRig(t, g.guard)
	ch := r.create(discordclient.ChannelCreate{Name: "alerts"})
	r.srv.Faults().Add(discordtest.Fault{Times: 1, Action: discordtest.RateLimited(time.Minute, "user")})
	for range 3 {
		_ = limited(t, r.client.DeleteChannel(t.Context(), ch.ID, "test"))
	}
	if g.asked != 2 {
		t.Errorf("the guard was asked %d times, want only for the two calls that were sent", g.asked)
	}
}

func TestAGuardEndsACall(t *testing.T) {
	t.Parallel()
	g := &guard{}
	r := newRig(t, g.guard)
	g.until = time.Now().Add(3 * time.Second)
	held := make(chan struct{})
	defer close(held)
	r.srv.Faults().Add(discordtest.Fault{Times: 1, Action: discordtest.Hold(held)})
	_, err := r.client.CreateChannel(t.Context(), r.guild, discordclient.ChannelCreate{Name: "alerts"}, "test")
	wantClass(t, err, discordclient.ClassUnknown)
}
