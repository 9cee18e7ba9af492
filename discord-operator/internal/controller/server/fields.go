// SPDX-License-Identifier: Apache-2.0

package server

import (
	"slices"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
)

type desired struct {
	v1alpha1.DiscordServerSpec
	live     *discordclient.Guild
	icon     *string           // the hash of the image; nil if the image cannot be set
	channels map[string]string // ids of existing channels; the keys are the fields that refer to them
	objects  map[string]string // for SpecOf: names of DiscordChannels; the keys are ids of channels
}

type guild struct {
	discordclient.Guild
	icon string
}

type edit struct {
	discordclient.GuildEdit
	icon      discordclient.Change[string]
	community discordclient.Change[v1alpha1.Community]
}

func row[T any](name, wire string, want func(desired) *T) resource.Field[desired, guild, edit] {
	return resource.NewField[desired, guild, edit](name, wire, want)
}

func member[M, T any](
	name, wire string, at func(*desired) *M, as resource.Form[M, T],
) resource.Field[desired, guild, edit] {
	return resource.NewMember[desired, guild, edit](name, wire, at, as)
}

type table = resource.Table[desired, guild, edit]

var fields = slices.Concat(settings, channelFields(), table{
	resource.NewFieldAt(communityField, desired.community,
		func(g *guild, e *edit) (v1alpha1.Community, *discordclient.Change[v1alpha1.Community]) {
			return communityOf(&g.Guild), &e.community
		}).Format(resource.Plain[v1alpha1.Community]).Filled(fillCommunity),
	resource.NewFieldAt(iconField, func(d desired) *string { return d.icon },
		func(g *guild, e *edit) (string, *discordclient.Change[string]) { return g.icon, &e.icon }).
		Format(resource.Plain[string]),
})

var settings = table{
	member("name", "", func(d *desired) *string { return &d.Name }, resource.Word()),
	member("description", "", func(d *desired) **string { return &d.Description }, resource.Same[string]()),
	row("verificationLevel", "verification_level", desired.level).Format(resource.VerificationLevels.Word).
		Filled(fillLevel),
	member("defaultNotifications", "default_message_notifications",
		func(d *desired) *v1alpha1.DefaultNotifications { return &d.DefaultNotifications },
		resource.DefaultNotifications.Form()),
	row("explicitContentFilter", "explicit_content_filter", desired.filter).Format(resource.ExplicitContentFilters.Word).
		Filled(fillFilter),
	member("preferredLocale", "preferred_locale", func(d *desired) *string { return &d.PreferredLocale }, resource.Word()),
	row("afkChannelId", "afk_channel_id", func(d desired) *string { return d.AFKChannelID }).Format(resource.ChannelName).
		Filled(fillNoAFKChannel),
	member("afkTimeout", "afk_timeout", func(d *desired) *v1alpha1.AFKTimeout { return &d.AFKTimeout },
		resource.AFKTimeouts.Form()),
	row("systemChannelFlags", "system_channel_flags", desired.systemFlags).Format(resource.SystemChannelFlags.List).
		Filled(fillSystemFlags),
}

func channelFields() (all table) {
	for _, f := range references {
		live := resource.Member[guild, string](f.wire)
		all = append(all, row(f.name, f.wire, func(d desired) *string {
			if id, exists := d.channels[f.name]; exists {
				return &id
			}
			return nil
		}).Format(resource.ChannelName).Filled(func(d *desired, g *guild) error {
			return d.refer(f.in(&d.DiscordServerSpec), *live(g))
		}))
	}
	return all
}

func (d desired) level() *int {
	level := resource.VerificationLevels.Number(d.VerificationLevel)
	low := resource.VerificationLevels.Number(v1alpha1.VerificationLevelLow)
	if level == nil && d.Community != "" && d.live.VerificationLevel < *low {
		return low
	}
	return level
}

func (d desired) filter() *int {
	if d.ExplicitContentFilter == "" && d.Community != "" {
		return resource.ExplicitContentFilters.Number(v1alpha1.ExplicitContentFilterAllMembers)
	}
	return resource.ExplicitContentFilters.Number(d.ExplicitContentFilter)
}

func (d desired) systemFlags() *int {
	if d.SystemChannelFlags == nil {
		return nil
	}
	return new(resource.SystemChannelFlags.Bits(d.SystemChannelFlags, d.live.SystemChannelFlags))
}

// community returns nil if the rules channel or the updates channel is missing, because a community
// server requires both channels.
func (d desired) community() *v1alpha1.Community {
	_, rules := d.channels["rulesChannelRef"]
	_, updates := d.channels["publicUpdatesChannelRef"]
	if d.Community == "" || !rules || !updates {
		return nil
	}
	return &d.Community
}

// waiting is an issue if the spec names a channel that does not exist yet, or that is being deleted.
func differences(
	server *v1alpha1.DiscordServer, s State, icon *string,
) (e edit, d resource.Differences, waiting *conditions.Issue) {
	live := guild{s.Snapshot.Guild, imageOf(server.Status.Icon, s.Snapshot.Guild.Icon)}
	want := desired{DiscordServerSpec: server.Spec, live: &live.Guild, icon: icon, channels: map[string]string{}}
	for _, ref := range references {
		to := *ref.in(&server.Spec)
		if to == nil {
			continue
		}
		id, missing := s.referenced(ref.name, to.Name)
		if missing != nil {
			waiting = missing
			continue
		}
		want.channels[ref.name] = id
	}
	e, d = fields.Differ(want, &live, s.Stored)
	if !e.community.IsZero() {
		e.Features = discordclient.Set(live.WithCommunity())
		e.RulesChannelID = discordclient.Set(want.channels["rulesChannelRef"])
		e.PublicUpdatesChannelID = discordclient.Set(want.channels["publicUpdatesChannelRef"])
	}
	keepCommunity(&live.Guild, &e.GuildEdit)
	return e, d, waiting
}
