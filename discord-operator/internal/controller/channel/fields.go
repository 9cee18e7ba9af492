// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"github.com/bwmarrin/discordgo"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/discord-operator/internal/discord/tags"
	"jutsu.com/operators/libs/discordclient"
)

type desired struct {
	v1alpha1.DiscordChannelSpec
	voice      v1alpha1.ChannelVoice
	forum      v1alpha1.ChannelForum
	recorded   []v1alpha1.ForumTagStatus // in the status
	live       *discordclient.Channel
	parentID   string
	overwrites []discordclient.Overwrite // nil for unmanaged
}

func desiredOf(c *v1alpha1.DiscordChannel, s State, want []discordclient.Overwrite) desired {
	return desired{
		DiscordChannelSpec: c.Spec, voice: ptr.Deref(c.Spec.Voice, v1alpha1.ChannelVoice{}),
		forum: ptr.Deref(c.Spec.Forum, v1alpha1.ChannelForum{}), recorded: c.Status.Tags,
		live: s.live(), parentID: s.Binding.ParentID, overwrites: want,
	}
}

type (
	channel = discordclient.Channel
	edit    = discordclient.ChannelEdit
)

func row[T any](name, wire string, want func(desired) *T) resource.Field[desired, channel, edit] {
	return resource.NewField[desired, channel, edit](name, wire, want)
}

var fields = resource.Table[desired, channel, edit]{
	row("name", "", desired.name).Limited(),
	row("type", "", desired.channelType),
	row("topic", "", func(d desired) *string { return d.Topic }).Limited(),
	row("nsfw", "", func(d desired) *bool { return d.NSFW }),
	row("slowmode", "rate_limit_per_user", func(d desired) *int { return seconds(d.Slowmode) }).Format(resource.Seconds),
	row("defaultAutoArchive", "default_auto_archive_duration",
		func(d desired) *int { return resource.AutoArchives.Number(d.DefaultAutoArchive) }).
		Format(resource.AutoArchives.Word),
	row("group", "parent_id", func(d desired) *string { return &d.parentID }).Format(resource.ChannelName),

	row("bitrate", "", func(d desired) *int { return asInt(d.voice.Bitrate) }),
	row("userLimit", "user_limit", func(d desired) *int { return asInt(d.voice.UserLimit) }),
	row("region", "rtc_region", func(d desired) *string { return d.voice.Region }),
	row("videoQuality", "video_quality_mode",
		func(d desired) *int { return resource.VideoQualities.Number(d.voice.VideoQuality) }).
		Format(resource.VideoQualities.Word),

	resource.NewPartialField[desired, channel, edit]("tags", "available_tags", desired.tags, remainingTags),
	flag("hideMediaDownload", discordclient.FlagHideMediaDownload,
		func(d desired) *bool { return d.forum.HideMediaDownload }),
	flag("requireTag", discordclient.FlagRequireTag, func(d desired) *bool { return d.forum.RequireTag }),
	row("defaultReaction", "default_reaction_emoji", desired.reaction),
	row("sortOrder", "default_sort_order", desired.sortOrder).
		Format(resource.SortOrders.WordOrNull(resource.NoSortOrder)),
	row("layout", "default_forum_layout", func(d desired) *int { return resource.ForumLayouts.Number(d.forum.Layout) }).
		Format(resource.ForumLayouts.Word),
	row("threadSlowmode", "default_thread_rate_limit_per_user",
		func(d desired) *int { return seconds(d.forum.ThreadSlowmode) }).Format(resource.Seconds),

	resource.Overwrites(func(d desired) ([]discordclient.Overwrite, *channel) { return d.overwrites, d.live }),
}

// name is nil if Discord stores the desired name as the live one.
func (d desired) name() *string {
	if discordclient.SameChannelName(d.live.Type, d.Name, d.live.Name, "") {
		return nil
	}
	return &d.Name
}

func (d desired) channelType() *discordgo.ChannelType {
	if d.Type == "" {
		return nil
	}
	return &channelTypes(d.Type)[0]
}

func (d desired) tags() *[]discordclient.Tag {
	if d.forum.Tags == nil {
		return nil
	}
	return new(tags.Identify(tags.Of(d.forum.Tags), d.live.Tags, d.recorded))
}

func remainingTags(asked []discordclient.Tag, made *channel) *[]discordclient.Tag {
	if tags.Same(asked, made.Tags) {
		return nil
	}
	return new(tags.Identify(asked, made.Tags, nil))
}

// reaction returns a nil emoji for an empty one in the spec.
func (d desired) reaction() **discordclient.Emoji {
	if d.forum.DefaultReaction == nil {
		return nil
	}
	var unset *discordclient.Emoji
	if *d.forum.DefaultReaction == "" {
		return &unset
	}
	return new(new(discordclient.ParseEmoji(string(*d.forum.DefaultReaction))))
}

// sortOrder returns a nil number for SortOrderNotSet.
func (d desired) sortOrder() **int {
	number := resource.SortOrders.Number(d.forum.SortOrder)
	if number != nil && *number == resource.NoSortOrder {
		number = nil
	} else if number == nil {
		return nil
	}
	return &number
}

// flag returns a flag. An edit sets all flags together, and a create none.
func flag(name string, bit int, want func(desired) *bool) resource.Field[desired, channel, edit] {
	return resource.NewPartialField[desired, channel, edit](name, "flags",
		func(d desired) *int {
			if is := want(d); is == nil || *is == (d.live.Flags&bit != 0) {
				return nil
			}
			return new(d.flags())
		},
		func(asked int, made *channel) *int {
			if asked&^made.Flags&bit == 0 {
				return nil
			}
			return new(made.Flags | asked)
		}).Format(resource.Flag(bit))
}

func (d desired) flags() int {
	flags := d.live.Flags
	for bit, want := range map[int]*bool{
		discordclient.FlagRequireTag: d.forum.RequireTag, discordclient.FlagHideMediaDownload: d.forum.HideMediaDownload,
	} {
		switch {
		case want == nil:
		case *want:
			flags |= bit
		default:
			flags &^= bit
		}
	}
	return flags
}

func seconds(d *metav1.Duration) *int {
	if d == nil {
		return nil
	}
	return new(int(d.Seconds()))
}

func asInt(n *int32) *int {
	if n == nil {
		return nil
	}
	return new(int(*n))
}
