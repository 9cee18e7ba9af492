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

type live struct {
	application  discordclient.Application
	webURL       string
	snapshot     *guildcache.Snapshot
	hooks        []discordclient.Webhook // read if a manifest has one
	hooksErr     error
	hiddenUnread bool // hidden channels are unknown
	// member returns the roles of a user, or absent from the server.
	member func(user v1alpha1.UserID) (member discordclient.Member, absent bool, err error)
}

// gatewayTimeout bounds the wait for the Gateway to send a server, which usually takes a second.
const gatewayTimeout = 10 * time.Second

// read lists a server. Lists omit hidden channels, so a bot without Administrator needs the
// Gateway.
func read(ctx context.Context, options discordclient.Options, serverID string, webhooks bool) (*live, error) {
	api, err := guildcache.New(guildcache.Options{Options: options, Grace: 2 * gatewayTimeout})
	if err != nil {
		return nil, err
	}
	user, err := api.CurrentUser(ctx) // first, to tell a wrong token from a wrong server
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

func connect(
	ctx context.Context, api *guildcache.Client, view *guildcache.View,
) (snap *guildcache.Snapshot, failed bool) {
	ctx, cancel := context.WithTimeout(ctx, gatewayTimeout)
	ended := make(chan struct{})
	defer func() { cancel(); <-ended }()
	events := api.Subscribe(ctx)
	go func() {
		defer close(ended)
		_ = api.Run(ctx) // a token that is refused only now shows as an unreachable Gateway
	}()
	for snap = view.Snapshot(); snap.Mode != guildcache.ModeLive; snap = view.Snapshot() {
		if _, ok := <-events; !ok {
			return snap, true
		}
	}
	return snap, false
}
