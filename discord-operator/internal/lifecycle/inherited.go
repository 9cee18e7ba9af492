// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/discord-operator/internal/overwrites"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

// createChannel creates a channel. One that asks for no overwrites is sent with those of its category,
// since some servers do not copy them and the channel would be open at first. Where Discord does not
// take them, it copies them itself.
func (r *Resources) createChannel(
	ctx context.Context, api *guildcache.Client, b Binding, in discordclient.ChannelCreate, results *Results,
) error {
	uid := b.Object.GetUID()
	if in.Overwrites == nil && in.ParentID != "" && !r.Records.InheritedRefused(uid) {
		inherited, err := inherited(ctx, api, b.GuildID, in.ParentID)
		if err != nil {
			return err
		}
		with := in
		with.Overwrites = inherited
		if err = r.create(b, results, r.channel(ctx, api, b, with)); inherited == nil || !refusesOverwrites(err) {
			return err
		}
		r.Records.RefuseInherited(uid)
	}
	return r.create(b, results, r.channel(ctx, api, b, in))
}

// inherited returns the overwrites of a category that a create may carry. A polled view may be minutes
// old, and Discord would not correct what it is sent: there, the category is read.
func inherited(
	ctx context.Context, api *guildcache.Client, guildID, categoryID string,
) ([]discordclient.Overwrite, error) {
	snap := api.Guild(guildID).Snapshot()
	category, ok := snap.Channel(categoryID)
	if !ok {
		return nil, nil
	}
	if snap.Mode != guildcache.ModeLive {
		var err error
		if category, err = api.GetChannel(ctx, categoryID); err != nil {
			return nil, err
		}
	}
	return overwrites.Inherited(category, snap), nil
}

// refusesOverwrites reports whether an error of a create is about its overwrites, such as that of a user
// who has left.
func refusesOverwrites(err error) bool {
	refused, ok := errors.AsType[*discordclient.Error](err)
	if !ok {
		return false
	}
	switch refused.Code {
	case discordgo.ErrCodeUnknownOverwrite, discordgo.ErrCodeUnknownRole, discordgo.ErrCodeUnknownUser,
		discordgo.ErrCodeUnknownMember:
		return true
	}
	return slices.ContainsFunc(refused.Fields, func(f discordclient.Field) bool {
		return strings.HasPrefix(f.Path, "permission_overwrites")
	})
}
