// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"fmt"
	"testing"

	"jutsu.com/operators/test/discordtest"
	"jutsu.com/operators/test/discordtest/internal/rig"
)

func TestQuantities(t *testing.T) {
	t.Parallel()
	small := func(o *discordtest.Options, _ *discordtest.GuildSpec) {
		o.Limits.Channels, o.Limits.ChannelsPerCategory, o.Limits.Categories = 8, 3, 2
		o.Limits.WebhooksPerChannel, o.Limits.WebhooksPerGuild = 2, 3
	}
	r := rig.New(t, rig.Usual, small)
	path := "/guilds/" + r.Guild + "/channels"
	group := r.Channel(obj{"name": "A", "type": 4})
	r.Channel(obj{"name": "B", "type": 4})
	if got := r.Do("POST", path, obj{"name": "C", "type": 4}); got.Status != 400 || got.Code() != 30013 {
		t.Errorf("third category: %d %s", got.Status, got.Raw)
	}
	var ids []string
	for i := range 3 {
		ids = append(ids, r.Channel(obj{"name": fmt.Sprint("in-", i), "parent_id": group}))
	}
	if got := r.Do("POST", path, obj{"name": "in", "parent_id": group}); got.Code() != 50035 || rig.Leaf(got, "parent_id") != "CHANNEL_PARENT_MAX_CHANNELS" {
		t.Errorf("fourth child: %s", got.Raw)
	}
	out := r.Channel(obj{"name": "out"})
	if got := r.Do("PATCH", "/channels/"+out, obj{"parent_id": group}); rig.Leaf(got, "parent_id") != "CHANNEL_PARENT_MAX_CHANNELS" {
		t.Errorf("move of a fourth child: %s", got.Raw)
	}
	r.Channel(obj{"name": "out"})
	r.Channel(obj{"name": "out"})
	if got := r.Do("POST", path, obj{"name": "ninth"}); got.Status != 400 || got.Code() != 30013 {
		t.Errorf("ninth channel: %d %s", got.Status, got.Raw)
	}
	for _, id := range []string{ids[0], ids[0], ids[1]} {
		r.Must(200, "POST", "/channels/"+id+"/webhooks", obj{"name": "hook"})
	}
	if got := r.Do("POST", "/channels/"+ids[0]+"/webhooks", obj{"name": "hook"}); got.Code() != 30007 {
		t.Errorf("third webhook of a channel: %s", got.Raw)
	}
	if got := r.Do("POST", "/channels/"+ids[1]+"/webhooks", obj{"name": "hook"}); got.Code() != 30058 {
		t.Errorf("fourth webhook of the guild: %s", got.Raw)
	}
}

func TestFiveHundred(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual)
	for range 499 {
		r.Srv.CreateChannelByHand(r.Guild, discordtest.Channel{Name: "hall"})
	}
	r.Channel(obj{"name": "last"})
	if got := r.Do("POST", "/guilds/"+r.Guild+"/channels", obj{"name": "more"}); got.Code() != 30013 {
		t.Errorf("channel 501: %s", got.Raw)
	}
}

func TestOverwriteLimit(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Usual, func(o *discordtest.Options, _ *discordtest.GuildSpec) { o.Limits.OverwritesPerChannel = 1 })
	path := "/channels/" + r.Channel(obj{"name": "a"}) + "/permissions/"
	r.Must(204, "PUT", path+r.Guild, obj{"type": 0, "deny": "2048"})
	r.Must(204, "PUT", path+r.Guild, obj{"type": 0, "deny": "0"})
	if got := r.Do("PUT", path+r.Bot.UserID, obj{"type": 1}); got.Status != 400 || got.Code() != 30060 {
		t.Errorf("a second overwrite: %d %s", got.Status, got.Raw)
	}
}
