package export

import (
	"context"
	"errors"
	"fmt"
	"time"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/permissions"
)

// server is a Discord server as it was read.
type server struct {
	guild    discordclient.Guild
	channels []*discordclient.Channel
	webhooks []discordclient.Webhook
	// webhooksUnread says that the bot may not list webhooks.
	webhooksUnread bool
	bot            bot
}

// bot is whose token it was read with.
type bot struct {
	userID, applicationID string
	// permissions are what it may do in the whole server.
	permissions permissions.Bits
}

// read asks Discord for a server, with six calls and one more for every 200 servers that the bot is in.
func read(ctx context.Context, api discordclient.REST, serverID string) (*server, error) {
	var s server
	user, err := api.CurrentUser(ctx) // first, since it tells a wrong token from a wrong server
	if err != nil {
		return nil, explained(err)
	}
	app, err := api.CurrentApplication(ctx)
	if err != nil {
		return nil, explained(err)
	}
	s.bot = bot{userID: user.ID, applicationID: app.ID}
	if s.guild, err = api.GetGuild(ctx, serverID); discordclient.ClassOf(err) == discordclient.ClassGone {
		return nil, fmt.Errorf("the bot %q is not a member of server %s, or the server does not exist; a user who may manage the server can add it: %s",
			user.Name, serverID, discordclient.InviteURL(app.ID, discordclient.PermissionsOverwrites, serverID))
	} else if err != nil {
		return nil, explained(err)
	}
	if s.channels, err = api.ListChannels(ctx, serverID); err != nil {
		return nil, explained(err)
	}
	memberships, err := api.ListMemberships(ctx)
	if err != nil {
		return nil, explained(err)
	}
	for _, m := range memberships {
		if m.ID == serverID {
			s.bot.permissions = permissions.Base(m.Owner, m.Permissions)
		}
	}
	s.webhooks, err = api.ListGuildWebhooks(ctx, serverID)
	if discordclient.ClassOf(err) == discordclient.ClassDenied {
		s.webhooksUnread, err = true, nil
	}
	return &s, explained(err)
}

// explained says what to do about an error, where that is not plain.
func explained(err error) error {
	if limited, ok := errors.AsType[*discordclient.RateLimited](err); ok {
		return fmt.Errorf("%w; run this again in %s", err, limited.After.Round(time.Second)+time.Second)
	}
	if discordclient.ClassOf(err) == discordclient.ClassBadToken {
		return fmt.Errorf("%w; the token comes from the bot's page in Discord's developer portal", err)
	}
	return err
}
