// SPDX-License-Identifier: Apache-2.0

package channels

import (
	"net/http"
	"slices"

	"jutsu.com/operators/test/discordtest/internal/model"
	"jutsu.com/operators/test/discordtest/rest/call"
)

// Create is POST /guilds/{guild_id}/channels. It is not idempotent: names need not be unique.
func Create(c *call.Call) (int, any, error) {
	g, err := c.Guild()
	if err != nil {
		return 0, nil, err
	}
	f, err := c.Object()
	if err != nil {
		return 0, nil, err
	}
	ch := &model.Channel{GuildID: g.ID}
	wrong := readFields(c, f, g, ch, true)
	// Discord reports missing permissions before errors of the form.
	if err := mayCreateIn(c, g, ch.ParentID); err != nil {
		return 0, nil, err
	}
	if wrong != nil {
		return 0, nil, wrong
	}
	if err := available(g, ch.Type); err != nil {
		return 0, nil, err
	}
	if err := readOverwrites(c, f, g, ch, g.GuildPermissions(c.Bot.UserID)); err != nil {
		return 0, nil, err
	}
	if err := room(c, g, ch); err != nil {
		return 0, nil, err
	}
	if err := c.HiddenLimit("creates/"+g.ID, c.Options.Limits.ChannelCreates); err != nil {
		return 0, nil, err
	}
	reason, err := c.Reason()
	if err != nil {
		return 0, nil, err
	}
	copies := !c.Options.Altered.Unsynced && !c.Options.Compatible
	if !f.Given("permission_overwrites") && ch.ParentID != "" && copies {
		// As on Discord, a new channel is synced with its category.
		ch.Overwrites = slices.Clone(g.Channels[ch.ParentID].Overwrites)
	}
	if !f.Given("position") {
		ch.Position = g.Bottom(ch)
	}
	c.Discord.InsertChannel(g, ch)
	c.Discord.Log(g, model.AuditEntry{
		Action: model.AuditChannelCreate, UserID: c.Bot.UserID, TargetID: ch.ID, Reason: reason,
		Changes: []model.Change{
			{Key: "name", New: ch.Name}, {Key: "type", New: ch.Type},
			{Key: "permission_overwrites", New: ch.Overwrites}, {Key: "nsfw", New: ch.NSFW},
		},
	})
	return http.StatusCreated, answer(c, ch), nil
}

// mayCreateIn requires MANAGE_CHANNELS. It is a guess that a category's overwrites can deny or
// allow a create in the category.
func mayCreateIn(c *call.Call, g *model.GuildState, parent string) error {
	if parent == "" {
		return c.May(g, g.GuildPermissions(c.Bot.UserID), model.PermManageChannels)
	}
	have := g.PermissionsIn(g.Channels[parent], c.Bot.UserID)
	if !have.Has(model.PermViewChannel) {
		return call.ErrMissingAccess
	}
	return c.May(g, have, model.PermManageChannels)
}

// types returns the types that a new channel may have. Without the feature NEWS, an announcement
// channel gets the same error as an unknown type.
func types(g *model.GuildState) []int {
	all := []int{
		model.TypeText, model.TypeVoice, model.TypeCategory, model.TypeStage, model.TypeForum, model.TypeMedia,
	}
	if g.Feature("NEWS") {
		all = append(all, model.TypeAnnouncement)
	}
	return all
}

// available refuses stage, forum and media channels outside Community guilds. Source for stages:
// https://github.com/Rapptz/discord.py/issues/6883. For media channels, this is a guess.
func available(g *model.GuildState, kind int) error {
	if (kind == model.TypeStage || model.ForumLike(kind)) && !g.Feature("COMMUNITY") {
		return call.ErrChannelType
	}
	return nil
}
