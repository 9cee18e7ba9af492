// SPDX-License-Identifier: Apache-2.0

package channels

import (
	"math"

	"jutsu.com/operators/test/discordtest/internal/model"
	"jutsu.com/operators/test/discordtest/rest/call"
)

// readFields stores sent fields except overwrites. Like Discord, it ignores fields that the
// channel's type does not have.
func readFields(c *call.Call, f *call.Form, g *model.GuildState, ch *model.Channel, create bool) error {
	readType(f, g, ch, create)
	if create {
		f.Require("name")
	}
	name := ch.Name
	if f.Given("name") {
		f.Text("name", 1, 100, &name)
		if name != ch.Name && model.TextLike(ch.Type) {
			if name = c.Options.Normalise(name); name == "" {
				f.Fail("name", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.")
			}
		}
		ch.Name = name
	} else if !create {
		f.NotNull("name")
	}
	f.Integer("position", 0, math.MaxInt32, ch.Position, &ch.Position)
	readParent(f, g, ch)
	if ch.Type != model.TypeCategory {
		readDetails(c, f, ch)
	}
	ch.Defaults()
	if !create || !c.Options.Altered.Bare {
		if err := readSpecial(f, g, ch, create); err != nil {
			return err
		}
	}
	if c.Options.Compatible && f.Null("parent_id") {
		return call.ErrInternal
	}
	return f.Err()
}

// readType reads the field type. An edit can only change the type text to announcement, or
// announcement to text.
func readType(f *call.Form, g *model.GuildState, ch *model.Channel, create bool) {
	if create {
		f.Choice("type", model.TypeText, &ch.Type, types(g)...)
		return
	}
	if !f.Given("type") {
		return
	}
	allowed := []int{ch.Type}
	if g.Feature("NEWS") && (ch.Type == model.TypeText || ch.Type == model.TypeAnnouncement) {
		allowed = []int{model.TypeText, model.TypeAnnouncement}
	}
	f.Choice("type", ch.Type, &ch.Type, allowed...)
}

func readParent(f *call.Form, g *model.GuildState, ch *model.Channel) {
	parent := ch.ParentID
	f.ID("parent_id", &parent)
	switch p := g.Channels[parent]; {
	case parent == ch.ParentID:
	case parent != "" && ch.Type == model.TypeCategory:
		f.Fail("parent_id", "CHANNEL_PARENT_INVALID_PARENT", "Categories cannot have subcategories")
	case parent != "" && p == nil:
		f.Fail("parent_id", "CHANNEL_PARENT_INVALID", "Category does not exist")
	case parent != "" && p.Type != model.TypeCategory:
		f.Fail("parent_id", "CHANNEL_PARENT_INVALID_TYPE", "Not a category")
	default:
		ch.ParentID = parent
	}
}

func readDetails(c *call.Call, f *call.Form, ch *model.Channel) {
	before := *ch
	f.Boolean("nsfw", &ch.NSFW)
	f.Integer("rate_limit_per_user", 0, 21600, 0, &ch.RateLimitPerUser)
	if ch.Type == model.TypeAnnouncement && c.Options.Altered.AnnouncementSlowmode {
		ch.RateLimitPerUser = before.RateLimitPerUser
	}
	if model.VoiceLike(ch.Type) {
		return
	}
	longest := 1024
	if model.ForumLike(ch.Type) {
		longest = 4096
	}
	f.Text("topic", 0, longest, &ch.Topic)
	if c.Options.Altered.Topic != nil && ch.Topic != before.Topic {
		ch.Topic = c.Options.Altered.Topic(ch.Topic)
	}
	f.Choice("default_auto_archive_duration", 0, &ch.DefaultAutoArchive, 60, 1440, 4320, 10080)
}

func readSpecial(f *call.Form, g *model.GuildState, ch *model.Channel, create bool) error {
	switch {
	case model.VoiceLike(ch.Type):
		readVoice(f, g, ch)
	case model.ForumLike(ch.Type):
		return readForum(f, g, ch, create)
	}
	return nil
}
