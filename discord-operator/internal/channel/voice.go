// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"slices"

	"k8s.io/utils/ptr"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/lifecycle"
	"jutsu.com/operators/discord-operator/internal/resource"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
)

// bitrates are the highest ones of voice channels, by the boost level of the server. Source:
// https://docs.discord.com/developers/resources/channel#modify-channel.
var bitrates = []int{96000, 128000, 256000, 384000}

// refusedBitrate is why Discord would refuse a bitrate. That of a stage is the schema's concern.
func refusedBitrate(s State, want int) *conditions.Issue {
	guild := s.Guild.Snapshot.Guild
	most := bitrates[min(max(guild.PremiumTier, 0), len(bitrates)-1)]
	if want <= most || slices.Contains(guild.Features, "VIP_REGIONS") {
		return nil
	}
	return conditions.Degraded(v1alpha1.ReasonBitrateTooHigh,
		"The server has the boost level %d, with which Discord allows a bitrate of %d at most. "+
			"Lower spec.voice.bitrate, or boost the server.", guild.PremiumTier, most)
}

// createVoice adds the settings of a voice or stage channel to a create.
func createVoice(in *discordclient.ChannelCreate, voice *v1alpha1.ChannelVoice) {
	if voice == nil {
		return
	}
	in.Bitrate, in.UserLimit = int(ptr.Deref(voice.Bitrate, 0)), int(ptr.Deref(voice.UserLimit, 0))
	in.Region = ptr.Deref(voice.Region, "")
	in.VideoQuality = ptr.Deref(resource.VideoQualities.Number(voice.VideoQuality), 0)
}

// differVoice compares the settings of a voice or stage channel.
func differVoice(
	d *lifecycle.Differences, voice *v1alpha1.ChannelVoice, live *discordclient.Channel, edit *discordclient.ChannelEdit,
) {
	if voice == nil {
		return
	}
	lifecycle.Differ(d, "bitrate", number(voice.Bitrate), live.Bitrate, &edit.Bitrate)
	lifecycle.Differ(d, "userLimit", number(voice.UserLimit), live.UserLimit, &edit.UserLimit)
	lifecycle.Differ(d, "region", voice.Region, live.Region, &edit.Region)
	quality := resource.VideoQualities.Number(voice.VideoQuality)
	lifecycle.Differ(d, "videoQuality", quality, live.VideoQuality, &edit.VideoQuality)
}

// number is a number of a spec; nil for none.
func number(n *int32) *int {
	if n == nil {
		return nil
	}
	return new(int(*n))
}
