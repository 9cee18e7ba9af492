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
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/guildcache/cachetest"
	"jutsu.com/operators/test/discordtest"
)

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
			r := cachetest.New(t, func(_ *discordtest.Options, o *guildcache.Options) {
				o.Gateway.Hello, o.Gateway.Ready = 3*time.Second, 3*time.Second
			})
			run(r)
			v := liveOn(r)
			before := r.Discord.Gateway().Stats()
			r.Discord.Gateway().SetFaults(fault)
			r.Discord.Gateway().Drop(0)
			eventually(t, "the fault occurs", func() bool {
				switch now := r.Discord.Gateway().Stats(); {
				case fault.Refuse:
					return strings.Contains(r.Client.Stats().GatewayError, "503")
				case fault.AckBeforeReady:
					return now.Identifies > before.Identifies // the connection after the fault started a session
				default:
					return now.Connections >= before.Connections+2
				}
			})
			missed := r.Discord.CreateChannelByHand(r.Guild, discordtest.Channel{Name: "missed"})
			r.Discord.Gateway().SetFaults(discordtest.GatewayFaults{})
			liveOn(r)
			eventually(t, "the view has the missed change", func() bool { _, ok := v.Snapshot().Channel(missed); return ok })
			agrees(r, v)
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
			r := cachetest.New(t)
			run(r)
			liveOn(r)
			before := r.Discord.Gateway().Stats().Identifies
			interrupt(r.Discord.Gateway())
			eventually(t, "a new session", func() bool { return r.Discord.Gateway().Stats().Identifies > before })
			liveOn(r)
			if got := r.Discord.Gateway().Stats().Intents; got != 33 {
				t.Errorf("intents %d, want 33", got)
			}
		})
	}
}

func TestTooManyGuilds(t *testing.T) {
	t.Parallel()
	r := cachetest.New(t, func(so *discordtest.Options, o *guildcache.Options) {
		so.Limits.GuildsPerSession = 2
		o.Grace, o.Resync, o.Gateway.Closed = time.Millisecond, 20*time.Millisecond, 10*time.Millisecond
	})
	other := r.Discord.AddGuild(discordtest.GuildSpec{Name: "Kyoto"}).ID
	r.Discord.AddMember(other, r.Bot.UserID, cachetest.Usual)
	run(r)
	v := r.Client.Guild(r.Guild)
	eventually(t, "TooManyGuilds is reported, and the guild is polled", func() bool {
		return r.Client.Stats().TooManyGuilds && v.Snapshot().Mode == guildcache.ModePolled
	})
	r.Discord.RemoveMember(other, r.Bot.UserID)
	eventually(t, "the guild is followed", func() bool { return v.Snapshot().Mode == guildcache.ModeLive })
	if r.Client.Stats().TooManyGuilds {
		t.Error("the guilds still count as too many")
	}
}

// After close code 4004, Run ends. After each other fatal code, the Client polls, and connects
// again only after an hour.
func TestFatalCloseCodes(t *testing.T) {
	t.Parallel()
	for _, code := range []int{4004, 4010, 4011, 4012, 4013, 4014} {
		t.Run(strconv.Itoa(code), func(t *testing.T) {
			t.Parallel()
			wire := &watch{next: &http.Transport{MaxIdleConnsPerHost: 32}}
			r := cachetest.New(t, func(_ *discordtest.Options, o *guildcache.Options) {
				o.Grace, o.Transport = time.Millisecond, wire
				o.Resync = 20 * time.Millisecond
			})
			r.Discord.Gateway().SetFaults(discordtest.GatewayFaults{CloseOnIdentify: code})
			stop := run(r)
			v := r.Client.Guild(r.Guild)
			if code == 4004 {
				eventually(t, "the token counts as refused", func() bool { return r.Client.Stats().TokenRefused })
				cachetest.WantClass(t, stop(), discordclient.ClassBadToken)
				calls := wire.sent.Load() // Discord's own count may include a cancelled poll later
				_, err := r.Client.GetGuild(t.Context(), r.Guild)
				cachetest.WantClass(t, err, discordclient.ClassBadToken)
				if wire.sent.Load() != calls {
					t.Error("a call was made with a refused token")
				}
				return
			}
			eventually(t, "the error is reported", func() bool { return strings.Contains(r.Client.Stats().GatewayError, "does not allow a reconnect") })
			polls := func() int { return r.Discord.RequestCounts()["GET /guilds/{guild_id}/channels"] }
			before := polls()
			eventually(t, "polling continues", func() bool { return polls() > before+3 && v.Snapshot().Mode == guildcache.ModePolled })
			if got := r.Discord.Gateway().Stats().Connections; got != 1 {
				t.Errorf("%d connections, want one", got)
			}
			if err := stop(); err != nil {
				t.Errorf("the end of the context is %v, want nil", err)
			}
		})
	}
}

func TestAMissingAcknowledgementEndsTheConnection(t *testing.T) {
	t.Parallel()
	// A heartbeat that is late on a busy machine must not end the session.
	r := cachetest.New(t, func(o *discordtest.Options, _ *guildcache.Options) { o.HeartbeatInterval = 8 * time.Second })
	run(r)
	liveOn(r)
	eventually(t, "heartbeats", func() bool { return r.Discord.Gateway().Stats().Heartbeats >= 2 })
	before := r.Discord.Gateway().Stats().Identifies
	if before != 1 {
		t.Errorf("%d sessions with heartbeats acknowledged, want one", before)
	}
	r.Discord.Gateway().SetFaults(discordtest.GatewayFaults{WithholdAcks: true})
	eventually(t, "a new session", func() bool { return r.Discord.Gateway().Stats().Identifies > before })
	r.Discord.Gateway().SetFaults(discordtest.GatewayFaults{})
	liveOn(r)
}

func TestMissedEventsAreReadAgain(t *testing.T) {
	t.Parallel()
	r := cachetest.New(t)
	run(r)
	v := liveOn(r)
	r.Discord.Gateway().SetFaults(discordtest.GatewayFaults{LoseOnWire: func(event string) bool { return event == "CHANNEL_CREATE" }})
	missed := r.Discord.CreateChannelByHand(r.Guild, discordtest.Channel{Name: "missed"})
	r.Discord.Gateway().SetFaults(discordtest.GatewayFaults{Twice: func(string) bool { return true }})
	r.Discord.CreateChannelByHand(r.Guild, discordtest.Channel{Name: "heard"})
	if v.Snapshot().Mode != guildcache.ModeLive {
		t.Error("the view is not live")
	}
	eventually(t, "the missed channel is seen", func() bool { _, ok := v.Snapshot().Channel(missed); return ok })
	agrees(r, v)
}

func TestSessionStartsAreNotUsedUp(t *testing.T) {
	t.Parallel()
	r := cachetest.New(t, func(o *discordtest.Options, c *guildcache.Options) {
		o.Limits = discordtest.NoRateLimits()
		o.Limits.SessionStarts = discordtest.Rate{N: 12, Per: time.Hour}
		c.Grace, c.Resync = time.Millisecond, 20*time.Millisecond
	})
	r.Discord.Gateway().SetFaults(discordtest.GatewayFaults{CloseOnIdentify: 4000})
	run(r)
	r.Client.Guild(r.Guild)
	eventually(t, "the client stops by itself", func() bool { return strings.Contains(r.Client.Stats().GatewayError, "session starts are left") })
	if got := r.Discord.Gateway().Stats().Connections; got > 7 {
		t.Errorf("%d sessions were started of 12, want at least 5 left", got)
	}
	if r.Client.Stats().TokenRefused {
		t.Error("the token was reset")
	}
}

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
		Options: discordclient.Options{Token: discordclient.NewSecret("token"), APIURL: api.URL}, Gateway: cachetest.Quick, Resync: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &cachetest.Rig{T: t, Client: c}
	run(r)
	eventually(t, "the other Gateway is refused", func() bool { return strings.Contains(c.Stats().GatewayError, "another host") })
	_, err = c.GetGuild(t.Context(), "1")
	cachetest.WantClass(t, err, discordclient.ClassInvalid)
	_, err = c.CreateChannel(t.Context(), "1", discordclient.ChannelCreate{Name: "a"}, "")
	cachetest.WantClass(t, err, discordclient.ClassInvalid)
	elsewhere.Close()
	if n := elsewhereCalls.Load(); n > 0 {
		t.Errorf("another host got %d requests", n)
	}
}
