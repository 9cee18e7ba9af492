// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/order"
	"jutsu.com/operators/discord-operator/internal/discord/overwrites"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/recovery"
)

// Channels implements [Calls] for channels.
var Channels = channels{}

// Categories implements [Calls] for categories.
var Categories = channels{Categories: true}

type channels struct{ Categories bool }

var _ Calls = channels{}

// OfChannel returns a channel as a Resource. For a nil channel it returns a nil interface.
func OfChannel(c *discordclient.Channel) Resource {
	if c == nil {
		return nil
	}
	return c
}

// Channel returns a resource as a channel or category; nil if it is neither.
func Channel(live Resource) *discordclient.Channel {
	c, _ := live.(*discordclient.Channel)
	return c
}

func (channels) Find(snap *guildcache.Snapshot, id string) Resource {
	c, _ := snap.Channel(id)
	return OfChannel(c)
}

func (channels) Candidates(snap *guildcache.Snapshot, parentID string) (all []Resource) {
	for _, c := range snap.Channels() {
		if c.ParentID == parentID {
			all = append(all, c)
		}
	}
	return all
}

func (c channels) Siblings(snap *guildcache.Snapshot, of Resource) []order.Sibling {
	live := Channel(of)
	return c.Places(snap, live.ParentID, live.Type)
}

// Discord shows voice and stage channels below all others, so Places never mixes the two groups.
func (c channels) Places(
	snap *guildcache.Snapshot, parentID string, of discordgo.ChannelType,
) (all []order.Sibling) {
	list := snap.Categories
	if !c.Categories {
		list = func() []*discordclient.Channel { return snap.Children(parentID) }
	}
	for _, c := range list() {
		if discordclient.IsVoiceLike(c.Type) == discordclient.IsVoiceLike(of) {
			all = append(all, order.Sibling{ID: c.ID, Position: c.Position, Unknown: c.PositionUnknown})
		}
	}
	return all
}

func (channels) Ranks(_ *guildcache.Snapshot, ranks order.Ranks) order.Ranks { return ranks }

func (channels) Mismatch(live Resource, _ string, types []discordgo.ChannelType) *conditions.Issue {
	c := Channel(live)
	if slices.Contains(types, c.Type) {
		return nil
	}
	return conditions.Degraded(v1alpha1.ReasonAdoptMismatch,
		"Channel %s on Discord has the type %s, but this object has the type %s. Create a new object with "+
			"the channel's type, or with another id in spec.adopt.",
		c.ID, c.TypeName(), (&discordclient.Channel{Type: types[0]}).TypeName())
}

func (channels) NotFound(id string) *conditions.Issue {
	return conditions.Degraded(v1alpha1.ReasonAdoptNotFound, "The server has no channel or category "+
		"with the id %s of spec.adopt, or the bot cannot see it. If the id is right, give the bot ViewChannel in that "+
		"channel or category; otherwise create a new object with the right id.", id)
}

func (channels) Get(ctx context.Context, api *guildcache.Client, _, id string) error {
	_, err := api.GetChannel(ctx, id)
	return err
}

func (channels) Hidden(err error) bool { return discordclient.IsHidden(err) }

func (channels) List(ctx context.Context, api *guildcache.Client, guildID string) error {
	_, err := api.ListChannels(ctx, guildID)
	return err
}

func (channels) ListedAt(snap *guildcache.Snapshot) time.Time { return snap.CompleteAt }

func (channels) Recover(
	ctx context.Context, api *guildcache.Client, intent recovery.Intent,
) (recovery.Result, error) {
	return recovery.Channel(ctx, api, intent)
}

// Move ignores the reason, because Discord accepts none for this call.
func (channels) Move(
	ctx context.Context, api *guildcache.Client, guildID string, moves []discordclient.Move, _ string,
) error {
	return api.MoveChannels(ctx, guildID, moves)
}

func (channels) Delete(ctx context.Context, api *guildcache.Client, _, id, reason string) error {
	return api.DeleteChannel(ctx, id, reason)
}

// ChannelEdit changes fields of a channel or category.
type ChannelEdit struct{ discordclient.ChannelEdit }

// Send implements Edit.
func (e ChannelEdit) Send(ctx context.Context, api *guildcache.Client, _, id, reason string) (Resource, error) {
	c, err := api.EditChannel(ctx, id, e.ChannelEdit, reason)
	return OfChannel(c), err
}

// Without implements Edit.
func (e ChannelEdit) Without(wires ...string) Edit {
	return ChannelEdit{e.ChannelEdit.Without(wires...)}
}

// EditOfChannel returns the edit of a channel; zero if e is another kind of edit.
func EditOfChannel(e Edit) discordclient.ChannelEdit {
	typed, _ := e.(ChannelEdit)
	return typed.ChannelEdit
}

// ChannelCreate creates a channel or category.
type ChannelCreate struct {
	discordclient.ChannelCreate
	Edit func(asked discordclient.ChannelEdit, made *discordclient.Channel, stored StoredForms) (
		discordclient.ChannelEdit, []string) `json:"-"`
	Asked discordclient.ChannelEdit `json:"-"` // the edit that sets the same fields
}

// NewChannelCreate returns a create with all fields that a create accepts, so that a private
// channel is never public. blank is an empty channel of the right type, which want must use as the
// live channel.
func NewChannelCreate[S any](
	fields Table[S, discordclient.Channel, discordclient.ChannelEdit], want S, blank *discordclient.Channel,
	name string, overwrites []discordclient.Overwrite,
) (*ChannelCreate, []Change) {
	asked, d := fields.Differ(want, blank, nil)
	in := &ChannelCreate{ChannelCreate: asked.Create(), Asked: asked, Edit: fields.Remaining}
	in.Name, in.Type, in.Overwrites = name, blank.Type, overwrites
	return in, d.Changes
}

// CheckLimits implements Create.
func (*ChannelCreate) CheckLimits(ctx context.Context, api *guildcache.Client, guildID string) error {
	return api.MayCreateChannel(ctx, guildID)
}

// Answered implements Create. It returns only texts, which Discord may store in another form.
func (*ChannelCreate) Answered(made Resource, _ []string) (fields []string, before any) {
	fields = []string{"name"}
	if Channel(made).Topic != "" {
		fields = append(fields, "topic")
	}
	return fields, discordclient.Channel{}
}

// Remaining implements Create. If the create had no overwrites, and the channel gives more access
// than its category, Remaining adds the category's overwrites.
func (c *ChannelCreate) Remaining(
	snap *guildcache.Snapshot, made Resource, stored StoredForms, inherits Inheritance,
) (Edit, []string) {
	live, want := Channel(made), c.Overwrites
	if category, ok := snap.Channel(c.ParentID); want == nil && ok &&
		overwrites.Exposes(live.Overwrites, category.Overwrites) {
		want = category.Overwrites
		inherits.Inherit()
	}
	asked := c.Asked
	if asked.Overwrites = (discordclient.Change[[]discordclient.Overwrite]{}); want != nil {
		asked.Overwrites = discordclient.Set(want)
	}
	edit, fields := c.Edit(asked, live, stored)
	return ChannelEdit{edit}, fields
}

// Send implements Create. If the create has no overwrites, Send adds the category's, because
// without them some compatible APIs create a public channel. If Discord refuses the category's
// overwrites, Send repeats the create without them, and Discord copies them from the category.
func (c *ChannelCreate) Send(
	ctx context.Context, api *guildcache.Client, guildID, reason string, inherits Inheritance,
) (Resource, error) {
	in := c.ChannelCreate
	if in.Overwrites == nil && in.ParentID != "" && !inherits.Refused() {
		inherited, err := inherited(ctx, api, guildID, in.ParentID)
		if err != nil {
			return nil, err
		}
		with := in
		with.Overwrites = inherited
		made, err := api.CreateChannel(ctx, guildID, with, reason)
		if inherited == nil || !refusesOverwrites(err) {
			return OfChannel(made), err
		}
		inherits.Refuse()
	}
	made, err := api.CreateChannel(ctx, guildID, in, reason)
	return OfChannel(made), err
}

// inherited reads the category of a polled guild from Discord, because the cache may be outdated.
func inherited(
	ctx context.Context, api *guildcache.Client, guildID, categoryID string,
) ([]discordclient.Overwrite, error) {
	snap := api.Guild(guildID).Snapshot()
	category, ok := snap.Channel(categoryID)
	if !ok {
		return nil, nil
	}
	if snap.Mode != guildcache.ModeLive {
		var err error
		if category, err = api.GetChannel(ctx, categoryID); err != nil {
			return nil, err
		}
	}
	return overwrites.Inherited(category, snap), nil
}

func refusesOverwrites(err error) bool {
	refused, ok := errors.AsType[*discordclient.Error](err)
	if !ok {
		return false
	}
	switch refused.Code {
	case discordgo.ErrCodeUnknownOverwrite, discordgo.ErrCodeUnknownRole, discordgo.ErrCodeUnknownUser,
		discordgo.ErrCodeUnknownMember:
		return true
	}
	return slices.ContainsFunc(refused.Fields, func(f discordclient.Field) bool {
		return strings.HasPrefix(f.Path, "permission_overwrites")
	})
}
