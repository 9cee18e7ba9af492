// SPDX-License-Identifier: Apache-2.0

package guildcache_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/guildcache/cachetest"
	"jutsu.com/operators/libs/discordclient/permissions"
	"jutsu.com/operators/test/discordtest"
)

func TestEventsDoNotRepeatADeniedCall(t *testing.T) {
	t.Parallel()
	began := time.Now() // a fixed clock, so that no step is late
	var ahead atomic.Int64
	r := cachetest.New(t, func(_ *discordtest.Options, o *guildcache.Options) {
		o.Now = func() time.Time { return began.Add(time.Duration(ahead.Load())) }
	})
	category := r.Create(discordclient.ChannelCreate{Name: "incidents", Type: 4})
	channel := r.Create(discordclient.ChannelCreate{Name: "tokyo", ParentID: category.ID})
	other := r.Create(discordclient.ChannelCreate{Name: "kyoto"})
	v := r.Client.Guild(r.Guild)
	run(r)
	liveOn(r)
	const route = "PATCH /channels/{channel_id}"
	refuse := func() (remove func()) {
		return r.Discord.Faults().Add(discordtest.Fault{Route: route, Action: discordtest.Action{
			Status: http.StatusForbidden, Body: `{"message": "Missing Permissions", "code": 50013}`,
		}})
	}
	permit := refuse()
	edit := func(topic string) (asked bool) {
		t.Helper()
		before := r.Discord.RequestCounts()[route]
		_, err := r.Client.EditChannel(t.Context(), channel.ID, discordclient.ChannelEdit{Topic: discordclient.Set(topic)}, "test")
		cachetest.WantClass(t, err, discordclient.ClassDenied)
		return r.Discord.RequestCounts()[route] > before
	}
	until := func(act func(), shown func(*guildcache.Snapshot) bool) func() {
		return func() {
			act()
			eventually(t, "the view shows the change", func() bool { return shown(v.Snapshot()) })
		}
	}
	overwrite := func(id string) func() {
		deny := []discordtest.Overwrite{{ID: r.Guild, Deny: discordtest.PermSendMessages}}
		return until(func() { r.Discord.EditChannelByHand(id, func(c *discordtest.Channel) { c.Overwrites = deny }) },
			func(s *guildcache.Snapshot) bool { c, _ := s.Channel(id); return len(c.Overwrites) == 1 })
	}
	var role string
	roles := func(s *guildcache.Snapshot) int { return len(s.Guild.Roles) }
	count := roles(v.Snapshot())
	steps := []struct {
		name  string
		act   func()
		topic string
		asked bool
	}{
		{"the first time", func() {}, "a", true},
		{"at once", func() {}, "a", false},
		{"after the guild's name has changed", until(func() {
			r.Discord.EditGuildByHand(r.Guild, func(g *discordtest.Guild) { g.Name = "Kyoto" })
		}, func(s *guildcache.Snapshot) bool { return s.Guild.Name == "Kyoto" }), "a", false},
		{"after another channel's overwrites have changed", overwrite(other.ID), "a", false},
		{"another topic", func() {}, "b", false},
		{"after a role was created", until(func() { role = r.Discord.AddRole(r.Guild, "Sensei", discordtest.PermAdministrator) },
			func(s *guildcache.Snapshot) bool { return roles(s) > count }), "a", true},
		{"after the bot got a role", func() {
			until(func() { r.Discord.GiveRole(r.Guild, r.Bot.UserID, role) }, func(s *guildcache.Snapshot) bool {
				bits, _ := s.BotPermissions()
				return bits.Has(permissions.Administrator)
			})()
		}, "a", true},
		{"after the channel's overwrites have changed", overwrite(channel.ID), "a", true},
		{"after the overwrites of the channel's category have changed", overwrite(category.ID), "a", true},
		{"within a minute", func() { ahead.Add(int64(59 * time.Second)) }, "a", false},
		{"after a minute", func() { ahead.Add(int64(time.Second)) }, "a", true},
		{"after another minute", func() { ahead.Add(int64(time.Minute)) }, "a", false},
		{"after ten minutes", func() { ahead.Add(int64(8 * time.Minute)) }, "a", true},
	}
	for _, s := range steps {
		s.act()
		if asked := edit(s.topic); asked != s.asked {
			t.Errorf("%s: asked %v, want %v", s.name, asked, s.asked)
		}
	}
	permit()
	ahead.Add(int64(time.Hour))
	if _, err := r.Client.EditChannel(t.Context(), channel.ID, discordclient.ChannelEdit{Topic: discordclient.Set("a")}, "test"); err != nil {
		t.Error(err)
	}
	refuse()
	if !edit("a") {
		t.Error("a call that Discord permits again counts as denied")
	}
}
