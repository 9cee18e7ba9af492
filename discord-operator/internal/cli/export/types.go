// SPDX-License-Identifier: Apache-2.0

package export

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/libs/discordclient"
)

// Limits of the schema for voice, stage, forum and media channels.
const (
	minBitrate, maxBitrate, maxStageBitrate = 8000, 384000, 64000
	maxUsers, maxStageUsers                 = 99, 10000
	maxTags, maxTagName                     = 20, 20
)

func typeName(t discordgo.ChannelType) v1alpha1.ChannelType {
	switch t {
	case discordgo.ChannelTypeGuildText, discordgo.ChannelTypeGuildNews, discordgo.ChannelTypeGuildVoice,
		discordgo.ChannelTypeGuildStageVoice, discordgo.ChannelTypeGuildForum, discordgo.ChannelTypeGuildMedia:
		return v1alpha1.ChannelType((&discordclient.Channel{Type: t}).TypeName())
	default:
		return ""
	}
}

func voice(notes *notes, c *discordclient.Channel) *v1alpha1.ChannelVoice {
	spec := &v1alpha1.ChannelVoice{
		Region: &c.Region, VideoQuality: wordFor(notes, "voice.videoQuality", resource.VideoQualities, c.VideoQuality),
	}
	bitrate, users := maxBitrate, maxUsers
	if c.Type == discordgo.ChannelTypeGuildStageVoice {
		bitrate, users = maxStageBitrate, maxStageUsers
	}
	number := func(field string, to **int32, value, least, most int) {
		setOrOmit(notes, field, to, new(int32(value)), value >= least && value <= most, //nolint:gosec // G115: within bounds
			fmt.Sprintf("%d is not between %d and %d, which the schema allows", value, least, most))
	}
	number("voice.bitrate", &spec.Bitrate, c.Bitrate, minBitrate, bitrate)
	number("voice.userLimit", &spec.UserLimit, c.UserLimit, 0, users)
	return spec
}

func forum(notes *notes, c *discordclient.Channel) *v1alpha1.ChannelForum {
	has := func(flag int) *bool { return new(c.Flags&flag != 0) }
	order := resource.NoSortOrder
	if c.SortOrder != nil {
		order = *c.SortOrder
	}
	var reaction v1alpha1.Emoji
	if c.DefaultReaction != nil {
		reaction = v1alpha1.Emoji(c.DefaultReaction.String())
	}
	spec := &v1alpha1.ChannelForum{
		RequireTag: has(discordclient.FlagRequireTag), DefaultReaction: &reaction,
		SortOrder: wordFor(notes, "forum.sortOrder", resource.SortOrders, order),
	}
	if c.Type == discordgo.ChannelTypeGuildForum {
		spec.Layout = wordFor(notes, "forum.layout", resource.ForumLayouts, c.Layout)
	} else {
		spec.HideMediaDownload = has(discordclient.FlagHideMediaDownload)
	}
	setOrOmit(notes, "forum.threadSlowmode", &spec.ThreadSlowmode,
		&metav1.Duration{Duration: time.Duration(c.ThreadSlowmode) * time.Second},
		c.ThreadSlowmode >= 0 && c.ThreadSlowmode <= maxSlowmode,
		fmt.Sprintf("%d seconds are more than the 6 hours that the schema allows", c.ThreadSlowmode))
	list, why := tags(c.Tags)
	setOrOmit(notes, "forum.tags", &spec.Tags, list, why == "", why)
	open := func(t v1alpha1.ForumTag) bool { return !t.Moderated }
	if *spec.RequireTag && spec.Tags != nil && !slices.ContainsFunc(spec.Tags, open) {
		spec.RequireTag = nil
		notes.omit("forum.requireTag", "the schema allows it with a tag that is not moderated only")
	}
	return spec
}

func tags(live []discordclient.Tag) (list []v1alpha1.ForumTag, why string) {
	list = []v1alpha1.ForumTag{}
	for _, t := range live {
		if !fits(t.Name, 1, maxTagName) {
			return nil, fmt.Sprintf("the schema does not allow the name %q", t.Name)
		}
		same := func(other v1alpha1.ForumTag) bool { return strings.EqualFold(other.Name, t.Name) }
		if slices.ContainsFunc(list, same) {
			return nil, fmt.Sprintf("there are two with the name %q, and the schema allows one", t.Name)
		}
		list = append(list, v1alpha1.ForumTag{Name: t.Name, Moderated: t.Moderated, Emoji: v1alpha1.Emoji(t.String())})
	}
	if len(list) > maxTags {
		return nil, fmt.Sprintf("there are %d, more than the %d that the schema allows", len(list), maxTags)
	}
	return list, ""
}
