// Package everycall makes each call that there is, for tests of what must hold for all of them: that none tells a secret,
// that all keep the contract.
package everycall

import (
	"context"

	"jutsu.com/operators/libs/discordclient"
)

// Of returns each call of REST by the name of its method.
func Of(c discordclient.REST, guild, channel string, hook discordclient.Webhook) map[string]func(ctx context.Context) (any, error) {
	type ctx = context.Context
	one := func(err error) (any, error) { return nil, err }
	return map[string]func(ctx ctx) (any, error){
		"GetGuild":    func(x ctx) (any, error) { return c.GetGuild(x, guild) },
		"CreateGuild": func(x ctx) (any, error) { return c.CreateGuild(x, discordclient.GuildCreate{Name: "Kyoto"}) },
		"EditGuild": func(x ctx) (any, error) {
			return c.EditGuild(x, guild, discordclient.GuildEdit{AFKTimeout: discordclient.Set(900)}, "why")
		},
		"DeleteGuild":     func(x ctx) (any, error) { return one(c.DeleteGuild(x, guild)) },
		"LeaveGuild":      func(x ctx) (any, error) { return one(c.LeaveGuild(x, guild)) },
		"ListRoles":       func(x ctx) (any, error) { return c.ListRoles(x, guild) },
		"ListMemberships": func(x ctx) (any, error) { return c.ListMemberships(x) },
		"ListChannels":    func(x ctx) (any, error) { return c.ListChannels(x, guild) },
		"GetChannel":      func(x ctx) (any, error) { return c.GetChannel(x, channel) },
		"CreateChannel": func(x ctx) (any, error) {
			return c.CreateChannel(x, guild, discordclient.ChannelCreate{Name: "a"}, "why")
		},
		"EditChannel": func(x ctx) (any, error) {
			return c.EditChannel(x, channel, discordclient.ChannelEdit{NSFW: discordclient.Set(true)}, "why")
		},
		"DeleteChannel": func(x ctx) (any, error) { return one(c.DeleteChannel(x, channel, "why")) },
		"MoveChannels": func(x ctx) (any, error) {
			return one(c.MoveChannels(x, guild, []discordclient.ChannelMove{{ID: channel, Position: discordclient.Set(1)}}))
		},
		"SetOverwrite": func(x ctx) (any, error) {
			return one(c.SetOverwrite(x, channel, discordclient.Overwrite{ID: guild}, "why"))
		},
		"DeleteOverwrite": func(x ctx) (any, error) { return one(c.DeleteOverwrite(x, channel, guild, "why")) },
		"CreateWebhook": func(x ctx) (any, error) {
			return c.CreateWebhook(x, channel, discordclient.WebhookCreate{Name: "a"}, "why")
		},
		"ListChannelWebhooks": func(x ctx) (any, error) { return c.ListChannelWebhooks(x, channel) },
		"ListGuildWebhooks":   func(x ctx) (any, error) { return c.ListGuildWebhooks(x, guild) },
		"GetWebhook":          func(x ctx) (any, error) { return c.GetWebhook(x, hook.ID) },
		"EditWebhook": func(x ctx) (any, error) {
			return c.EditWebhook(x, hook.ID, discordclient.WebhookEdit{Name: discordclient.Set("b")}, "why")
		},
		"DeleteWebhook": func(x ctx) (any, error) { return one(c.DeleteWebhook(x, hook.ID, "why")) },
		"ExecuteWebhook": func(x ctx) (any, error) {
			return c.ExecuteWebhook(x, hook, discordclient.WebhookMessage{Content: "hello"})
		},
		"ListAuditLog":       func(x ctx) (any, error) { return c.ListAuditLog(x, guild, discordclient.AuditQuery{}) },
		"CurrentUser":        func(x ctx) (any, error) { return c.CurrentUser(x) },
		"CurrentApplication": func(x ctx) (any, error) { return c.CurrentApplication(x) },
		"GatewayStart":       func(x ctx) (any, error) { return c.GatewayStart(x) },
	}
}
