// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/permissions"
)

// Presence describes the bot's membership of a guild.
type Presence string

// PresenceAbsent: the bot is no member, or the guild does not exist. PresenceUnavailable: an outage
// of Discord hides the guild, and the view keeps its last state.
const (
	PresenceUnknown     Presence = ""
	PresencePresent     Presence = "present"
	PresenceAbsent      Presence = "absent"
	PresenceUnavailable Presence = "unavailable"
)

// Mode describes how a view gets its state.
type Mode string

// A live view follows the Gateway's events. A polled view shows the guild as it was at [View.AsOf].
const (
	ModeNone   Mode = ""
	ModeLive   Mode = "live"
	ModePolled Mode = "polled"
)

// View is the live view of one guild, safe for concurrent use. It never waits for Discord.
type View struct {
	store   *Store
	id      string
	current atomic.Pointer[Snapshot]
}

// Snapshot returns the current state. Later changes of the view do not change this Snapshot.
func (v *View) Snapshot() *Snapshot { return v.current.Load() }

// Deleted reports whether an event, or a delete by this bot, has removed this channel or role. It
// forgets the removal after a list of channels that was requested more than 5 s later. A channel
// that a list lacks does not count as deleted, because it may only be hidden.
func (v *View) Deleted(id string) bool {
	v.store.mu.Lock()
	defer v.store.mu.Unlock()
	g := v.store.guilds[v.id]
	if g == nil {
		return false
	}
	_, deleted := g.tombstones[id]
	return deleted
}

// AsOf returns the time up to which the view has all changes: the Gateway's last frame, an earlier
// time for a stale view, or the last poll of a polled view (zero before the first).
func (v *View) AsOf() time.Time {
	s := v.Snapshot()
	if s.Mode != ModeLive {
		return s.AsOf
	}
	alive := time.Unix(0, v.store.alive.Load())
	if !s.staleSince.IsZero() && s.staleSince.Before(alive) {
		return s.staleSince
	}
	return alive
}

// Snapshot is an immutable state of a guild. Do not change the values that its methods return.
type Snapshot struct {
	Presence Presence
	Mode     Mode
	AsOf     time.Time // of a polled view, the time of the poll; see [View.AsOf]
	// CompleteAt is when the channel list was requested. A channel that was created before and is
	// not in the list is gone or hidden.
	CompleteAt time.Time
	// RolesAt is when the role list was requested. A role that was created before and is not in the
	// list is deleted.
	RolesAt    time.Time
	Guild      discordclient.Guild
	staleSince time.Time                // start of staleness; zero for none
	channels   []*discordclient.Channel // all channels, hidden or not, ordered by id
	visible    []*discordclient.Channel // the channels that are not hidden, ordered by id
	selfID     string
	selfRoles  []string // the bot's roles in this guild
	selfKnown  bool
	selfAt     time.Time           // when selfRoles were requested; zero if the Gateway sent them
	hooks      map[string]hookList // keyed by channel id; a channel without an entry has unknown webhooks
}

// SelfID returns the bot's user id; empty until the Gateway connects or CurrentUser was called.
func (s *Snapshot) SelfID() string { return s.selfID }

// Channels returns all visible channels and categories, ordered by id.
func (s *Snapshot) Channels() []*discordclient.Channel { return s.visible }

// All returns the visible and the hidden channels. Hidden channels have only id, type and position.
func (s *Snapshot) All() []*discordclient.Channel { return s.channels }

// Channel returns a visible channel or category.
func (s *Snapshot) Channel(id string) (*discordclient.Channel, bool) {
	i, ok := s.find(id)
	if !ok || s.channels[i].Hidden {
		return nil, false
	}
	return s.channels[i], true
}

// Hidden reports whether a channel or category exists but the bot may not view it.
func (s *Snapshot) Hidden(id string) bool {
	i, ok := s.find(id)
	return ok && s.channels[i].Hidden
}

func (s *Snapshot) hidden() []*discordclient.Channel {
	return slices.DeleteFunc(slices.Clone(s.channels), func(c *discordclient.Channel) bool { return !c.Hidden })
}

func (s *Snapshot) setChannels(all []*discordclient.Channel) {
	s.channels, s.visible = all, all
	if slices.ContainsFunc(all, func(c *discordclient.Channel) bool { return c.Hidden }) {
		s.visible = slices.DeleteFunc(slices.Clone(all), func(c *discordclient.Channel) bool { return c.Hidden })
	}
}

func (s *Snapshot) find(id string) (int, bool) {
	return slices.BinarySearchFunc(s.channels, id, func(c *discordclient.Channel, id string) int {
		return discordclient.CompareIDs(c.ID, id)
	})
}

func (s *Snapshot) withPosition(channel *discordclient.Channel) *discordclient.Channel {
	if i, found := s.find(channel.ID); found {
		return withPosition(channel, s.channels[i])
	}
	return channel
}

func withPosition(channel, known *discordclient.Channel) *discordclient.Channel {
	if !channel.PositionUnknown || known.PositionUnknown {
		return channel
	}
	c := *channel
	c.Position, c.PositionUnknown = known.Position, false
	return &c
}

// With returns a copy with these channels and roles added or replaced, to plan a change.
func (s *Snapshot) With(channels []*discordclient.Channel, roles []discordclient.Role) *Snapshot {
	with := *s
	all := slices.DeleteFunc(slices.Clone(s.channels), func(c *discordclient.Channel) bool {
		return slices.ContainsFunc(channels, func(added *discordclient.Channel) bool { return added.ID == c.ID })
	})
	all = append(all, channels...)
	slices.SortFunc(all, func(a, b *discordclient.Channel) int { return discordclient.CompareIDs(a.ID, b.ID) })
	with.setChannels(all)
	with.Guild.Roles = slices.DeleteFunc(slices.Clone(s.Guild.Roles), func(r discordclient.Role) bool {
		return slices.ContainsFunc(roles, func(added discordclient.Role) bool { return added.ID == r.ID })
	})
	with.Guild.Roles = append(with.Guild.Roles, roles...)
	slices.SortFunc(with.Guild.Roles, func(a, b discordclient.Role) int { return discordclient.CompareIDs(a.ID, b.ID) })
	return &with
}

// Without returns a copy without these channels and roles, and without the roles' overwrites.
func (s *Snapshot) Without(ids ...string) *Snapshot {
	without := *s
	gone := func(o discordclient.Overwrite) bool { return slices.Contains(ids, o.ID) }
	var rest []*discordclient.Channel
	for _, c := range s.channels {
		switch {
		case slices.Contains(ids, c.ID):
			continue
		case slices.ContainsFunc(c.Overwrites, gone):
			stripped := *c
			stripped.Overwrites = slices.DeleteFunc(slices.Clone(c.Overwrites), gone)
			c = &stripped
		}
		rest = append(rest, c)
	}
	without.setChannels(rest)
	without.Guild.Roles = slices.DeleteFunc(slices.Clone(s.Guild.Roles), func(r discordclient.Role) bool {
		return slices.Contains(ids, r.ID)
	})
	return &without
}

// Children returns the visible channels of a category, in display order. For "", it returns the
// visible channels that are in no category.
func (s *Snapshot) Children(parentID string) []*discordclient.Channel {
	return s.inDisplayOrder(func(c *discordclient.Channel) bool {
		return c.ParentID == parentID && c.Type != discordgo.ChannelTypeGuildCategory
	})
}

// Categories returns the categories in display order.
func (s *Snapshot) Categories() []*discordclient.Channel {
	return s.inDisplayOrder(func(c *discordclient.Channel) bool { return c.Type == discordgo.ChannelTypeGuildCategory })
}

func (s *Snapshot) inDisplayOrder(selects func(*discordclient.Channel) bool) (list []*discordclient.Channel) {
	for _, c := range s.visible {
		if selects(c) {
			list = append(list, c)
		}
	}
	discordclient.SortChannels(list)
	return list
}

// Role returns the role with this id, if the guild has it.
func (s *Snapshot) Role(id string) (discordclient.Role, bool) {
	i, ok := slices.BinarySearchFunc(s.Guild.Roles, id, func(r discordclient.Role, id string) int {
		return discordclient.CompareIDs(r.ID, id)
	})
	if !ok {
		return discordclient.Role{}, false
	}
	return s.Guild.Roles[i], true
}

// RolesNamed returns the roles with a name. Several roles may have the same name.
func (s *Snapshot) RolesNamed(name string) []discordclient.Role {
	var roles []discordclient.Role
	for _, r := range s.Guild.Roles {
		if r.Name == name {
			roles = append(roles, r)
		}
	}
	return roles
}

// BotRole returns the bot's highest role. exact is false if the bot's roles are unknown or may be
// outdated. If the bot owns the guild, BotRole returns an empty role and false.
func (s *Snapshot) BotRole() (highest discordclient.Role, exact bool) {
	if s.selfID == s.Guild.OwnerID {
		return highest, false
	}
	for _, r := range s.RankedRoles() {
		if r.ID == s.Guild.ID || slices.Contains(s.selfRoles, r.ID) {
			highest = r
		}
	}
	return highest, s.selfFollowed()
}

// BelowBot reports whether a role is below the bot's highest role. It also returns true if either
// role is uncertain, or if the bot owns the guild.
func (s *Snapshot) BelowBot(roleID string) bool {
	highest, exact := s.BotRole()
	role, known := s.Role(roleID)
	return !exact || !known || discordclient.CompareRoles(role, highest) < 0
}

// RankedRoles returns the roles by rank, lowest (@everyone) first.
func (s *Snapshot) RankedRoles() []discordclient.Role {
	roles := slices.Clone(s.Guild.Roles)
	discordclient.SortRoles(roles)
	return roles
}

type hookList struct {
	hooks  []discordclient.Webhook
	listed time.Time
}

// Webhooks returns a channel's known webhooks. known is false if they must be listed first.
func (s *Snapshot) Webhooks(channelID string) (hooks []discordclient.Webhook, known bool) {
	list, known := s.hooks[channelID]
	return list.hooks, known
}

// WebhooksListed returns the time of the last request for a channel's webhooks; zero if unknown.
func (s *Snapshot) WebhooksListed(channelID string) time.Time { return s.hooks[channelID].listed }

// BotPermissions returns the bot's permissions in the guild, before overwrites. exact is false if
// the bot's roles are unknown or may be outdated.
func (s *Snapshot) BotPermissions() (bits permissions.Bits, exact bool) {
	return s.Guild.Permissions(s.selfID, s.ownRoles()), s.selfFollowed()
}

func (s *Snapshot) ownRoles() []string {
	roles := s.selfRoles
	if !s.selfKnown && s.selfID != "" {
		for _, r := range s.Guild.Roles {
			if r.Tags.BotID == s.selfID { // Discord gives every bot a role with the bot's id in its tags
				roles = append(slices.Clone(roles), r.ID)
			}
		}
	}
	return roles
}

// Invited returns the permissions of the bot's managed role. A new invitation may replace these
// permissions.
func (s *Snapshot) Invited() (bits permissions.Bits) {
	for _, r := range s.Guild.Roles {
		if r.Managed && slices.Contains(s.selfRoles, r.ID) {
			bits |= r.Permissions
		}
	}
	return bits
}

func (s *Snapshot) selfFollowed() bool {
	return s.selfKnown && (s.Mode == ModeLive || !s.selfAt.IsZero() && !s.selfAt.Before(s.AsOf))
}

// BotPermissionsIn returns the bot's permissions in a channel; for exact see BotPermissions.
func (s *Snapshot) BotPermissionsIn(c *discordclient.Channel) (bits permissions.Bits, exact bool) {
	base, _ := s.BotPermissions()
	return permissions.In(base, s.Guild.ID, s.selfID, s.ownRoles(), c.Overwrites), s.selfFollowed()
}
