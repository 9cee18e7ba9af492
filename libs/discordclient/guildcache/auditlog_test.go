// SPDX-License-Identifier: Apache-2.0

package guildcache_test

import (
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/guildcache/cachetest"
	"jutsu.com/operators/test/discordtest"
)

func TestALateEntryIsReadThoughDiscordsClockIsBehind(t *testing.T) {
	t.Parallel()
	r := cachetest.New(t, func(o *discordtest.Options, g *guildcache.Options) {
		o.Clock, o.Frozen, o.AuditDelay, g.DisableGateway = time.Now().Add(-time.Minute), true, 5*time.Second, true
	})
	made := r.Create(discordclient.ChannelCreate{Name: "tokyo"})
	began := time.Now()
	targets := func(now time.Time) (ids []string) {
		entries, _, err := r.Client.OwnCreates(t.Context(), r.Guild, discordgo.AuditLogActionChannelCreate,
			began.Add(-time.Hour), now, now)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			ids = append(ids, e.TargetID)
		}
		return ids
	}
	if early := targets(began); len(early) > 0 {
		t.Fatalf("the log has %v at once, want it late", early)
	}
	r.Discord.Advance(10 * time.Second)
	if late := targets(began.Add(10 * time.Second)); len(late) != 1 || late[0] != made.ID {
		t.Errorf("the log has %v, want %s", late, made.ID)
	}
}
