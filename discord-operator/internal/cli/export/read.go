// SPDX-License-Identifier: Apache-2.0

package export

import (
	"context"
	"time"

	"jutsu.com/operators/discord-operator/internal/cli"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/permissions"
)

// server is a Discord server as it was read.
type server struct {
	guild    discordclient.Guild
	channels []*discordclient.Channel
	webhooks []discordclient.Webhook
	// webhooksUnread is true if the bot may not list webhooks, hiddenUnread if it is not known which
	// channels Discord hides from it.
	webhooksUnread, hiddenUnread bool
	bot                          bot
}

// bot is the bot whose token was used.
type bot struct {
	userID, applicationID, webURL string
	// roles are those that it has.
	roles []string
	// permissions are what it may do in the whole server.
	permissions permissions.Bits
}

// read reads a server by six calls, and one for the roles of a server that sends none with itself. A bot
// that may not view everything connects to the Gateway besides, since lists leave out what is hidden.
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
	if s.guild.Roles == nil { // not sent with the guild; every guild has some
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

// patience is how long the Gateway may take to send a server: it usually does within a second.
const patience = 10 * time.Second

// hiddenChannels returns the channels and categories that the bot may not view: the Gateway alone
// names them. They are not known if it cannot be reached.
func hiddenChannels(
	ctx context.Context, o discordclient.Options, serverID string,
) (hidden []*discordclient.Channel, known bool) {
	cache, err := guildcache.New(guildcache.Options{Options: o, Grace: 2 * patience})
	if err != nil {
		return nil, false
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	ended := make(chan struct{})
	defer func() { cancel(); <-ended }()
	view, events := cache.Guild(serverID), cache.Subscribe(ctx)
	go func() {
		defer close(ended)
		_ = cache.Run(ctx) // a token that is refused only now shows as an unknown state
	}()
	for view.Snapshot().Mode != guildcache.ModeLive {
		if _, ok := <-events; !ok {
			return nil, false
		}
	}
	for _, c := range view.Snapshot().All() {
		if c.Hidden {
			hidden = append(hidden, c)
		}
	}
	return hidden, true
}
