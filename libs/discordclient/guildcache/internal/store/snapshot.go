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

// Presence is what is known about the bot's place in a guild.
type Presence string

// A guild is unknown until it was read once; absent when the bot is not a member of it, or it does
// not exist; unavailable while Discord has an outage that hides it (its last known state stays in
// the view).
const (
	PresenceUnknown     Presence = ""
	PresencePresent     Presence = "present"
	PresenceAbsent      Presence = "absent"
	PresenceUnavailable Presence = "unavailable"
)

// Mode is where a view comes from.
type Mode string

// A live view follows the Gateway's events; a polled one was read at [View.AsOf] and is as old as
// that.
const (
	ModeNone   Mode = ""
	ModeLive   Mode = "live"
	ModePolled Mode = "polled"
)

// View is the live view of one guild. It is safe for concurrent use and never blocks.
type View struct {
	store   *Store
	id      string
	current atomic.Pointer[Snapshot]
}

// Snapshot returns the guild as it is known now: one consistent state that never changes under its
// reader.
func (v *View) Snapshot() *Snapshot { return v.current.Load() }

// Deleted reports whether the deletion of a channel or role is known from the Gateway, or from an answer to the
// bot's own call. What is only missing from a list may exist all the same.
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

// AsOf returns when the view was last known to be up to date: for a live view, when something was
// last heard from the Gateway (a heartbeat's answer at the least), or since when it is stale; for a
// polled one, when it was read; the zero time when never.
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

// Snapshot is an immutable state of a guild. Do not change what its methods return.
type Snapshot struct {
	Presence Presence
	Mode     Mode
	AsOf     time.Time // of a polled view: when it was read; see [View.AsOf]
	// CompleteAt is a moment that the last complete list of channels is surely newer than. A
	// channel that was created before it and not seen in it does not exist, or is hidden from the
	// bot.
	CompleteAt time.Time
	// RolesAt is the same for the list of roles, none of which is ever hidden.
	RolesAt    time.Time
	Guild      discordclient.Guild
	staleSince time.Time                // since when a live view may have missed something; zero for never
	channels   []*discordclient.Channel // in the order of their ids, hidden ones too
	visible    []*discordclient.Channel // those of them that the bot may view
	selfID     string
	selfRoles  []string // of the bot in this guild
	selfKnown  bool
	selfAt     time.Time           // when they were asked for; zero where the Gateway has sent them
	hooks      map[string]hookList // by channel; a missing key is not known
}

// SelfID returns the bot's own user id; empty while it is not known, which is until the Gateway is
// connected or the current user was asked for.
func (s *Snapshot) SelfID() string { return s.selfID }

// Channels returns all channels and categories that the bot may view, in the order of their ids.
func (s *Snapshot) Channels() []*discordclient.Channel { return s.visible }

// All returns Channels and those that Discord hides from the bot, as far as the Gateway has reported
// them: of these, only id, type and position are known.
func (s *Snapshot) All() []*discordclient.Channel { return s.channels }

// Channel returns a channel or category by its id, unless it is hidden.
func (s *Snapshot) Channel(id string) (*discordclient.Channel, bool) {
	i, ok := s.find(id)
	if !ok || s.channels[i].Hidden {
		return nil, false
	}
	return s.channels[i], true
}

// Hidden reports whether a channel or category is there and the bot may not view it.
func (s *Snapshot) Hidden(id string) bool {
	i, ok := s.find(id)
	return ok && s.channels[i].Hidden
}

// hidden returns the channels that are there and that the bot may not view.
func (s *Snapshot) hidden() []*discordclient.Channel {
	return slices.DeleteFunc(slices.Clone(s.channels), func(c *discordclient.Channel) bool { return !c.Hidden })
}

// setChannels replaces all channels, hidden ones too.
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

// placed returns a channel with the position that the view has of it, where the server sent none.
func (s *Snapshot) placed(channel *discordclient.Channel) *discordclient.Channel {
	if i, found := s.find(channel.ID); found {
		return placed(channel, s.channels[i])
	}
	return channel
}

func placed(channel, known *discordclient.Channel) *discordclient.Channel {
	if !channel.PositionUnknown || known.PositionUnknown {
		return channel
	}
	c := *channel
	c.Position, c.PositionUnknown = known.Position, false
	return &c
}

// With returns the same state with further channels and roles, for what would be. Those of the same id are
// replaced.
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

// Without returns the same state without some channels and roles, for what would be. The overwrites for such a
// role go with it.
func (s *Snapshot) Without(ids ...string) *Snapshot {
	without := *s
	gone := func(o discordclient.Overwrite) bool { return slices.Contains(ids, o.ID) }
	var left []*discordclient.Channel
	for _, c := range s.channels {
		switch {
		case slices.Contains(ids, c.ID):
			continue
		case slices.ContainsFunc(c.Overwrites, gone):
			stripped := *c
			stripped.Overwrites = slices.DeleteFunc(slices.Clone(c.Overwrites), gone)
			c = &stripped
		}
		left = append(left, c)
	}
	without.setChannels(left)
	without.Guild.Roles = slices.DeleteFunc(slices.Clone(s.Guild.Roles), func(r discordclient.Role) bool {
		return slices.Contains(ids, r.ID)
	})
	return &without
}

// Children returns the channels in a category, in the order that Discord shows them; "" stands for
// those in none, where categories are left out.
func (s *Snapshot) Children(parentID string) []*discordclient.Channel {
	return s.shown(func(c *discordclient.Channel) bool {
		return c.ParentID == parentID && c.Type != discordgo.ChannelTypeGuildCategory
	})
}

// Categories returns the categories in the order that Discord shows them.
func (s *Snapshot) Categories() []*discordclient.Channel {
	return s.shown(func(c *discordclient.Channel) bool { return c.Type == discordgo.ChannelTypeGuildCategory })
}

// shown returns some channels in the order that Discord shows them.
func (s *Snapshot) shown(which func(*discordclient.Channel) bool) (some []*discordclient.Channel) {
	for _, c := range s.visible {
		if which(c) {
			some = append(some, c)
		}
	}
	discordclient.SortChannels(some)
	return some
}

// Role returns a role by its id.
func (s *Snapshot) Role(id string) (discordclient.Role, bool) {
	i, ok := slices.BinarySearchFunc(s.Guild.Roles, id, func(r discordclient.Role, id string) int {
		return discordclient.CompareIDs(r.ID, id)
	})
	if !ok {
		return discordclient.Role{}, false
	}
	return s.Guild.Roles[i], true
}

// RolesNamed returns the roles with a name; Discord allows several.
func (s *Snapshot) RolesNamed(name string) []discordclient.Role {
	var roles []discordclient.Role
	for _, r := range s.Guild.Roles {
		if r.Name == name {
			roles = append(roles, r)
		}
	}
	return roles
}

// BotRole returns the bot's highest role, below which roles are that it can write. exact is as for
// [Snapshot.BotPermissions]; the owner of a guild is above all roles and has none here.
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

// BelowBot reports whether a role is below the bot's highest one, as far as both are known.
func (s *Snapshot) BelowBot(roleID string) bool {
	highest, exact := s.BotRole()
	role, known := s.Role(roleID)
	return !exact || !known || discordclient.CompareRoles(role, highest) < 0
}

// RankedRoles returns the roles as Discord ranks them, @everyone first, which is the lowest.
func (s *Snapshot) RankedRoles() []discordclient.Role {
	roles := slices.Clone(s.Guild.Roles)
	discordclient.SortRoles(roles)
	return roles
}

// hookList is the webhooks of one channel.
type hookList struct {
	hooks  []discordclient.Webhook
	listed time.Time
}

// Webhooks returns the webhooks of a channel as they were last listed or written by this Client.
// known is false when that is not known (never listed, or changed since by another client): then
// list them, which makes them known.
func (s *Snapshot) Webhooks(channelID string) (hooks []discordclient.Webhook, known bool) {
	list, known := s.hooks[channelID]
	return list.hooks, known
}

// WebhooksListed returns a moment that the last list of a channel's webhooks is surely newer than,
// the zero time where they are not known. One that was created before it and not seen in it does
// not exist.
func (s *Snapshot) WebhooksListed(channelID string) time.Time { return s.hooks[channelID].listed }

// BotPermissions returns what the bot may do in the guild, before overwrites. exact is false when
// nothing keeps that up to date: the view is not live, and the bot's roles were not read since it was
// last polled. Then it is the best guess from the roles that are known.
func (s *Snapshot) BotPermissions() (bits permissions.Bits, exact bool) {
	roles := s.selfRoles
	if !s.selfKnown && s.selfID != "" {
		for _, r := range s.Guild.Roles {
			if r.Tags.BotID == s.selfID { // the one that every bot has of its own
				roles = append(slices.Clone(roles), r.ID)
			}
		}
	}
	return s.Guild.Permissions(s.selfID, roles), s.selfFollowed()
}

// selfFollowed reports whether the bot's roles are known, and followed or as new as the view.
func (s *Snapshot) selfFollowed() bool {
	return s.selfKnown && (s.Mode == ModeLive || !s.selfAt.IsZero() && !s.selfAt.Before(s.AsOf))
}

// BotPermissionsIn returns what the bot may do in a channel, and whether that is exact.
func (s *Snapshot) BotPermissionsIn(c *discordclient.Channel) (bits permissions.Bits, exact bool) {
	base, _ := s.BotPermissions()
	return permissions.In(base, s.Guild.ID, s.selfID, s.selfRoles, c.Overwrites), s.selfFollowed()
}
