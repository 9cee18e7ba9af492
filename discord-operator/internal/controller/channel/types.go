// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"slices"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/conditions"
)

// The names "" and "Text" are missing: the zero value is the type of a text channel.
var typesByName = map[v1alpha1.ChannelType]discordgo.ChannelType{
	v1alpha1.ChannelTypeAnnouncement: discordgo.ChannelTypeGuildNews,
	v1alpha1.ChannelTypeVoice:        discordgo.ChannelTypeGuildVoice,
	v1alpha1.ChannelTypeStage:        discordgo.ChannelTypeGuildStageVoice,
	v1alpha1.ChannelTypeForum:        discordgo.ChannelTypeGuildForum,
	v1alpha1.ChannelTypeMedia:        discordgo.ChannelTypeGuildMedia,
}

// channelTypes returns the types that a spec.type can manage; a create uses the first. Discord can
// convert between text and announcement channels only.
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

// TypeOf returns the spec.type for a channel's type on Discord; empty if there is none.
func TypeOf(t discordgo.ChannelType) v1alpha1.ChannelType {
	for name, of := range typesByName {
		if of == t {
			return name
		}
	}
	if t == discordgo.ChannelTypeGuildText {
		return v1alpha1.ChannelTypeText
	}
	return ""
}

const enableCommunity = "Enable Community: set spec.community of the DiscordServer to Enabled, or use the server's " +
	"settings on Discord."

// refusedType returns the issue of a type for which the guild lacks a feature, or nil. Source:
// https://docs.discord.com/developers/resources/guild#guild-object-guild-features.
func refusedType(s State, t discordgo.ChannelType) *conditions.Issue {
	has := func(feature string) bool { return slices.Contains(s.Guild.Snapshot.Guild.Features, feature) }
	switch t {
	case discordgo.ChannelTypeGuildNews:
		if !has("NEWS") {
			return conditions.Degraded(v1alpha1.ReasonAnnouncementsNotAllowed, "spec.type is Announcement, but the "+
				"server does not allow announcement channels. "+enableCommunity+" Or set spec.type to Text.")
		}
	case discordgo.ChannelTypeGuildStageVoice, discordgo.ChannelTypeGuildForum, discordgo.ChannelTypeGuildMedia:
		if !has("COMMUNITY") {
			return conditions.Degraded(v1alpha1.ReasonCommunityRequired,
				"spec.type is %s, but Discord allows channels of this type only in a server with Community. %s Or create a "+
					"DiscordChannel with another spec.type.", TypeOf(t), enableCommunity)
		}
	default:
	}
	return nil
}

// bitrates has the highest bitrate of a voice channel by boost level. Source:
// https://docs.discord.com/developers/resources/channel#modify-channel.
var bitrates = []int{96000, 128000, 256000, 384000}

// refusedBitrate ignores the smaller limit of Stage channels, which the CRD's schema checks.
func refusedBitrate(s State, want int) *conditions.Issue {
	guild := s.Guild.Snapshot.Guild
	most := bitrates[min(max(guild.PremiumTier, 0), len(bitrates)-1)]
	if want <= most || slices.Contains(guild.Features, "VIP_REGIONS") {
		return nil
	}
	return conditions.Degraded(v1alpha1.ReasonBitrateTooHigh,
		"Discord allows a bitrate of at most %[2]d with the server's boost level %[1]d. Lower spec.voice.bitrate, or "+
			"boost the server.", guild.PremiumTier, most)
}
