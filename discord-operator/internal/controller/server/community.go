// SPDX-License-Identifier: Apache-2.0

package server

import (
	"slices"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/issues"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/permissions"
)

// Discord stores the field community as a feature of the guild.
const communityField = "community"

func communityOf(g *discordclient.Guild) v1alpha1.Community {
	if g.IsCommunity() {
		return v1alpha1.CommunityEnabled
	}
	return ""
}

// keepCommunity completes an edit of the rules or the updates channel with both channels and the
// features. Otherwise Discord may ignore the edit.
func keepCommunity(live *discordclient.Guild, edit *discordclient.GuildEdit) {
	if !live.IsCommunity() || edit.RulesChannelID.IsZero() && edit.PublicUpdatesChannelID.IsZero() {
		return
	}
	edit.Features = discordclient.Set(live.WithCommunity())
	if edit.RulesChannelID.IsZero() && live.RulesChannelID != "" {
		edit.RulesChannelID = discordclient.Set(live.RulesChannelID)
	}
	if edit.PublicUpdatesChannelID.IsZero() && live.PublicUpdatesChannelID != "" {
		edit.PublicUpdatesChannelID = discordclient.Set(live.PublicUpdatesChannelID)
	}
}

func (p *Plan) withoutAdministrator(
	server *v1alpha1.DiscordServer, have permissions.Bits, exact bool,
) *conditions.Issue {
	if status.Observed(server) || !slices.Contains(p.Fields, communityField) {
		return nil
	}
	const forWhat = "which it needs to enable Community"
	lacking := issues.Lacking(have, exact, permissions.Administrator, forWhat, "")
	if lacking != nil {
		lacking.Message += " Remove it from that role after the server is Ready. Or enable Community on Discord yourself."
		p.Edit.Features = discordclient.Change[[]string]{}
		p.Fields = slices.DeleteFunc(slices.Clone(p.Fields), func(field string) bool { return field == communityField })
	}
	return lacking
}

// editWithCommunity adds the JSON field community, so that the check of Discord's response compares
// COMMUNITY, but no other feature of the guild.
func editWithCommunity(edit discordclient.GuildEdit) any {
	var community v1alpha1.Community
	if !edit.Features.IsZero() {
		community = v1alpha1.CommunityEnabled
	}
	return struct {
		discordclient.GuildEdit
		Community v1alpha1.Community `json:"community,omitempty"`
	}{edit, community}
}

func guildWithCommunity(g *discordclient.Guild) any {
	return struct {
		discordclient.Guild
		Community v1alpha1.Community `json:"community"`
	}{*g, communityOf(g)}
}
