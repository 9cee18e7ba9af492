// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"k8s.io/utils/ptr"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/lifecycle"
	"jutsu.com/operators/discord-operator/internal/resource"
	"jutsu.com/operators/discord-operator/internal/tags"
	"jutsu.com/operators/libs/discordclient"
)

// createForum adds the settings of a forum or media channel to a create.
func createForum(in *discordclient.ChannelCreate, forum *v1alpha1.ChannelForum) {
	if forum == nil {
		return
	}
	in.Flags = flags(forum, 0)
	in.Tags = tags.Of(forum.Tags)
	if reaction := reaction(forum); reaction != nil {
		in.DefaultReaction = *reaction
	}
	if order := sortOrder(forum); order != nil {
		in.SortOrder = *order
	}
	in.Layout = ptr.Deref(resource.ForumLayouts.Number(forum.Layout), 0)
	in.ThreadSlowmode = ptr.Deref(seconds(forum.ThreadSlowmode), 0)
}

// differForum compares the settings of a forum or media channel.
func differForum(
	d *lifecycle.Differences, c *v1alpha1.DiscordChannel, live *discordclient.Channel, edit *discordclient.ChannelEdit,
) {
	forum := c.Spec.Forum
	if forum == nil {
		return
	}
	if forum.Tags != nil {
		want := tags.Identify(tags.Of(forum.Tags), live.Tags, c.Status.Tags)
		lifecycle.Differ(d, "tags", &want, live.Tags, &edit.Tags)
	}
	lifecycle.DifferFlags(d, flags(forum, live.Flags), live.Flags, &edit.Flags)
	lifecycle.Differ(d, "defaultReaction", reaction(forum), live.DefaultReaction, &edit.DefaultReaction)
	lifecycle.Differ(d, "sortOrder", sortOrder(forum), live.SortOrder, &edit.SortOrder)
	lifecycle.Differ(d, "layout", resource.ForumLayouts.Number(forum.Layout), live.Layout, &edit.Layout)
	lifecycle.Differ(d, "threadSlowmode", seconds(forum.ThreadSlowmode), live.ThreadSlowmode, &edit.ThreadSlowmode)
}

// flags are those of a channel with what the spec says of some of them.
func flags(forum *v1alpha1.ChannelForum, live int) int {
	for flag, want := range map[int]*bool{
		discordclient.FlagRequireTag: forum.RequireTag, discordclient.FlagHideMediaDownload: forum.HideMediaDownload,
	} {
		switch {
		case want == nil:
		case *want:
			live |= flag
		default:
			live &^= flag
		}
	}
	return live
}

// reaction is the one that the spec asks for, which may be none; nil where it leaves it out.
func reaction(forum *v1alpha1.ChannelForum) **discordclient.Emoji {
	if forum.DefaultReaction == nil {
		return nil
	}
	var none *discordclient.Emoji
	if *forum.DefaultReaction == "" {
		return &none
	}
	return new(new(discordclient.ParseEmoji(string(*forum.DefaultReaction))))
}

// sortOrder is the one that the spec asks for, which may be none; nil where it leaves it out.
func sortOrder(forum *v1alpha1.ChannelForum) **int {
	number := resource.SortOrders.Number(forum.SortOrder)
	if number != nil && *number == resource.NoSortOrder {
		number = nil
	} else if number == nil {
		return nil
	}
	return &number
}
