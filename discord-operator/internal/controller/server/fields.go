// SPDX-License-Identifier: Apache-2.0

package server

import (
	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
)

type desired struct {
	v1alpha1.DiscordServerSpec
	live     *discordclient.Guild
	icon     *string           // the hash of the image; nil if it cannot be set
	channels map[string]string // existing channels: ids by the fields that refer to them
}

// guild adds the hash of the image that its icon shows.
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

var fields = resource.Table[desired, guild, edit]{
	row("name", "", func(d desired) *string { return notEmpty(d.Name) }),
	row("description", "", func(d desired) *string { return d.Description }),
	row("verificationLevel", "verification_level", desired.level).Format(resource.VerificationLevels.Word),
	row("defaultNotifications", "default_message_notifications",
		func(d desired) *int { return resource.DefaultNotifications.Number(d.DefaultNotifications) }).
		Format(resource.DefaultNotifications.Word),
	row("explicitContentFilter", "explicit_content_filter", desired.filter).Format(resource.ExplicitContentFilters.Word),
	row("preferredLocale", "preferred_locale", func(d desired) *string { return notEmpty(d.PreferredLocale) }),
	row("afkChannelId", "afk_channel_id", func(d desired) *string { return d.AFKChannelID }).Format(resource.ChannelName),
	row("afkTimeout", "afk_timeout", func(d desired) *int { return resource.AFKTimeouts.Number(d.AFKTimeout) }).
		Format(resource.AFKTimeouts.Word),
	row("systemChannelFlags", "system_channel_flags", desired.systemFlags).Format(resource.SystemChannelFlags.List),

	channel("afkChannelRef", "afk_channel_id"),
	channel("systemChannelRef", "system_channel_id"),
	channel("rulesChannelRef", "rules_channel_id"),
	channel("publicUpdatesChannelRef", "public_updates_channel_id"),

	resource.NewFieldAt(communityField, desired.community,
		func(g *guild, e *edit) (v1alpha1.Community, *discordclient.Change[v1alpha1.Community]) {
			return communityOf(&g.Guild), &e.community
		}).Format(resource.Plain[v1alpha1.Community]),
	resource.NewFieldAt(iconField, func(d desired) *string { return d.icon },
		func(g *guild, e *edit) (string, *discordclient.Change[string]) { return g.icon, &e.icon }).
		Format(resource.Plain[string]),
}

func channel(name, wire string) resource.Field[desired, guild, edit] {
	return row(name, wire, func(d desired) *string {
		if id, exists := d.channels[name]; exists {
			return &id
		}
		return nil
	}).Format(resource.ChannelName)
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

// community is nil until both of its channels exist.
func (d desired) community() *v1alpha1.Community {
	_, rules := d.channels["rulesChannelRef"]
	_, updates := d.channels["publicUpdatesChannelRef"]
	if d.Community == "" || !rules || !updates {
		return nil
	}
	return &d.Community
}

// differences also returns the issue of a missing channel.
func differences(
	server *v1alpha1.DiscordServer, s State, icon *string,
) (e edit, d resource.Differences, waiting *conditions.Issue) {
	live := guild{s.Snapshot.Guild, imageOf(server.Status.Icon, s.Snapshot.Guild.Icon)}
	want := desired{server.Spec, &live.Guild, icon, map[string]string{}}
	for _, ref := range references(&server.Spec) {
		id, missing := s.referenced(ref)
		if missing != nil {
			waiting = missing
			continue
		}
		want.channels[ref.field] = id
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
