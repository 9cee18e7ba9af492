// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"slices"

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
	recorded   []v1alpha1.ForumTagStatus // tags in the status
	live       *discordclient.Channel
	parentID   string
	overwrites []discordclient.Overwrite // nil if the spec does not manage them
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

type table = resource.Table[desired, channel, edit]

func row[T any](name, wire string, want func(desired) *T) resource.Field[desired, channel, edit] {
	return resource.NewField[desired, channel, edit](name, wire, want)
}

func member[M, T any](
	name, wire string, at func(*desired) *M, as resource.Form[M, T],
) resource.Field[desired, channel, edit] {
	return resource.NewMember[desired, channel, edit](name, wire, at, as)
}

var (
	yesNo  = resource.Same[bool]()
	text   = resource.Same[string]()
	fields = slices.Concat(ofEvery, ofVoice.In("voice", isVoice), ofForum.In("forum", isForum), table{
		resource.Overwrites(func(d desired) ([]discordclient.Overwrite, *channel) { return d.overwrites, d.live }),
	})
)

var ofEvery = table{
	row("name", "", desired.name).Limited().Filled(fillName),
	row("type", "", desired.channelType),
	member("topic", "", func(d *desired) **string { return &d.Topic }, text).Limited().Of(hasThreads),
	member("nsfw", "", func(d *desired) **bool { return &d.NSFW }, yesNo),
	member("slowmode", "rate_limit_per_user", func(d *desired) **metav1.Duration { return &d.Slowmode },
		resource.Seconds()),
	member("defaultAutoArchive", "default_auto_archive_duration",
		func(d *desired) *v1alpha1.AutoArchive { return &d.DefaultAutoArchive }, resource.AutoArchives.Form()).
		Of(func(live *channel) bool { return hasThreads(live) && live.DefaultAutoArchive != 0 }),
	row("group", "parent_id", func(d desired) *string { return &d.parentID }).Format(resource.ChannelName),
}

var ofVoice = table{
	member("bitrate", "", func(d *desired) **int32 { return &d.voice.Bitrate }, resource.Count()),
	member("userLimit", "user_limit", func(d *desired) **int32 { return &d.voice.UserLimit }, resource.Count()),
	member("region", "rtc_region", func(d *desired) **string { return &d.voice.Region }, text),
	member("videoQuality", "video_quality_mode", func(d *desired) *v1alpha1.VideoQuality { return &d.voice.VideoQuality },
		resource.VideoQualities.Form()),
}

var ofForum = table{
	resource.NewPartialField[desired, channel, edit]("tags", "available_tags", desired.tags, remainingTags).
		Filled(fillTags),
	flag("hideMediaDownload", discordclient.FlagHideMediaDownload,
		func(d *desired) **bool { return &d.forum.HideMediaDownload }).Of(isMedia),
	flag("requireTag", discordclient.FlagRequireTag, func(d *desired) **bool { return &d.forum.RequireTag }).
		Filled(fillRequireTag),
	row("defaultReaction", "default_reaction_emoji", desired.reaction).Filled(fillReaction),
	row("sortOrder", "default_sort_order", desired.sortOrder).Filled(fillSortOrder).
		Format(resource.SortOrders.WordOrNull(resource.NoSortOrder)),
	member("layout", "default_forum_layout", func(d *desired) *v1alpha1.ForumLayout { return &d.forum.Layout },
		resource.ForumLayouts.Form()).Of(func(live *channel) bool { return !isMedia(live) }),
	member("threadSlowmode", "default_thread_rate_limit_per_user",
		func(d *desired) **metav1.Duration { return &d.forum.ThreadSlowmode }, resource.Seconds()),
}

func isVoice(live *channel) bool    { return discordclient.IsVoiceLike(live.Type) }
func isForum(live *channel) bool    { return discordclient.IsForumLike(live.Type) }
func isMedia(live *channel) bool    { return live.Type == discordgo.ChannelTypeGuildMedia }
func hasThreads(live *channel) bool { return !isVoice(live) }

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

// reaction returns nil for an unset field, and a pointer to nil for an empty field.
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

// sortOrder returns nil for an unset field, and a pointer to nil for SortOrderNotSet.
func (d desired) sortOrder() **int {
	number := resource.SortOrders.Number(d.forum.SortOrder)
	if number != nil && *number == resource.NoSortOrder {
		number = nil
	} else if number == nil {
		return nil
	}
	return &number
}

// flag is one bit of a channel's flags. An edit sends all flags. A create does not send flags, so
// an edit follows the create.
func flag(name string, bit int, at func(*desired) **bool) resource.Field[desired, channel, edit] {
	return resource.NewPartialField[desired, channel, edit](name, "flags",
		func(d desired) *int {
			if is := *at(&d); is == nil || *is == (d.live.Flags&bit != 0) {
				return nil
			}
			return new(d.flags())
		},
		func(asked int, made *channel) *int {
			if asked&^made.Flags&bit == 0 {
				return nil
			}
			return new(made.Flags | asked)
		}).Format(resource.Flag(bit)).Filled(func(d *desired, live *channel) error {
		*at(d) = new(live.Flags&bit != 0)
		return nil
	})
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
