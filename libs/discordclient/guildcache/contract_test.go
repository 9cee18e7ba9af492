// SPDX-License-Identifier: Apache-2.0

package guildcache_test

import (
	"context"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/discordtest"
	"jutsu.com/operators/libs/discordclient/discordtest/contract"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/permissions"
)

// Every request that the Client can send, with every field that it can carry, holds against
// Discord's own description.
func TestRequestsKeepTheContract(t *testing.T) {
	t.Parallel()
	client, srv, bot, guild := newClient(t)
	ctx := t.Context()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	own := discordclient.Overwrite{ID: bot.UserID, Type: discordgo.PermissionOverwriteTypeMember, Allow: permissions.ViewChannel}
	create := func(in discordclient.ChannelCreate) *discordclient.Channel {
		t.Helper()
		made, err := client.CreateChannel(ctx, guild, in, "why")
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	group := create(discordclient.ChannelCreate{Name: "Alerts", Type: discordgo.ChannelTypeGuildCategory})
	position := 3
	full := create(carriesAll(t, discordclient.ChannelCreate{
		Name: "tokyo", Type: discordgo.ChannelTypeGuildNews, Topic: "fire", ParentID: group.ID, Position: &position, NSFW: true,
		Slowmode: 60, DefaultAutoArchive: 4320, Overwrites: []discordclient.Overwrite{own, {ID: guild, Deny: permissions.AddReactions}},
	}))
	_, err := client.EditChannel(ctx, full.ID, carriesAll(t, discordclient.ChannelEdit{
		Name: discordclient.Set("kyoto"), Type: discordclient.Set(discordgo.ChannelTypeGuildText), Topic: discordclient.Set("water"),
		ParentID: discordclient.Set(""), Position: discordclient.Set(0), NSFW: discordclient.Set(false), Slowmode: discordclient.Set(0),
		DefaultAutoArchive: discordclient.Set(60), Overwrites: discordclient.Set([]discordclient.Overwrite{own}),
	}), "a reason with ünïcode, + and %")
	ok(err)
	_, err = client.EditChannel(ctx, full.ID, discordclient.ChannelEdit{
		Topic: discordclient.Set(""), Overwrites: discordclient.Set[[]discordclient.Overwrite](nil),
	}, "")
	ok(err)
	ok(client.MoveChannels(ctx, guild, []discordclient.ChannelMove{
		{ID: full.ID, Position: 2}, {ID: group.ID, Position: 1},
	}))
	_, err = client.EditGuild(ctx, guild, carriesAll(t, discordclient.GuildEdit{
		Name: discordclient.Set("Kyoto"), Description: discordclient.Set(""), VerificationLevel: discordclient.Set(1),
		DefaultNotifications: discordclient.Set(0), ExplicitContentFilter: discordclient.Set(0), PreferredLocale: discordclient.Set("de"),
		AFKChannelID: discordclient.Set(""), AFKTimeout: discordclient.Set(300), SystemChannelID: discordclient.Set(full.ID),
	}), "why")
	ok(err)
	hook, err := client.CreateWebhook(ctx, full.ID, "alertmanager", "why")
	ok(err)
	_, err = client.RenameWebhook(ctx, hook.ID, "b", "why")
	ok(err)
	_, err = client.ListAuditLog(ctx, guild, discordclient.AuditQuery{Action: discordgo.AuditLogActionChannelCreate, UserID: bot.UserID, After: "1", Limit: 100})
	ok(err)
	_, err = client.ListAuditLog(ctx, guild, discordclient.AuditQuery{Before: discordclient.SnowflakeAt(srv.Now())})
	ok(err)
}

// carriesAll fails where a request leaves a field out.
func carriesAll[T any](t *testing.T, request T) T {
	t.Helper()
	v := reflect.ValueOf(request)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("%T is sent without %s", request, v.Type().Field(i).Name)
		}
	}
	return request
}

// And each call there is, none forgotten.
func TestEveryCallKeepsTheContract(t *testing.T) {
	t.Parallel()
	client, _, _, guild := newClient(t)
	ctx := t.Context()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	made := func() (*discordclient.Channel, discordclient.Webhook) {
		c, err := client.CreateChannel(ctx, guild, discordclient.ChannelCreate{Name: "a"}, "why")
		if err != nil {
			t.Fatal(err)
		}
		hook, err := client.CreateWebhook(ctx, c.ID, "alertmanager", "why")
		ok(err)
		return c, hook
	}
	full, hook := made()
	for _, name := range []string{"DeleteWebhook", "DeleteChannel"} {
		_, err := everyCall(client, guild, full.ID, hook)[name](ctx)
		ok(err)
	}
	c, hook := made()
	calls := everyCall(client, guild, c.ID, hook)
	var all []string
	for m := range reflect.TypeFor[*discordclient.Client]().Methods() {
		if m.Type.NumIn() > 1 && m.Type.In(1) == reflect.TypeFor[context.Context]() {
			all = append(all, m.Name)
		}
	}
	if d := cmp.Diff(all, slices.Sorted(maps.Keys(calls))); d != "" {
		t.Errorf("calls that are not made (-) or there are not (+):\n%s", d)
	}
	for name, call := range calls {
		switch name {
		case "CreateGuild", "DeleteGuild": // withdrawn by Discord, and the description excuses their absence only
			if _, err := call(ctx); discordclient.ClassOf(err) != discordclient.ClassDenied {
				t.Errorf("%s: %v, want it denied", name, err)
			}
		case "DeleteWebhook", "DeleteChannel": // done, and would keep the others from being made
		default:
			_, err := call(ctx)
			ok(err)
		}
	}
}

// newClient makes a Client whose requests are held against the description, and a Discord for it.
func newClient(t *testing.T) (*guildcache.Client, *discordtest.Server, discordtest.Bot, string) {
	t.Helper()
	rules := contract.FromEnv(t)
	srv := discordtest.Run(t, discordtest.Options{Limits: discordtest.NoRateLimits(), AuditDelay: -1})
	bot := srv.AddBot(discordtest.Bot{})
	guild := srv.AddGuild(discordtest.GuildSpec{Features: []string{"NEWS"}}).ID
	srv.AddMember(guild, bot.UserID, discordtest.Permissions(discordclient.PermissionsOverwrites))
	inner := &http.Transport{}
	t.Cleanup(inner.CloseIdleConnections)
	client, err := guildcache.New(guildcache.Options{Options: discordclient.Options{
		Token: discordclient.NewSecret(bot.Token), APIURL: srv.APIURL(), GlobalPerSecond: 10_000,
		Transport: rules.Transport(inner, func(v contract.Violation) { t.Error(v) }),
		Timeout:   10 * time.Minute, // the first request of a kind waits for schemas to be compiled
	}})
	if err != nil {
		t.Fatal(err)
	}
	return client, srv, bot, guild
}
