// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"errors"
	"slices"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/discord-operator/internal/discord/tags"
	"jutsu.com/operators/libs/discordclient"
)

// SpecOf exports a live channel without parents, overwrites, position and webhook.
func SpecOf(live *discordclient.Channel) (v1alpha1.DiscordChannelSpec, []resource.Omission) {
	var d desired
	omitted := fields.Fill(&d, live)
	d.Type = TypeOf(live.Type)
	switch {
	case isVoice(live):
		d.Voice = &d.voice
	case isForum(live):
		d.Forum = &d.forum
	}
	return d.DiscordChannelSpec, omitted
}

func fillName(d *desired, live *channel) error {
	d.Name = live.Name
	return nil
}

func fillTags(d *desired, live *channel) error {
	d.forum.Tags = tags.ToSpec(live.Tags)
	return nil
}

func fillRequireTag(d *desired, live *channel) error {
	required := live.Flags&discordclient.FlagRequireTag != 0
	open := func(t discordclient.Tag) bool { return !t.Moderated }
	if required && !slices.ContainsFunc(live.Tags, open) {
		return errors.New("requireTag needs a tag that is not moderated, and the channel has no such tag")
	}
	d.forum.RequireTag = &required
	return nil
}

func fillReaction(d *desired, live *channel) error {
	d.forum.DefaultReaction = new(v1alpha1.Emoji)
	if live.DefaultReaction != nil {
		*d.forum.DefaultReaction = v1alpha1.Emoji(live.DefaultReaction.String())
	}
	return nil
}

func fillSortOrder(d *desired, live *channel) (err error) {
	order := resource.NoSortOrder
	if live.SortOrder != nil {
		order = *live.SortOrder
	}
	d.forum.SortOrder, err = resource.SortOrders.Of(order)
	return err
}
