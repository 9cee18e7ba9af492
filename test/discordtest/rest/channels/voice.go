// SPDX-License-Identifier: Apache-2.0

package channels

import (
	"slices"

	"jutsu.com/operators/test/discordtest/internal/model"
	"jutsu.com/operators/test/discordtest/rest/call"
)

// regions are the ids of GET /voice/regions in 2026. Discord changes them now and then.
var regions = []string{
	"brazil", "hongkong", "india", "japan", "rotterdam", "singapore", "southafrica", "south-korea", "sydney",
	"us-central", "us-east", "us-south", "us-west",
}

// bitrates lists the maximum bitrate of voice channels for the guild's boost levels 0 to 3.
var bitrates = []int{96000, 128000, 256000, 384000}

// Source: https://docs.discord.com/developers/resources/channel#modify-channel.
func highestBitrate(g *model.GuildState, kind int) int {
	switch {
	case kind == model.TypeStage:
		return 64000
	case g.Feature("VIP_REGIONS"):
		return bitrates[len(bitrates)-1]
	}
	return bitrates[g.PremiumTier]
}

// readVoice reads fields of voice and stage channels. The error for an unknown region is a guess.
func readVoice(f *call.Form, g *model.GuildState, ch *model.Channel) {
	f.Integer("bitrate", 8000, highestBitrate(g, ch.Type), ch.Bitrate, &ch.Bitrate)
	users := 99
	if ch.Type == model.TypeStage {
		users = 10000
	}
	f.Integer("user_limit", 0, users, 0, &ch.UserLimit)
	region := ch.Region
	f.Text("rtc_region", 0, 100, &region)
	if region != "" && region != ch.Region && !slices.Contains(regions, region) {
		f.Fail("rtc_region", "BASE_TYPE_CHOICES", "Value must be one of the voice regions.")
	} else {
		ch.Region = region
	}
	f.Choice("video_quality_mode", 0, &ch.VideoQuality, 1, 2)
}
