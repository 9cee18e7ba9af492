// SPDX-License-Identifier: Apache-2.0

package export

import (
	"context"

	"jutsu.com/operators/discord-operator/internal/cli"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/permissions"
)

type server struct {
	guild                        discordclient.Guild
	channels                     []*discordclient.Channel
	webhooks                     []discordclient.Webhook
	webhooksUnread, hiddenUnread bool // whether the bot may not list webhooks; whether the hidden channels are unknown
	bot                          bot
}

type bot struct {
	userID, applicationID, webURL string
	roles                         []string
	permissions                   permissions.Bits // the bot's permissions in the whole server
}

// read reads a server. It uses the Gateway to find the channels that the bot may not view, because
// the REST API omits them.
func read(ctx context.Context, api *discordclient.Client, serverID string) (*server, error) {
	var s server
	user, err := api.CurrentUser(ctx) // first, to distinguish a wrong token from a wrong server
	if err != nil {
		return nil, err
	}
	app, err := api.CurrentApplication(ctx)
	if err != nil {
		return nil, err
	}
	s.bot = bot{userID: user.ID, applicationID: app.ID, webURL: api.WebURL()}
	if s.guild, err = api.GetGuild(ctx, serverID); discordclient.ClassOf(err) == discordclient.ClassGone {
		return nil, cli.NotMember(user.Name, serverID, api.WebURL(), app.ID)
	} else if err != nil {
		return nil, err
	}
	if s.guild.Roles == nil { // a compatible server may omit the roles; every guild has @everyone
		if s.guild.Roles, err = api.ListRoles(ctx, serverID); err != nil {
			return nil, err
		}
	}
	if s.channels, err = api.ListChannels(ctx, serverID); err != nil {
		return nil, err
	}
	member, err := api.GetMember(ctx, serverID, user.ID)
	if err != nil {
		return nil, err
	}
	s.bot.roles = member.Roles
	s.bot.permissions = s.guild.Permissions(user.ID, member.Roles)
	s.webhooks, err = api.ListGuildWebhooks(ctx, serverID)
	if discordclient.ClassOf(err) == discordclient.ClassDenied {
		s.webhooksUnread, err = true, nil
	}
	if !s.bot.permissions.Has(permissions.Administrator) {
		hidden, known := hiddenChannels(ctx, api.Options(), serverID)
		s.channels, s.hiddenUnread = append(s.channels, hidden...), !known
	}
	return &s, err
}

func hiddenChannels(
	ctx context.Context, o discordclient.Options, serverID string,
) (hidden []*discordclient.Channel, known bool) {
	api, err := cli.NewClient(o)
	if err != nil {
		return nil, false
	}
	snap, connected := cli.Connect(ctx, api, api.Guild(serverID))
	if !connected {
		return nil, false
	}
	for _, c := range snap.All() {
		if c.Hidden {
			hidden = append(hidden, c)
		}
	}
	return hidden, true
}
