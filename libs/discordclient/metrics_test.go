package discordclient_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/discordtest"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	m := discordclient.NewMetrics()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	r := newRig(t, func(so *discordtest.Options, o *discordclient.Options) {
		o.Metrics = m
		so.Limits.Routes = map[string]discordtest.Rate{"GET /channels/{channel_id}": {N: 2, Per: time.Minute}}
	})
	r.run()
	r.live()
	c := r.create(discordclient.ChannelCreate{Name: "a"})
	for range 3 {
		_, _ = r.client.GetChannel(t.Context(), c.ID)
	}
	_, _ = r.client.GetGuild(t.Context(), "1")
	r.srv.SetPermissions(r.guild, r.bot.UserID, 0)
	_ = r.client.DeleteChannel(t.Context(), c.ID, "")
	_, _ = r.client.GetChannel(t.Context(), "not an id")
	r.srv.Faults().Add(discordtest.Fault{Route: "GET /users/@me", Action: discordtest.DropBefore()})
	_, _ = r.client.CurrentUser(t.Context())
	want := `
# HELP discord_requests_total Calls of Discord's REST API that were sent, by method, route template and class of the answer: 2xx to 5xx, or none when no answer came.
# TYPE discord_requests_total counter
discord_requests_total{method="DELETE",route="/channels/{channel_id}",status="4xx"} 1
discord_requests_total{method="GET",route="/channels/{channel_id}",status="2xx"} 2
discord_requests_total{method="GET",route="/gateway/bot",status="2xx"} 1
discord_requests_total{method="GET",route="/guilds/{guild_id}",status="4xx"} 1
discord_requests_total{method="GET",route="/users/@me",status="none"} 1
discord_requests_total{method="POST",route="/guilds/{guild_id}/channels",status="2xx"} 1
# HELP discord_rate_limited_total Calls that were put off because of a rate limit, by its scope and by who refused: local (not sent) or discord (a 429).
# TYPE discord_rate_limited_total counter
discord_rate_limited_total{origin="discord",scope="blocked"} 0
discord_rate_limited_total{origin="discord",scope="global"} 0
discord_rate_limited_total{origin="discord",scope="shared"} 0
discord_rate_limited_total{origin="discord",scope="user"} 0
discord_rate_limited_total{origin="local",scope="blocked"} 0
discord_rate_limited_total{origin="local",scope="global"} 0
discord_rate_limited_total{origin="local",scope="hidden"} 0
discord_rate_limited_total{origin="local",scope="shared"} 0
discord_rate_limited_total{origin="local",scope="unknown"} 0
discord_rate_limited_total{origin="local",scope="user"} 1
# HELP discord_gateway_connected Bots that are connected to the Gateway.
# TYPE discord_gateway_connected gauge
discord_gateway_connected 1
# HELP discord_resyncs_total Complete readings of a guild, by source: gateway, or rest when the Gateway was not there or missed something.
# TYPE discord_resyncs_total counter
discord_resyncs_total{source="gateway"} 1
# HELP discord_invalid_requests Refused calls within the last ten minutes, by status; at 10,000 Discord bans the address.
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
	for _, id := range []string{r.guild, c.ID, r.bot.UserID} {
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
	runtime.KeepAlive(r.client)
}

// A Client whose token was replaced must not be counted, nor held in memory, for ever.
func TestMetricsForgetClients(t *testing.T) {
	t.Parallel()
	m := discordclient.NewMetrics()
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
		c, err := discordclient.New(discordclient.Options{Token: discordclient.NewSecret("token"), Metrics: m})
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
