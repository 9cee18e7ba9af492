// SPDX-License-Identifier: Apache-2.0

package recovery_test

import (
	"testing"
	"time"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/guildcache/cachetest"
	"jutsu.com/operators/libs/discordclient/recovery"
	"jutsu.com/operators/test/discordtest"
)

func TestAHiddenChannelIsNotAbsent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		live, deleted, lost bool
		want                recovery.Outcome
	}{
		"hidden, and the Gateway says so":                         {live: true, want: recovery.Hidden},
		"hidden, and a look-up says so":                           {want: recovery.Hidden},
		"deleted":                                                 {deleted: true, want: recovery.Absent},
		"deleted, and the Gateway says so":                        {live: true, deleted: true, want: recovery.Absent},
		"hidden, without an audit log entry":                      {live: true, lost: true, want: recovery.Unsure},
		"deleted, without an audit log entry":                     {live: true, lost: true, deleted: true, want: recovery.Absent},
		"hidden, with neither an audit log entry nor the Gateway": {lost: true, want: recovery.Absent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := cachetest.New(t, func(_ *discordtest.Options, g *guildcache.Options) { g.DisableGateway = !c.live })
			if c.lost {
				r.Discord.Faults().LoseAudit(1)
			}
			r.Discord.Faults().Add(discordtest.Fault{Route: "POST /guilds/{guild_id}/channels", Times: 1, Action: discordtest.DropAfter()})
			_, err := r.Client.CreateChannel(t.Context(), r.Guild, discordclient.ChannelCreate{Name: "tokyo"}, "uid")
			cachetest.WantClass(t, err, discordclient.ClassUnknown)
			id := r.Discord.Guild(r.Guild).Channels[0].ID
			r.Discord.EditChannelByHand(id, func(c *discordtest.Channel) {
				c.Overwrites = []discordtest.Overwrite{{ID: r.Guild, Deny: discordtest.PermViewChannel}}
			})
			if c.deleted {
				r.Discord.DeleteChannelByHand(id)
			}
			r.Client = r.NewClient()
			if c.live {
				// Only the Gateway shows hidden channels, so call Guild before it connects.
				guild := r.Client.Guild(r.Guild)
				go func() { _ = r.Client.Run(t.Context()) }()
				for guild.Snapshot().Mode != guildcache.ModeLive {
					<-time.After(time.Millisecond)
				}
			}
			now := time.Now().Add(2 * time.Minute)
			got, err := recovery.Channel(t.Context(), r.Client, recovery.Intent{
				GuildID: r.Guild, Name: "tokyo", Reason: "uid", NotBefore: time.Now().Add(-time.Second),
				LastAttempt: time.Now(), Now: func() time.Time { return now },
			})
			if err != nil || got.Outcome != c.want || (got.ID == id) != (c.want == recovery.Hidden) {
				t.Errorf("%+v, %v; want it %s", got, err, c.want)
			}
		})
	}
}
