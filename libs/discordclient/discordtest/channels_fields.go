package discordtest

import (
	"fmt"
	"math"
)

// readChannel reads the fields of a create or an edit into ch, all but the overwrites. What the type does not have is
// left out without an error, as Discord does.
func (c *call) readChannel(f *form, g *guild, ch *Channel, create bool) error {
	readType(f, g, ch, create)
	if create {
		f.require("name")
		ch.RateLimitPerUser, ch.Bitrate = 0, 64000
	}
	name := ch.Name
	if f.given("name") {
		f.text("name", 1, 100, &name)
		if name != ch.Name && textLike(ch.Type) {
			if name = c.srv.opts.Normalise(name); name == "" {
				f.fail("name", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.")
			}
		}
		ch.Name = name
	} else if !create {
		f.notNull("name")
	}
	f.integer("position", 0, math.MaxInt32, ch.Position, &ch.Position)
	readParent(f, g, ch)
	if ch.Type != TypeCategory {
		readDetails(f, ch)
	}
	if ch.Type != TypeVoice && ch.Type != TypeStage {
		ch.Bitrate = 0
	}
	return f.err()
}

// readType reads the type: any creatable one at first, later only text to announcement and back.
func readType(f *form, g *guild, ch *Channel, create bool) {
	if create {
		f.choice("type", TypeText, &ch.Type, creatable(g)...)
		return
	}
	if !f.given("type") {
		return
	}
	allowed := []int{ch.Type}
	if g.feature("NEWS") && (ch.Type == TypeText || ch.Type == TypeAnnouncement) {
		allowed = []int{TypeText, TypeAnnouncement}
	}
	f.choice("type", ch.Type, &ch.Type, allowed...)
}

// readParent reads parent_id: a category of the same guild, or null.
func readParent(f *form, g *guild, ch *Channel) {
	parent := ch.ParentID
	f.id("parent_id", &parent)
	switch p := g.channels[parent]; {
	case parent == ch.ParentID:
	case parent != "" && ch.Type == TypeCategory:
		f.fail("parent_id", "CHANNEL_PARENT_INVALID_PARENT", "Categories cannot have subcategories")
	case parent != "" && p == nil:
		f.fail("parent_id", "CHANNEL_PARENT_INVALID", "Category does not exist")
	case parent != "" && p.Type != TypeCategory:
		f.fail("parent_id", "CHANNEL_PARENT_INVALID_TYPE", "Not a category")
	default:
		ch.ParentID = parent
	}
}

// readDetails reads what categories do not have.
func readDetails(f *form, ch *Channel) {
	f.boolean("nsfw", &ch.NSFW)
	f.integer("rate_limit_per_user", 0, 21600, 0, &ch.RateLimitPerUser)
	if ch.Type == TypeVoice || ch.Type == TypeStage {
		f.integer("bitrate", 8000, 384000, 64000, &ch.Bitrate)
		f.integer("user_limit", 0, 10000, 0, &ch.UserLimit)
		return
	}
	longest := 1024
	if forumLike(ch.Type) {
		longest = 4096
	}
	f.text("topic", 0, longest, &ch.Topic)
	f.choice("default_auto_archive_duration", 0, &ch.DefaultAutoArchive, 60, 1440, 4320, 10080)
}

// readOverwrites replaces the overwrites by those of the form, when it has any. `within` are permissions that may be
// handed out.
func (c *call) readOverwrites(f *form, g *guild, ch *Channel, within Permissions) error {
	if !f.has("permission_overwrites") {
		return nil
	}
	var list []Overwrite
	for i, raw := range f.list("permission_overwrites", 100) {
		sub := f.sub(fmt.Sprintf("permission_overwrites.%d", i), raw)
		sub.require("id")
		o := Overwrite{}
		sub.id("id", &o.ID)
		sub.overwrite(&o)
		if f.err() != nil {
			continue
		}
		if err := c.srv.checkOverwrite(g, &o, sub.given("type")); err != nil {
			return err
		}
		list = put(list, o)
	}
	if err := f.err(); err != nil {
		return err
	}
	if err := c.mayOverwrite(ch.Overwrites, list, within); err != nil {
		return err
	}
	ch.Overwrites = list
	return nil
}
