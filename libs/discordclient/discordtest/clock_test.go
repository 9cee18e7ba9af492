package discordtest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestClock: a frozen clock moves with Advance only, and fires what is due in order.
func TestClock(t *testing.T) {
	t.Parallel()
	t0 := time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC)
	c := newClock(t0, true)
	var got []string
	note := func(s string) func() { return func() { got = append(got, s) } }
	c.after(3*time.Second, note("third"))
	c.after(time.Second, note("first"))
	c.after(2*time.Second, note("second"))
	c.after(2*time.Second, note("second too"))
	stop := c.after(time.Second, note("called off"))
	stop()
	c.advance(2 * time.Second)
	if d := cmp.Diff([]string{"first", "second", "second too"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if now := c.now(); !now.Equal(t0.Add(2 * time.Second)) {
		t.Errorf("it is %s", now)
	}
	c.stop()
	c.advance(time.Hour)
	if len(got) != 3 {
		t.Errorf("after stop: %v", got)
	}
}

// TestRunningClock: it starts where it is told to, runs, jumps, and fires by itself.
func TestRunningClock(t *testing.T) {
	t.Parallel()
	t0 := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	c := newClock(t0, false)
	defer c.stop()
	if d := c.now().Sub(t0); d < 0 || d > time.Minute {
		t.Errorf("it starts %s off", d)
	}
	fired := make(chan struct{})
	c.after(time.Hour+10*time.Millisecond, func() { close(fired) })
	c.advance(time.Hour)
	<-fired
}

// TestSnowflakes grow, also within a millisecond, and tell their time.
func TestSnowflakes(t *testing.T) {
	t.Parallel()
	var s snowflakes
	now := time.Date(2026, 8, 1, 12, 0, 0, 5e6, time.UTC)
	a, b, c := s.next(now), s.next(now), s.next(now.Add(-time.Hour))
	if compareIDs(a, b) >= 0 || compareIDs(b, c) >= 0 || !SnowflakeTime(a).Equal(now) || !isSnowflake(a) {
		t.Errorf("%s %s %s at %s", a, b, c, SnowflakeTime(a))
	}
	for _, bad := range []string{"", "x", "-1", "01", "1.5", "99999999999999999999999"} {
		if isSnowflake(bad) || !SnowflakeTime("x").IsZero() {
			t.Errorf("%q passes for an id", bad)
		}
	}
}

// FuzzGatewayFrame: whatever a client sends is answered or ends in a lawful close code, and is never a panic.
func FuzzGatewayFrame(f *testing.F) {
	for _, s := range []string{
		`{"op":1,"d":null}`, `{"op":1,"d":251}`, `{"op":2,"d":{"token":"T","intents":37,"properties":{}}}`, `{"op":2,"d":{"token":"T","intents":37,"shard":[0,1],"properties":{}}}`,
		`{"op":2,"d":{"token":"T","intents":1,"shard":[0,0],"properties":{}}}`, `{"op":2,"d":{"token":"Bot T","intents":-1,"properties":{}}}`, `{"op":6,"d":{"token":"T","session_id":"S","seq":1}}`,
		`{"op":6,"d":{"token":"T","session_id":"S","seq":-9223372036854775808}}`, `{"op":3}`, `{"op":8,"d":{}}`, `{"op":99}`, `{"op":"1"}`, `{}`, `[]`, `null`, `7`, `{"op":1`, "\x00", `{"op":1e400}`,
	} {
		f.Add([]byte(s), s[0] == '{')
	}
	lawful := map[int]bool{4001: true, 4002: true, 4003: true, 4004: true, 4005: true, 4007: true, 4010: true, 4013: true, 4014: true}
	f.Fuzz(func(t *testing.T, data []byte, before bool) {
		srv := New(Options{Frozen: true, Limits: NoRateLimits()})
		b := srv.AddBot(Bot{Token: "T"})
		srv.AddMember(srv.AddGuild(GuildSpec{}).ID, b.UserID, 0)
		c := newConn(&srv.gateway, false)
		c.version = 10
		if before { // within a session, with one to resume
			c.receive([]byte(`{"op":2,"d":{"token":"T","intents":1,"properties":{}}}`))
			c.session.id = "S"
			srv.gateway.sessions = map[string]*session{"S": c.session}
		}
		c.receive(data)
		list, ended := c.take()
		for i, o := range list {
			if o.close && (!lawful[o.code] || i != len(list)-1 || !ended) {
				t.Errorf("closed with %d %q as answer %d of %d", o.code, o.reason, i, len(list))
			}
		}
		if !ended && len(list) == 0 && !before {
			t.Errorf("%q gets no answer and no end", data)
		}
		srv.Close()
	})
}
