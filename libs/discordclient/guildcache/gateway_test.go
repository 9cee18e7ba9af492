// SPDX-License-Identifier: Apache-2.0

package guildcache_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/discordtest"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

// Whatever the Gateway does wrong, the client comes back by itself when it does right again, and
// has missed nothing.
func TestGatewayComesBack(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]discordtest.GatewayFaults{
		"refuses connections":                {Refuse: true},
		"withholds HELLO":                    {WithholdHello: true},
		"asks to reconnect instead of HELLO": {ReconnectForHello: true},
		"acknowledges instead of HELLO":      {AckForHello: true},
		"withholds READY":                    {WithholdReady: true},
		"asks to reconnect instead of READY": {ReconnectBeforeReady: true},
		"refuses the session":                {InvalidOnIdentify: true},
		"closes with 4000":                   {CloseOnIdentify: 4000},
		"closes with 4008":                   {CloseOnIdentify: 4008},
		"closes with 4009":                   {CloseOnIdentify: 4009},
		"acknowledges before READY":          {AckBeforeReady: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.run()
			v := r.live()
			before := r.srv.Gateway().Stats()
			r.srv.Gateway().SetFaults(fault)
			r.srv.Gateway().Drop(0)
			eventually(t, "it was met", func() bool {
				switch now := r.srv.Gateway().Stats(); {
				case fault.Refuse:
					return strings.Contains(r.client.Stats().GatewayError, "503")
				case fault.AckBeforeReady:
					return now.Identifies > before.Identifies // and it is none
				default:
					return now.Connections >= before.Connections+2
				}
			})
			missed := r.srv.CreateChannelByHand(r.guild, discordtest.Channel{Name: "missed"})
			r.srv.Gateway().SetFaults(discordtest.GatewayFaults{})
			r.live()
			eventually(t, "what was missed is seen", func() bool { _, ok := v.Snapshot().Channel(missed); return ok })
			r.agrees(v)
		})
	}
}

func TestGatewayReconnectsWhenAsked(t *testing.T) {
	t.Parallel()
	for name, interrupt := range map[string]func(g *discordtest.Gateway){
		"op 7":                 func(g *discordtest.Gateway) { g.Reconnect() },
		"op 9, resumable":      func(g *discordtest.Gateway) { g.Invalidate(true) },
		"op 9, not resumable":  func(g *discordtest.Gateway) { g.Invalidate(false) },
		"close 1001":           func(g *discordtest.Gateway) { g.Drop(1001) },
		"the wire is cut":      func(g *discordtest.Gateway) { g.Drop(0) },
		"close 4007, bad seq":  func(g *discordtest.Gateway) { g.Drop(4007) },
		"close 4009, too slow": func(g *discordtest.Gateway) { g.Drop(4009) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.run()
			r.live()
			before := r.srv.Gateway().Stats().Identifies
			interrupt(r.srv.Gateway())
			eventually(t, "a new session", func() bool { return r.srv.Gateway().Stats().Identifies > before })
			r.live()
			if got := r.srv.Gateway().Stats().Intents; got != 33 {
				t.Errorf("intents %d, want 33", got)
			}
		})
	}
}

// A bot in more guilds than a session may have is polled, which is said, until it has left some.
func TestTooManyGuilds(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(so *discordtest.Options, o *guildcache.Options) {
		so.Limits.GuildsPerSession = 2
		o.Grace, o.Resync, o.Gateway.Closed = time.Millisecond, 20*time.Millisecond, 10*time.Millisecond
	})
	other := r.srv.AddGuild(discordtest.GuildSpec{Name: "Kyoto"}).ID
	r.srv.AddMember(other, r.bot.UserID, usual)
	r.run()
	v := r.client.Guild(r.guild)
	eventually(t, "it is said, and the guild polled", func() bool {
		return r.client.Stats().TooManyGuilds && v.Snapshot().Mode == guildcache.ModePolled
	})
	r.srv.RemoveMember(other, r.bot.UserID)
	eventually(t, "the guild is followed", func() bool { return v.Snapshot().Mode == guildcache.ModeLive })
	if r.client.Stats().TooManyGuilds {
		t.Error("it is said still")
	}
}

// After these close codes no connection can succeed: one try, a report, and polling instead.
func TestFatalCloseCodes(t *testing.T) {
	t.Parallel()
	for _, code := range []int{4004, 4010, 4011, 4012, 4013, 4014} {
		t.Run(strconv.Itoa(code), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(_ *discordtest.Options, o *guildcache.Options) {
				o.Grace = time.Millisecond
				o.Resync = 20 * time.Millisecond
			})
			r.srv.Gateway().SetFaults(discordtest.GatewayFaults{CloseOnIdentify: code})
			stop := r.run()
			v := r.client.Guild(r.guild)
			if code == 4004 {
				eventually(t, "the token counts as refused", func() bool { return r.client.Stats().TokenRefused })
				wantClass(t, stop(), discordclient.ClassBadToken)
				calls := r.calls()
				_, err := r.client.GetGuild(t.Context(), r.guild)
				wantClass(t, err, discordclient.ClassBadToken)
				if r.calls() != calls {
					t.Error("a call was made with a refused token")
				}
				return
			}
			eventually(t, "it is reported", func() bool { return strings.Contains(r.client.Stats().GatewayError, "for good") })
			polls := func() int { return r.srv.RequestCounts()["GET /guilds/{guild_id}/channels"] }
			before := polls()
			eventually(t, "polling goes on", func() bool { return polls() > before+3 && v.Snapshot().Mode == guildcache.ModePolled })
			if got := r.srv.Gateway().Stats().Connections; got != 1 {
				t.Errorf("%d connections, want one", got)
			}
			if err := stop(); err != nil {
				t.Errorf("the end of the context is %v, want nil", err)
			}
		})
	}
}

func TestMissedAcknowledgementIsADeadConnection(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *discordtest.Options, _ *guildcache.Options) { o.HeartbeatInterval = 2 * time.Second })
	r.run()
	r.live()
	eventually(t, "heartbeats", func() bool { return r.srv.Gateway().Stats().Heartbeats >= 3 })
	before := r.srv.Gateway().Stats().Identifies
	if before != 1 {
		t.Errorf("%d sessions with heartbeats acknowledged, want one", before)
	}
	r.srv.Gateway().SetFaults(discordtest.GatewayFaults{WithholdAcks: true})
	eventually(t, "a new session", func() bool { return r.srv.Gateway().Stats().Identifies > before })
	r.srv.Gateway().SetFaults(discordtest.GatewayFaults{})
	r.live()
}

// Lost events show as a gap in their numbers; one read by REST corrects the view.
func TestMissedEventsAreReadAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run()
	v := r.live()
	r.srv.Gateway().SetFaults(discordtest.GatewayFaults{LoseOnWire: func(event string) bool { return event == "CHANNEL_CREATE" }})
	missed := r.srv.CreateChannelByHand(r.guild, discordtest.Channel{Name: "missed"})
	r.srv.Gateway().SetFaults(discordtest.GatewayFaults{Twice: func(string) bool { return true }})
	r.srv.CreateChannelByHand(r.guild, discordtest.Channel{Name: "heard"})
	if v.Snapshot().Mode != guildcache.ModeLive {
		t.Error("the view is not live")
	}
	eventually(t, "the missed channel is seen", func() bool { _, ok := v.Snapshot().Channel(missed); return ok })
	r.agrees(v)
}

func TestSessionStartsAreNotUsedUp(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *discordtest.Options, c *guildcache.Options) {
		o.Limits = discordtest.NoRateLimits()
		o.Limits.SessionStarts = discordtest.Rate{N: 12, Per: time.Hour}
		c.Grace, c.Resync = time.Millisecond, 20*time.Millisecond
	})
	r.srv.Gateway().SetFaults(discordtest.GatewayFaults{CloseOnIdentify: 4000})
	r.run()
	r.client.Guild(r.guild)
	eventually(t, "the client stops by itself", func() bool { return strings.Contains(r.client.Stats().GatewayError, "session starts are left") })
	if got := r.srv.Gateway().Stats().Connections; got > 7 {
		t.Errorf("%d sessions were started of 12, want at least 5 left", got)
	}
	if r.client.Stats().TokenRefused {
		t.Error("the token was reset")
	}
}

// Neither REST nor the Gateway goes anywhere but to the configured host.
func TestHostsArePinned(t *testing.T) {
	t.Parallel()
	var elsewhereCalls atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhereCalls.Add(1) }))
	defer elsewhere.Close()
	ws := "ws" + strings.TrimPrefix(elsewhere.URL, "http")
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/gateway/bot") {
			_, _ = w.Write([]byte(`{"url":"` + strings.Replace(ws, "127.0.0.1", "localhost", 1) + `","shards":1,"session_start_limit":{"total":1000,"remaining":1000}}`))
			return
		}
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
	}))
	defer api.Close()
	c, err := guildcache.New(guildcache.Options{
		Options: discordclient.Options{Token: discordclient.NewSecret("token"), APIURL: api.URL}, Gateway: quick, Resync: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, client: c}
	r.run()
	eventually(t, "the other Gateway is refused", func() bool { return strings.Contains(c.Stats().GatewayError, "another host") })
	_, err = c.GetGuild(t.Context(), "1")
	wantClass(t, err, discordclient.ClassInvalid)
	_, err = c.CreateChannel(t.Context(), "1", discordclient.ChannelCreate{Name: "a"}, "")
	wantClass(t, err, discordclient.ClassInvalid)
	elsewhere.Close()
	if n := elsewhereCalls.Load(); n > 0 {
		t.Errorf("another host got %d requests", n)
	}
}
