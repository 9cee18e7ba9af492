package discordclient

import (
	"context"
	"net/http"
	"slices"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/libs/discordclient/permissions"
)

func (r *rest) ListChannels(ctx context.Context, guildID string) ([]*Channel, error) {
	var w []wireChannel
	err := r.do(ctx, call{
		op: "list channels", method: http.MethodGet, route: "/guilds/{guild_id}/channels",
		url: discordgo.EndpointGuildChannels(guildID),
	}, nil, &w, guildID)
	if err != nil {
		return nil, err
	}
	return channelsOf(w, guildID), nil
}

// channel makes a call that answers with a channel.
func (r *rest) channel(ctx context.Context, c call, in any, id string) (*Channel, error) {
	w, err := object(ctx, r, c, in, func(w *wireChannel) string { return w.ID }, id)
	if err != nil {
		return nil, err
	}
	return channelOf(&w, ""), nil
}

func (r *rest) GetChannel(ctx context.Context, channelID string) (*Channel, error) {
	return r.channel(ctx, call{
		op: "get channel", method: http.MethodGet, route: "/channels/{channel_id}",
		url: discordgo.EndpointChannel(channelID),
	}, nil, channelID)
}

func (r *rest) CreateChannel(ctx context.Context, guildID string, in ChannelCreate, reason string) (*Channel, error) {
	return r.channel(ctx, createChannel(guildID, reason), in, guildID)
}

func createChannel(guildID, reason string) call {
	return call{
		op: "create channel", method: http.MethodPost, route: "/guilds/{guild_id}/channels",
		url: discordgo.EndpointGuildChannels(guildID), urgent: true, reason: reason,
	}
}

func (r *rest) EditChannel(ctx context.Context, channelID string, edit ChannelEdit, reason string) (*Channel, error) {
	if list, ok := edit.Overwrites.Get(); ok && list == nil {
		edit.Overwrites = Set([]Overwrite{}) // an empty list, not null: null would leave them alone
	}
	edit.ParentID = orNull(edit.ParentID)
	return r.channel(ctx, call{
		op: "edit channel", method: http.MethodPatch, route: "/channels/{channel_id}",
		url: discordgo.EndpointChannel(channelID), hidden: edit.hidden(), reason: reason,
	}, edit, channelID)
}

func (r *rest) DeleteChannel(ctx context.Context, channelID, reason string) error {
	return r.do(ctx, call{
		op: "delete channel", method: http.MethodDelete, route: "/channels/{channel_id}",
		url: discordgo.EndpointChannel(channelID), urgent: true, reason: reason,
	}, nil, nil, channelID)
}

func (r *rest) MoveChannels(ctx context.Context, guildID string, moves []ChannelMove) error {
	const op = "move channels"
	parents := 0
	moves = slices.Clone(moves)
	for i := range moves {
		moves[i].ParentID = orNull(moves[i].ParentID)
		if !moves[i].ParentID.IsZero() {
			parents++
		}
	}
	switch {
	case len(moves) == 0:
		return nil
	case parents > 1:
		return &Error{Class: ClassInvalid, Op: op, Message: "one request may move one channel to another parent; split it", unsent: true}
	}
	return r.do(ctx, call{
		op: op, method: http.MethodPatch, route: "/guilds/{guild_id}/channels",
		url: discordgo.EndpointGuildChannels(guildID),
	}, moves, nil, guildID)
}

func (r *rest) SetOverwrite(ctx context.Context, channelID string, o Overwrite, reason string) error {
	body := struct {
		Type  OverwriteType    `json:"type"`
		Allow permissions.Bits `json:"allow"`
		Deny  permissions.Bits `json:"deny"`
	}{o.Type, o.Allow, o.Deny}
	return r.do(ctx, call{
		op: "set overwrite", method: http.MethodPut, route: "/channels/{channel_id}/permissions/{overwrite_id}",
		url: discordgo.EndpointChannelPermission(channelID, o.ID), reason: reason,
	}, body, nil, channelID, o.ID)
}

func (r *rest) DeleteOverwrite(ctx context.Context, channelID, overwriteID, reason string) error {
	return r.do(ctx, call{
		op: "delete overwrite", method: http.MethodDelete, route: "/channels/{channel_id}/permissions/{overwrite_id}",
		url: discordgo.EndpointChannelPermission(channelID, overwriteID), urgent: true, reason: reason,
	}, nil, nil, channelID, overwriteID)
}
