// SPDX-License-Identifier: Apache-2.0

// Package guildtest provides a simulated guild, and a real client whose cache follows it, for tests.
package guildtest

import (
	"context"
	"testing"
	"time"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/test/discordtest"
)

// Guild is a guild with a bot in it.
type Guild struct {
	Discord *discordtest.Server
	ID      string
	Bot     discordtest.Bot
}

// New creates a guild and a bot with the permissions p in it.
func New(t testing.TB, p discordtest.Permissions) *Guild {
	t.Helper()
	d := discordtest.Run(t, discordtest.Options{Limits: discordtest.NoRateLimits(), AuditDelay: -1})
	g := &Guild{Discord: d, ID: d.AddGuild(discordtest.GuildSpec{}).ID, Bot: d.AddBot(discordtest.Bot{})}
	d.AddMember(g.ID, g.Bot.UserID, p)
	return g
}

// Client returns a client of the bot with a cache that follows the guild's Gateway events.
func (g *Guild) Client(t testing.TB) *guildcache.Client {
	t.Helper()
	c, err := guildcache.New(guildcache.Options{Options: discordclient.Options{
		Token: discordclient.NewSecret(g.Bot.Token), APIURL: g.Discord.APIURL(),
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	t.Cleanup(func() { stop(); <-ended })
	view, events := c.Guild(g.ID), c.Subscribe(ctx)
	go func() {
		defer close(ended)
		if err := c.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	for timeout := time.After(10 * time.Second); view.Snapshot().Mode != guildcache.ModeLive; {
		select {
		case <-events:
		case <-timeout:
			t.Fatal("the view of the guild does not become live")
		}
	}
	return c
}

// Snapshot returns the guild as it is now, from the cache of a new client.
func (g *Guild) Snapshot(t testing.TB) *guildcache.Snapshot {
	t.Helper()
	return g.Client(t).Guild(g.ID).Snapshot()
}
