// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"time"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/cli"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/permissions"
)

// live is a Discord server as it was read.
type live struct {
	application discordclient.Application
	webURL      string
	snapshot    *guildcache.Snapshot
	// hooks are its webhooks, read where a manifest has one; hooksErr is why they could not be read.
	hooks    []discordclient.Webhook
	hooksErr error
	// hiddenUnread says that it is not known which channels Discord hides from the bot.
	hiddenUnread bool
	// member reads which roles a user has, and whether the user is not in the server.
	member func(user v1alpha1.UserID) (member discordclient.Member, absent bool, err error)
}

// patience is how long the Gateway may take to send a server: it usually does within a second.
const patience = 10 * time.Second

// read reads a server by five calls, one more for webhooks. A bot that may not view everything connects to the
// Gateway besides, since lists leave out what is hidden from it.
func read(ctx context.Context, options discordclient.Options, serverID string, webhooks bool) (*live, error) {
	api, err := guildcache.New(guildcache.Options{Options: options, Grace: 2 * patience})
	if err != nil {
		return nil, err
	}
	user, err := api.CurrentUser(ctx) // first, to distinguish a wrong token from a wrong server
	if err != nil {
		return nil, err
	}
	l := &live{webURL: api.WebURL()}
	if l.application, err = api.CurrentApplication(ctx); err != nil {
		return nil, err
	}
	view := api.Guild(serverID)
	if err := api.Refresh(ctx, serverID); discordclient.ClassOf(err) == discordclient.ClassGone {
		return nil, cli.NotMember(user.Name, serverID, l.webURL, l.application.ID)
	} else if err != nil {
		return nil, err
	}
	if _, err := api.GetMember(ctx, serverID, user.ID); err != nil {
		return nil, err
	}
	l.snapshot = view.Snapshot()
	if have, _ := l.snapshot.BotPermissions(); !have.Has(permissions.Administrator) {
		l.snapshot, l.hiddenUnread = connect(ctx, api, view)
	}
	if webhooks {
		l.hooks, l.hooksErr = api.ListGuildWebhooks(ctx, serverID)
	}
	l.member = func(user v1alpha1.UserID) (discordclient.Member, bool, error) {
		member, err := api.GetMember(ctx, serverID, string(user))
		if discordclient.ClassOf(err) == discordclient.ClassGone {
			return member, true, nil
		}
		return member, false, err
	}
	return l, nil
}

// connect has the Gateway send the server, and reports where that has failed.
func connect(
	ctx context.Context, api *guildcache.Client, view *guildcache.View,
) (snap *guildcache.Snapshot, failed bool) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	ended := make(chan struct{})
	defer func() { cancel(); <-ended }()
	events := api.Subscribe(ctx)
	go func() {
		defer close(ended)
		_ = api.Run(ctx) // a token that is refused only now shows as a Gateway that was not reached
	}()
	for snap = view.Snapshot(); snap.Mode != guildcache.ModeLive; snap = view.Snapshot() {
		if _, ok := <-events; !ok {
			return snap, true
		}
	}
	return snap, false
}
