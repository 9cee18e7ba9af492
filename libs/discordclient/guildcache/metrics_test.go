// SPDX-License-Identifier: Apache-2.0

package guildcache_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/guildcache/cachetest"
	"jutsu.com/operators/test/discordtest"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	m := guildcache.NewMetrics()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	r := cachetest.New(t, func(so *discordtest.Options, o *guildcache.Options) {
		o.Metrics, o.Namespace = m, "school"
		o.Grace = time.Hour // no poll, even if the Gateway is slow
		so.Limits.Routes = map[string]discordtest.Rate{"GET /channels/{channel_id}": {N: 2, Per: time.Minute}}
	})
	run(r)
	liveOn(r)
	c := r.Create(discordclient.ChannelCreate{Name: "a"})
	for range 3 {
		_, _ = r.Client.GetChannel(t.Context(), c.ID)
	}
	_, _ = r.Client.GetGuild(t.Context(), "1")
	r.Discord.SetPermissions(r.Guild, r.Bot.UserID, 0)
	_ = r.Client.DeleteChannel(t.Context(), c.ID, "")
	_, _ = r.Client.GetChannel(t.Context(), "not an id")
	r.Discord.Faults().Add(discordtest.Fault{Route: "GET /users/@me", Action: discordtest.DropBefore()})
	_, _ = r.Client.CurrentUser(t.Context())
	want := `
# HELP discord_requests_total Calls of Discord's REST API that were sent, by method, route template and class of the response: 2xx to 5xx, or none without a response.
# TYPE discord_requests_total counter
discord_requests_total{method="DELETE",route="/channels/{channel_id}",status="4xx"} 1
discord_requests_total{method="GET",route="/channels/{channel_id}",status="2xx"} 2
discord_requests_total{method="GET",route="/gateway/bot",status="2xx"} 1
discord_requests_total{method="GET",route="/guilds/{guild_id}",status="4xx"} 1
discord_requests_total{method="GET",route="/users/@me",status="none"} 1
discord_requests_total{method="POST",route="/guilds/{guild_id}/channels",status="2xx"} 1
# HELP discord_rate_limited_total Calls that a rate limit has delayed. The label scope names the limit. The label origin is local if the call was not sent, and discord if Discord answered with 429.
# TYPE discord_rate_limited_total counter
discord_rate_limited_total{origin="discord",scope="blocked"} 0
discord_rate_limited_total{origin="discord",scope="global"} 0
discord_rate_limited_total{origin="discord",scope="shared"} 0
discord_rate_limited_total{origin="discord",scope="user"} 0
discord_rate_limited_total{origin="local",scope="blocked"} 0
discord_rate_limited_total{origin="local",scope="global"} 0
discord_rate_limited_total{origin="local",scope="hidden"} 0
discord_rate_limited_total{origin="local",scope="shared"} 0
discord_rate_limited_total{origin="local",scope="tenant"} 0
discord_rate_limited_total{origin="local",scope="unknown"} 0
discord_rate_limited_total{origin="local",scope="user"} 1
# HELP discord_gateway_connected Bots that are connected to the Gateway, by namespace.
# TYPE discord_gateway_connected gauge
discord_gateway_connected{namespace="school"} 1
# HELP discord_resyncs_total Complete reads of a guild, by source: "gateway", or "rest" (once per resync period, and whenever the cached state may be outdated).
# TYPE discord_resyncs_total counter
discord_resyncs_total{source="gateway"} 1
# HELP discord_invalid_requests Refused calls within the last ten minutes, by status; at 10,000 in total, Discord bans the IP address.
# TYPE discord_invalid_requests gauge
discord_invalid_requests{status="401"} 0
discord_invalid_requests{status="403"} 1
discord_invalid_requests{status="429"} 0
`
	err := testutil.GatherAndCompare(registry, strings.NewReader(want), "discord_requests_total", "discord_rate_limited_total",
		"discord_gateway_connected", "discord_resyncs_total", "discord_invalid_requests")
	if err != nil {
		t.Error(err)
	}
	families, err := registry.Gather()
	for _, id := range []string{r.Guild, c.ID, r.Bot.UserID} {
		if text := fmt.Sprint(families); err != nil || strings.Contains(text, id) {
			t.Errorf("id %s is in the metrics, %v", id, err)
		}
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("lint: %v, %v", problems, err)
	}
	if n, err := testutil.GatherAndCount(registry, "discord_view_age_seconds", "discord_global_budget_remaining", "discord_request_duration_seconds"); err != nil || n < 3 {
		t.Errorf("%d series, %v", n, err)
	}
	runtime.KeepAlive(r.Client)
}

func TestMetricsOfTheGateway(t *testing.T) {
	t.Parallel()
	m := guildcache.NewMetrics()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	r := cachetest.New(t, func(_ *discordtest.Options, o *guildcache.Options) { o.Metrics = m })
	stop := run(r)
	v := liveOn(r)
	seen := func(id string) func() bool {
		return func() bool { _, ok := v.Snapshot().Channel(id); return ok }
	}
	eventually(t, "a channel", seen(r.Discord.CreateChannelByHand(r.Guild, discordtest.Channel{Name: "a"})))
	r.Discord.Gateway().SetFaults(discordtest.GatewayFaults{LoseOnWire: func(event string) bool { return event == "CHANNEL_CREATE" }})
	missed := r.Discord.CreateChannelByHand(r.Guild, discordtest.Channel{Name: "missed"})
	r.Discord.Gateway().SetFaults(discordtest.GatewayFaults{})
	remove := r.Discord.Faults().Add(discordtest.Fault{Route: "GET /guilds/{guild_id}", Action: discordtest.FailBefore(500)})
	eventually(t, "another channel", seen(r.Discord.CreateChannelByHand(r.Guild, discordtest.Channel{Name: "b"})))
	eventually(t, "the view grows old", func() bool { return value(t, registry, "discord_view_age_seconds", "") > 0.5 })
	remove()
	eventually(t, "the missed channel", seen(missed))
	r.Discord.Gateway().Drop(0)
	eventually(t, "another session", func() bool { return value(t, registry, "discord_gateway_connects_total", "") == 2 })
	liveOn(r)
	if _, err := r.Discord.RotateToken(r.Bot.Token); err != nil {
		t.Fatal(err)
	}
	_, err := r.Client.CurrentUser(t.Context())
	cachetest.WantClass(t, err, discordclient.ClassBadToken)
	_ = stop()
	for name, want := range map[string]float64{
		"discord_gateway_events_total READY": 2, "discord_gateway_events_total GUILD_CREATE": 2, "discord_gateway_events_total CHANNEL_CREATE": 2,
		"discord_gateway_gaps_total": 1, "discord_gateway_connects_total": 2, "discord_gateway_disconnects_total": 2,
		"discord_gateway_connected": 0, "discord_tokens_refused": 1, "discord_guild_views": 1,
	} {
		name, label, _ := strings.Cut(name, " ")
		if got := value(t, registry, name, label); got != want {
			t.Errorf("%s %s is %v, want %v", name, label, got, want)
		}
	}
	runtime.KeepAlive(r.Client)
}

func value(t *testing.T, registry prometheus.Gatherer, name, label string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			labelled := slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetValue() == label })
			if f.GetName() == name && (label == "" || labelled) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return -1
}

func TestMetricsForgetClients(t *testing.T) {
	t.Parallel()
	m := guildcache.NewMetrics()
	clients := func() float64 {
		registry := prometheus.NewRegistry()
		registry.MustRegister(m)
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if f.GetName() == "discord_clients" {
				return f.GetMetric()[0].GetGauge().GetValue()
			}
		}
		return -1
	}
	func() {
		c, err := guildcache.New(guildcache.Options{Options: discordclient.Options{Token: discordclient.NewSecret("token")}, Metrics: m})
		if err != nil {
			t.Fatal(err)
		}
		if got := clients(); got != 1 {
			t.Errorf("%v clients, want 1", got)
		}
		runtime.KeepAlive(c)
	}()
	eventually(t, "the Client is forgotten", func() bool { runtime.GC(); return clients() == 0 })
}
