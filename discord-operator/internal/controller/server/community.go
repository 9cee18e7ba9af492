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

// communityField is the setting that Discord has among the features of a guild.
const communityField = "community"

// communityOf returns spec.community of a guild as it is.
func communityOf(g *discordclient.Guild) v1alpha1.Community {
	if g.IsCommunity() {
		return v1alpha1.CommunityEnabled
	}
	return ""
}

// keepCommunity has an edit of a channel of a community server say that it stays one, with both channels:
// Discord has been seen to ignore the channels otherwise, without an error.
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

// withoutAdministrator takes out of a plan what only an administrator may do, and returns what the bot lacks.
func (p *Plan) withoutAdministrator(
	server *v1alpha1.DiscordServer, have permissions.Bits, exact bool,
) *conditions.Issue {
	if status.Observed(server) || !slices.Contains(p.Fields, communityField) {
		return nil
	}
	const forWhat = "without which Discord lets no bot enable Community"
	lacking := issues.Lacking(have, exact, permissions.Administrator, forWhat, "")
	if lacking != nil {
		p.Edit.Features = discordclient.Change[[]string]{}
		p.Fields = slices.DeleteFunc(slices.Clone(p.Fields), func(field string) bool { return field == communityField })
	}
	return lacking
}

// asked and shown are an edit and a guild in which Community is a field of its own, since the other features
// are not the operator's.
func asked(edit discordclient.GuildEdit) any {
	var community v1alpha1.Community
	if !edit.Features.IsZero() {
		community = v1alpha1.CommunityEnabled
	}
	return struct {
		discordclient.GuildEdit
		Community v1alpha1.Community `json:"community,omitempty"`
	}{edit, community}
}

func shown(g *discordclient.Guild) any {
	return struct {
		discordclient.Guild
		Community v1alpha1.Community `json:"community"`
	}{*g, communityOf(g)}
}
