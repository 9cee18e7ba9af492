// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"errors"
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
	hooks        []discordclient.Webhook // read only if a manifest has or had a webhook
	hooksErr     error
	hiddenUnread bool // whether the hidden channels are unknown
	// member reads a member. absent reports that the user is not in the server.
	member func(user v1alpha1.UserID) (member discordclient.Member, absent bool, err error)
}

// read reads a server. It uses the Gateway to find the channels that the bot may not view, because
// the REST API omits them.
func read(ctx context.Context, options discordclient.Options, serverID string, webhooks bool) (*live, error) {
	api, err := cli.NewClient(options)
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
		snap, connected := cli.Connect(ctx, api, view)
		l.snapshot, l.hiddenUnread = snap, !connected
	}
	if webhooks {
		l.hooks, l.hooksErr = patient(ctx, func() ([]discordclient.Webhook, error) {
			return api.ListGuildWebhooks(ctx, serverID)
		})
		switch discordclient.ClassOf(l.hooksErr) {
		case discordclient.ClassNone, discordclient.ClassDenied: // a plan reports a missing permission
		default:
			return nil, l.hooksErr
		}
	}
	l.member = func(user v1alpha1.UserID) (discordclient.Member, bool, error) {
		member, err := patient(ctx, func() (discordclient.Member, error) {
			return api.GetMember(ctx, serverID, string(user))
		})
		if discordclient.ClassOf(err) == discordclient.ClassGone {
			return member, true, nil
		}
		return member, false, err
	}
	return l, nil
}

const maxWait = time.Minute

// patient repeats a call after each rate limit of up to maxWait. It does not wait for the end of a
// block by Cloudflare, because the end is unknown.
func patient[T any](ctx context.Context, call func() (T, error)) (T, error) {
	for {
		result, err := call()
		limited, ok := errors.AsType[*discordclient.RateLimited](err)
		if !ok || limited.After > maxWait || limited.Blocked() {
			return result, err
		}
		timer := time.NewTimer(limited.After)
		select {
		case <-ctx.Done():
			timer.Stop()
			return result, ctx.Err()
		case <-timer.C:
		}
	}
}
