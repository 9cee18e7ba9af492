// SPDX-License-Identifier: Apache-2.0

package recovery_test

import (
	"fmt"
	"testing"
	"time"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/guildcache/cachetest"
	"jutsu.com/operators/libs/discordclient/recovery"
	"jutsu.com/operators/test/discordtest"
)

const auditLog = "GET /guilds/{guild_id}/audit-logs"

func TestOthersInTheGuildCostNoCalls(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		made, foreign, ignored bool
		want                   recovery.Outcome
	}{
		"executed":     {made: true, want: recovery.Found},
		"not executed": {want: recovery.Absent},
		"not executed, a user created a channel of the same name":                            {foreign: true, want: recovery.Absent},
		"executed, a user created a channel of the same name, the log ignores target_id":     {made: true, foreign: true, ignored: true, want: recovery.Found},
		"not executed, a user created a channel of the same name, the log ignores target_id": {foreign: true, ignored: true, want: recovery.Absent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := cachetest.New(t, func(o *discordtest.Options, g *guildcache.Options) {
				o.IgnoreTargetID, g.DisableGateway = c.ignored, true
			})
			r.Discord.FillAuditLog(r.Guild, 5000)
			began := time.Now()
			if c.made {
				r.Create(discordclient.ChannelCreate{Name: "tokyo"})
			}
			if c.foreign {
				r.Discord.CreateChannelByHand(r.Guild, discordtest.Channel{Name: "tokyo"})
			}
			r.Discord.FillAuditLog(r.Guild, 5000)
			r.Client = r.NewClient()
			r.Discord.ResetRequests()
			now := time.Now().Add(2 * time.Minute)
			got, err := recovery.Channel(t.Context(), r.Client, recovery.Intent{
				GuildID: r.Guild, Name: "tokyo", Reason: "test", NotBefore: began, LastAttempt: time.Now(),
				Now: func() time.Time { return now },
			})
			if err != nil || got.Outcome != c.want || c.made && got.Proof != recovery.ProofAuditLog {
				t.Errorf("%+v, %v; want it %s", got, err, c.want)
			}
			calls := 0
			for _, n := range r.Discord.RequestCounts() {
				calls += n
			}
			if calls > 5 {
				t.Errorf("%d calls, want five at most: %v", calls, r.Discord.RequestCounts())
			}
		})
	}
}

func TestLostCreatesShareOneReading(t *testing.T) {
	t.Parallel()
	r := cachetest.New(t, func(_ *discordtest.Options, g *guildcache.Options) { g.DisableGateway = true })
	began := time.Now()
	for i := range 150 {
		r.Create(discordclient.ChannelCreate{Name: fmt.Sprint("c", i)})
	}
	r.Client = r.NewClient()
	r.Discord.ResetRequests()
	now := time.Now().Add(2 * time.Minute)
	look := func(i int, notBefore time.Time) recovery.Result {
		got, err := recovery.Channel(t.Context(), r.Client, recovery.Intent{
			GuildID: r.Guild, Name: fmt.Sprint("none", i), Reason: fmt.Sprint("uid", i), NotBefore: notBefore,
			LastAttempt: began, Now: func() time.Time { return now },
		})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	for i := range 10 {
		if got := look(i, began.Add(-time.Duration(i)*time.Minute)); got.Outcome != recovery.Absent {
			t.Errorf("%d: %+v", i, got)
		}
	}
	// The first call reads two pages. Each earlier NotBefore may cost one more page.
	if n := r.Discord.RequestCounts()[auditLog]; n > 11 {
		t.Errorf("the audit log was read %d times for 10 intents", n)
	}
	before := r.Discord.RequestCounts()[auditLog]
	now = now.Add(time.Minute)
	r.Create(discordclient.ChannelCreate{Name: "tokyo"})
	got, err := recovery.Channel(t.Context(), r.Client, recovery.Intent{
		GuildID: r.Guild, Name: "tokyo", Reason: "test", NotBefore: began, LastAttempt: now.Add(-30 * time.Second),
		Now: func() time.Time { return now },
	})
	if err != nil || got.Outcome != recovery.Found {
		t.Errorf("%+v, %v", got, err)
	}
	if n := r.Discord.RequestCounts()[auditLog] - before; n > 2 {
		t.Errorf("%d calls for what is new", n)
	}
}
