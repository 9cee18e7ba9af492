// SPDX-License-Identifier: Apache-2.0

package guildcache_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/discordtest"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/permissions"
)

// An object is reconciled for every event of its guild. What Discord does not permit is asked for
// again once something has changed that it depends on, else seldom.
func TestWhatIsDeniedIsNotAskedForByEveryEvent(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	r := newRig(t, func(_ *discordtest.Options, o *guildcache.Options) {
		o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	})
	category := r.create(discordclient.ChannelCreate{Name: "incidents", Type: 4})
	channel := r.create(discordclient.ChannelCreate{Name: "tokyo", ParentID: category.ID})
	other := r.create(discordclient.ChannelCreate{Name: "kyoto"})
	v := r.client.Guild(r.guild)
	r.run()
	r.live()
	const route = "PATCH /channels/{channel_id}"
	refuse := func() (remove func()) {
		return r.srv.Faults().Add(discordtest.Fault{Route: route, Action: discordtest.Action{
			Status: http.StatusForbidden, Body: `{"message": "Missing Permissions", "code": 50013}`,
		}})
	}
	permit := refuse()
	edit := func(topic string) (asked bool) {
		t.Helper()
		before := r.srv.RequestCounts()[route]
		_, err := r.client.EditChannel(t.Context(), channel.ID, discordclient.ChannelEdit{Topic: discordclient.Set(topic)}, "test")
		wantClass(t, err, discordclient.ClassDenied)
		return r.srv.RequestCounts()[route] > before
	}
	// until has the view show a change.
	until := func(act func(), shown func(*guildcache.Snapshot) bool) func() {
		return func() {
			act()
			eventually(t, "the view shows it", func() bool { return shown(v.Snapshot()) })
		}
	}
	overwrite := func(id string) func() {
		deny := []discordtest.Overwrite{{ID: r.guild, Deny: discordtest.PermSendMessages}}
		return until(func() { r.srv.EditChannelByHand(id, func(c *discordtest.Channel) { c.Overwrites = deny }) },
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
		{"after another setting has changed", until(func() {
			r.srv.EditGuildByHand(r.guild, func(g *discordtest.Guild) { g.Name = "Kyoto" })
		}, func(s *guildcache.Snapshot) bool { return s.Guild.Name == "Kyoto" }), "a", false},
		{"after another channel has changed", overwrite(other.ID), "a", false},
		{"something else", func() {}, "b", true},
		{"after a role has changed", until(func() { role = r.srv.AddRole(r.guild, "Sensei", discordtest.PermAdministrator) },
			func(s *guildcache.Snapshot) bool { return roles(s) > count }), "a", true},
		{"after the bot got a role", func() {
			until(func() { r.srv.GiveRole(r.guild, r.bot.UserID, role) }, func(s *guildcache.Snapshot) bool {
				bits, _ := s.BotPermissions()
				return bits.Has(permissions.Administrator)
			})()
		}, "a", true},
		{"after its overwrites have changed", overwrite(channel.ID), "a", true},
		{"after those of its category have", overwrite(category.ID), "a", true},
		{"within a minute", func() { ahead.Add(int64(59 * time.Second)) }, "a", false},
		{"after a minute", func() { ahead.Add(int64(time.Second)) }, "a", true},
		{"after another minute", func() { ahead.Add(int64(time.Minute)) }, "a", false},
		{"after ten", func() { ahead.Add(int64(8 * time.Minute)) }, "a", true},
	}
	for _, s := range steps {
		s.act()
		if asked := edit(s.topic); asked != s.asked {
			t.Errorf("%s: asked %v, want %v", s.name, asked, s.asked)
		}
	}
	permit()
	ahead.Add(int64(time.Hour))
	if _, err := r.client.EditChannel(t.Context(), channel.ID, discordclient.ChannelEdit{Topic: discordclient.Set("a")}, "test"); err != nil {
		t.Error(err)
	}
	refuse()
	if !edit("a") {
		t.Error("what Discord has permitted since counts as denied")
	}
}
