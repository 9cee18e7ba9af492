// SPDX-License-Identifier: Apache-2.0

package channels

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"jutsu.com/operators/test/discordtest/internal/model"
	"jutsu.com/operators/test/discordtest/rest/call"
)

// Discord's OpenAPI description allows 50 characters in a tag's name, its reference only 20.
const maxTags, maxTagName = 20, 20

// readForum reads the fields of forum and media channels. In a create, it ignores flags.
func readForum(f *call.Form, g *model.GuildState, ch *model.Channel, create bool) error {
	if err := readTags(f, g, ch, create); err != nil {
		return err
	}
	if err := readReaction(f, g, ch); err != nil {
		return err
	}
	f.Integer("default_thread_rate_limit_per_user", 0, 21600, 0, &ch.ThreadSlowmode)
	if f.Null("default_sort_order") {
		ch.SortOrder = nil
	} else if f.Has("default_sort_order") {
		order := 0
		f.Choice("default_sort_order", 0, &order, 0, 1)
		ch.SortOrder = &order
	}
	if ch.Type == model.TypeForum {
		f.Choice("default_forum_layout", 0, &ch.Layout, 0, 1, 2)
	}
	if create {
		return nil
	}
	readFlags(f, ch)
	open := func(t model.Tag) bool { return !t.Moderated }
	if f.Err() == nil && ch.Flags&model.FlagRequireTag != 0 && !slices.ContainsFunc(ch.Tags, open) {
		return call.ErrNoOpenTag
	}
	return nil
}

func readFlags(f *call.Form, ch *model.Channel) {
	settable := model.FlagRequireTag
	if ch.Type == model.TypeMedia {
		settable |= model.FlagHideMediaDownload
	}
	flags := ch.Flags
	f.Integer("flags", 0, 1<<31-1, 0, &flags)
	ch.Flags = ch.Flags&^settable | flags&settable
}

// readTags reads the field available_tags. A tag keeps its id only if an edit sends the id.
func readTags(f *call.Form, g *model.GuildState, ch *model.Channel, create bool) error {
	if !f.Has("available_tags") {
		return nil
	}
	var tags []model.Tag
	for i, raw := range f.List("available_tags", maxTags) {
		sub := f.Sub(fmt.Sprintf("available_tags.%d", i), raw)
		var tag model.Tag
		sub.Require("name")
		sub.Text("name", 1, maxTagName, &tag.Name)
		sub.Boolean("moderated", &tag.Moderated)
		if !create {
			sub.ID("id", &tag.ID)
		}
		if f.Err() != nil {
			continue
		}
		if err := readEmoji(sub, g, &tag.Emoji); err != nil {
			return err
		}
		same := func(t model.Tag) bool { return t.ID == tag.ID }
		if tag.ID != "" && (!slices.ContainsFunc(ch.Tags, same) || slices.ContainsFunc(tags, same)) {
			return call.ErrUnknownTag
		}
		if slices.ContainsFunc(tags, func(t model.Tag) bool { return strings.EqualFold(t.Name, tag.Name) }) {
			return call.ErrTagNames
		}
		tags = append(tags, tag)
	}
	ch.Tags = tags
	return nil
}

func readReaction(f *call.Form, g *model.GuildState, ch *model.Channel) error {
	if f.Null("default_reaction_emoji") {
		ch.Reaction = model.Emoji{}
	}
	if !f.Given("default_reaction_emoji") {
		return nil
	}
	return readEmoji(f.Sub("default_reaction_emoji", f.Raw("default_reaction_emoji")), g, &ch.Reaction)
}

func readEmoji(f *call.Form, g *model.GuildState, out *model.Emoji) error {
	var e model.Emoji
	f.ID("emoji_id", &e.ID)
	f.Text("emoji_name", 0, 100, &e.Name)
	special := func(r rune) bool { return r > unicode.MaxASCII }
	switch {
	case e.ID != "" && e.Name != "":
		f.Fail("emoji_name", "BASE_TYPE_EXCLUSIVE", "Only one of emoji_id and emoji_name may be set.")
	case e.ID != "" && !slices.Contains(g.Emojis, e.ID), e.Name != "" && !strings.ContainsFunc(e.Name, special):
		return call.ErrUnknownEmoji
	}
	*out = e
	return nil
}
