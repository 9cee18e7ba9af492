// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"slices"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

// The types of channels, by their names in a spec; without one it is a text channel.
var typesByName = map[v1alpha1.ChannelType]discordgo.ChannelType{
	v1alpha1.ChannelTypeAnnouncement: discordgo.ChannelTypeGuildNews,
	v1alpha1.ChannelTypeVoice:        discordgo.ChannelTypeGuildVoice,
	v1alpha1.ChannelTypeStage:        discordgo.ChannelTypeGuildStageVoice,
	v1alpha1.ChannelTypeForum:        discordgo.ChannelTypeGuildForum,
	v1alpha1.ChannelTypeMedia:        discordgo.ChannelTypeGuildMedia,
}

// channelTypes are the types of channel that the object can manage, that which is created first.
func channelTypes(name v1alpha1.ChannelType) []discordgo.ChannelType {
	switch t := typesByName[name]; t {
	case discordgo.ChannelTypeGuildText:
		return []discordgo.ChannelType{t, discordgo.ChannelTypeGuildNews}
	case discordgo.ChannelTypeGuildNews:
		return []discordgo.ChannelType{t, discordgo.ChannelTypeGuildText}
	default:
		return []discordgo.ChannelType{t}
	}
}

// refusedType is why Discord would refuse a channel of a type: without COMMUNITY there is neither NEWS
// nor more than text and voice. Source:
// https://docs.discord.com/developers/resources/guild#guild-object-guild-features.
func refusedType(s State, t discordgo.ChannelType) *conditions.Issue {
	has := func(feature string) bool { return slices.Contains(s.Guild.Snapshot.Guild.Features, feature) }
	switch t {
	case discordgo.ChannelTypeGuildNews:
		if !has("NEWS") {
			return conditions.Degraded(v1alpha1.ReasonAnnouncementsNotAllowed, "The server does not allow announcement "+
				"channels. Enable Community, by spec.community of the DiscordServer or on Discord, or set spec.type to Text.")
		}
	case discordgo.ChannelTypeGuildStageVoice, discordgo.ChannelTypeGuildForum, discordgo.ChannelTypeGuildMedia:
		if !has("COMMUNITY") {
			return conditions.Degraded(v1alpha1.ReasonCommunityRequired,
				"Discord allows channels of the type %s in community servers only. Enable Community, by spec.community of the "+
					"DiscordServer or on Discord, or create an object of another type.", (&discordclient.Channel{Type: t}).TypeName())
		}
	default:
	}
	return nil
}

// alike returns the channels of a parent among which one of a type has its place, in the order in which
// Discord shows them: those in which members talk stand apart, below all others.
func alike(snap *guildcache.Snapshot, parentID string, of discordgo.ChannelType) []*discordclient.Channel {
	return slices.DeleteFunc(snap.Children(parentID), func(c *discordclient.Channel) bool {
		return discordclient.IsVoiceLike(c.Type) != discordclient.IsVoiceLike(of)
	})
}
