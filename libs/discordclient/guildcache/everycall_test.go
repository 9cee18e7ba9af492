// SPDX-License-Identifier: Apache-2.0

package guildcache_test

import (
	"cmp"
	"context"
	"time"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

func everyCall(c *guildcache.Client, guild, channel, role string, hook discordclient.Webhook) map[string]func(ctx context.Context) (any, error) {
	type ctx = context.Context
	one := func(err error) (any, error) { return nil, err }
	return map[string]func(ctx ctx) (any, error){
		"GetGuild": func(x ctx) (any, error) { return c.GetGuild(x, guild) },
		"EditGuild": func(x ctx) (any, error) {
			return c.EditGuild(x, guild, discordclient.GuildEdit{AFKTimeout: discordclient.Set(900)}, "why")
		},
		"DeleteGuild": func(x ctx) (any, error) { return one(c.DeleteGuild(x, guild)) },
		"ListRoles":   func(x ctx) (any, error) { return c.ListRoles(x, guild) },
		"GetRole":     func(x ctx) (any, error) { return c.GetRole(x, guild, role) },
		"CreateRole":  func(x ctx) (any, error) { return c.CreateRole(x, guild, discordclient.RoleCreate{Name: "a"}, "why") },
		"EditRole": func(x ctx) (any, error) {
			return c.EditRole(x, guild, role, discordclient.RoleEdit{Hoist: discordclient.Set(true)}, "why")
		},
		"DeleteRole": func(x ctx) (any, error) { return one(c.DeleteRole(x, guild, role, "why")) },
		"MoveRoles": func(x ctx) (any, error) {
			return one(c.MoveRoles(x, guild, []discordclient.Move{{ID: role, Position: 1}}, "why"))
		},
		"AddMemberRole": func(x ctx) (any, error) {
			me, _ := c.CurrentUser(x)
			return one(c.AddMemberRole(x, guild, cmp.Or(me.ID, "9"), role, "why"))
		},
		"RemoveMemberRole": func(x ctx) (any, error) {
			me, _ := c.CurrentUser(x)
			return one(c.RemoveMemberRole(x, guild, cmp.Or(me.ID, "9"), role, "why"))
		},
		"GetMember": func(x ctx) (any, error) {
			me, _ := c.CurrentUser(x)
			return c.GetMember(x, guild, cmp.Or(me.ID, "9"))
		},
		"MemberSince": func(x ctx) (any, error) {
			me, _ := c.CurrentUser(x)
			return c.MemberSince(x, "team-a", guild, cmp.Or(me.ID, "9"), time.Now())
		},
		"ListChannels": func(x ctx) (any, error) { return c.ListChannels(x, guild) },
		"GetChannel":   func(x ctx) (any, error) { return c.GetChannel(x, channel) },
		"CreateChannel": func(x ctx) (any, error) {
			return c.CreateChannel(x, guild, discordclient.ChannelCreate{Name: "a"}, "why")
		},
		"EditChannel": func(x ctx) (any, error) {
			return c.EditChannel(x, channel, discordclient.ChannelEdit{NSFW: discordclient.Set(true)}, "why")
		},
		"DeleteChannel": func(x ctx) (any, error) { return one(c.DeleteChannel(x, channel, "why")) },
		"MoveChannels": func(x ctx) (any, error) {
			return one(c.MoveChannels(x, guild, []discordclient.Move{{ID: channel, Position: 1}}))
		},
		"CreateWebhook": func(x ctx) (any, error) {
			return c.CreateWebhook(x, channel, "a", "why")
		},
		"GetWebhook":          func(x ctx) (any, error) { return c.GetWebhook(x, hook.ID) },
		"ListChannelWebhooks": func(x ctx) (any, error) { return c.ListChannelWebhooks(x, channel) },
		"ListGuildWebhooks":   func(x ctx) (any, error) { return c.ListGuildWebhooks(x, guild) },
		"RenameWebhook": func(x ctx) (any, error) {
			return c.RenameWebhook(x, hook.ID, "b", "why")
		},
		"DeleteWebhook":      func(x ctx) (any, error) { return one(c.DeleteWebhook(x, hook.ID, "why")) },
		"ListAuditLog":       func(x ctx) (any, error) { return c.ListAuditLog(x, guild, discordclient.AuditQuery{}) },
		"CurrentUser":        func(x ctx) (any, error) { return c.CurrentUser(x) },
		"CurrentGuilds":      func(x ctx) (any, error) { return c.CurrentGuilds(x) },
		"CurrentApplication": func(x ctx) (any, error) { return c.CurrentApplication(x) },
		"GatewayStart":       func(x ctx) (any, error) { return c.GatewayStart(x) },
	}
}
