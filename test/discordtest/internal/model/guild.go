// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"maps"
	"slices"
)

// Guild is a Discord server with its settings and roles, and in a snapshot with all its contents.
type Guild struct {
	ID, Name, OwnerID                                                                            string
	Description, Icon, Splash, Banner                                                            string // hashes of images
	Features                                                                                     []string
	VerificationLevel, DefaultNotifications, ExplicitContentFilter, MFALevel                     int
	AFKTimeout, SystemChannelFlags                                                               int
	PremiumTier                                                                                  int      // boost level
	Emojis                                                                                       []string // emoji ids
	AFKChannelID, SystemChannelID, RulesChannelID, PublicUpdatesChannelID, SafetyAlertsChannelID string
	WidgetChannelID                                                                              string
	OnboardingChannelIDs                                                                         []string
	PreferredLocale                                                                              string
	Roles                                                                                        []Role

	// Only in snapshots. Channels are in the app's order, webhooks and messages oldest first.
	Channels []Channel            `json:"-"`
	Webhooks []Webhook            `json:"-"`
	Messages map[string][]Message `json:"-"` // the keys are ids of channels
	Audit    []AuditEntry         `json:"-"` // includes lost entries and entries that clients cannot see yet
	Members  map[string]Member    `json:"-"`
}

// GuildState is the current state of a guild. Its fields hide the snapshot fields of Guild.
type GuildState struct {
	Guild
	Channels    map[string]*Channel
	Webhooks    map[string]*Webhook
	Messages    map[string][]*Message // the keys are ids of channels
	Members     map[string]*Member
	Audit       []AuditEntry
	Unavailable bool // during an outage
	// OverwritesInOrder applies overwrites in the sent order, not in Discord's.
	OverwritesInOrder bool

	// The state before the last write, for stale reads, by object id (weakness.go).
	channelLags  map[string]lag[Channel]
	webhookLags  map[string]lag[Webhook]
	settingsLags map[string]lag[Guild]
}

// Role returns a pointer to the role in g.Roles, or nil.
func (g *GuildState) Role(id string) *Role {
	i := slices.IndexFunc(g.Roles, func(r Role) bool { return r.ID == id })
	if i < 0 {
		return nil
	}
	return &g.Roles[i]
}

func (g *GuildState) sorted() []*Channel { return byAge(g.Channels) }

func byAge(channels map[string]*Channel) []*Channel {
	return slices.SortedFunc(maps.Values(channels), func(a, b *Channel) int { return CompareIDs(a.ID, b.ID) })
}

// SortedWebhooks returns the webhooks, oldest first.
func (g *GuildState) SortedWebhooks() []*Webhook { return webhooksByAge(g.Webhooks) }

func webhooksByAge(webhooks map[string]*Webhook) []*Webhook {
	return slices.SortedFunc(maps.Values(webhooks), func(a, b *Webhook) int { return CompareIDs(a.ID, b.ID) })
}

// ListChannels returns a bot's visible channels, oldest first. If stale, it ignores recent writes.
func (d *Discord) ListChannels(g *GuildState, user string, stale bool) []*Channel {
	all := byAge(reads(d, g.channelLags, g.Channels, stale))
	return slices.DeleteFunc(all, func(c *Channel) bool { return d.Hides(g, c, user) })
}

// ListWebhooks returns the webhooks, oldest first. If stale, it ignores recent writes.
func (d *Discord) ListWebhooks(g *GuildState, stale bool) []*Webhook {
	return webhooksByAge(reads(d, g.webhookLags, g.Webhooks, stale))
}

// Children returns the channels of a category, oldest first. For "", it returns the categories and
// the channels without a category.
func (g *GuildState) Children(category string) []*Channel {
	return slices.DeleteFunc(g.sorted(), func(c *Channel) bool { return c.ParentID != category })
}

// Displayed returns the channels in the app's order. Channels without a category come first.
// Channels of one category are ordered by type (text-like first), then by position, then by age.
func (g *GuildState) Displayed() []*Channel {
	order := func(a, b *Channel) int {
		rank := cmp.Compare(displayRank(a), displayRank(b))
		return cmp.Or(rank, cmp.Compare(a.Position, b.Position), CompareIDs(a.ID, b.ID))
	}
	var out []*Channel
	top := g.Children("")
	slices.SortFunc(top, order)
	for _, c := range top {
		out = append(out, c)
		if c.Type == TypeCategory {
			in := g.Children(c.ID)
			slices.SortFunc(in, order)
			out = append(out, in...)
		}
	}
	return out
}

func displayRank(c *Channel) int {
	switch {
	case TextLike(c.Type):
		return 0
	case c.Type == TypeCategory:
		return 2
	}
	return 1
}

// Snapshot returns a copy of the guild with all its contents.
func (g *GuildState) Snapshot() Guild {
	out := g.Guild
	out.Features, out.Roles, out.Audit = slices.Clone(g.Features), slices.Clone(g.Roles), slices.Clone(g.Audit)
	out.Emojis = slices.Clone(g.Emojis)
	out.Messages, out.Members = map[string][]Message{}, map[string]Member{}
	for _, c := range g.Displayed() {
		out.Channels = append(out.Channels, c.Clone())
	}
	for _, w := range g.SortedWebhooks() {
		out.Webhooks = append(out.Webhooks, *w)
	}
	for id, all := range g.Messages {
		for _, m := range all {
			out.Messages[id] = append(out.Messages[id], *m)
		}
	}
	for id, m := range g.Members {
		c := *m
		c.Roles = slices.Clone(m.Roles)
		out.Members[id] = c
	}
	return out
}

// Wire returns the guild in the JSON of GET /guilds/{guild_id}.
func (g *GuildState) Wire() map[string]any {
	roles := []any{}
	for i := range g.Roles {
		roles = append(roles, g.Roles[i].Wire())
	}
	emojis := []any{}
	for _, id := range g.Emojis {
		emojis = append(emojis, map[string]any{
			"id": id, "name": "emoji", "roles": []any{}, "require_colons": true, "managed": false, "animated": false,
			"available": true,
		})
	}
	return map[string]any{
		"id": g.ID, "name": g.Name, "owner_id": g.OwnerID, "application_id": nil, "region": "deprecated",
		"icon": OrNull(g.Icon), "splash": OrNull(g.Splash), "banner": OrNull(g.Banner), "description": OrNull(g.Description),
		"home_header": nil, "discovery_splash": nil, "features": append([]string{}, g.Features...),
		"afk_channel_id": OrNull(g.AFKChannelID), "afk_timeout": g.AFKTimeout,
		"system_channel_id": OrNull(g.SystemChannelID), "system_channel_flags": g.SystemChannelFlags,
		"widget_enabled": false, "widget_channel_id": OrNull(g.WidgetChannelID),
		"verification_level": g.VerificationLevel, "default_message_notifications": g.DefaultNotifications,
		"explicit_content_filter": g.ExplicitContentFilter, "mfa_level": g.MFALevel, "roles": roles,
		"max_presences": nil, "max_members": 25000000, "max_stage_video_channel_users": 50, "max_video_channel_users": 25,
		"vanity_url_code": nil, "premium_tier": g.PremiumTier, "premium_subscription_count": 0,
		"preferred_locale": g.PreferredLocale,
		"rules_channel_id": OrNull(g.RulesChannelID), "safety_alerts_channel_id": OrNull(g.SafetyAlertsChannelID),
		"public_updates_channel_id": OrNull(g.PublicUpdatesChannelID), "premium_progress_bar_enabled": false,
		"nsfw": false, "nsfw_level": 0, "emojis": emojis, "stickers": []any{}, "incidents_data": nil,
	}
}

// Stub returns the JSON of an unavailable guild: only id and unavailable.
func (g *GuildState) Stub() map[string]any { return map[string]any{"id": g.ID, "unavailable": true} }

// GuildCreate returns the data of GUILD_CREATE. The channels lack guild_id, as often on Discord.
func (d *Discord) GuildCreate(g *GuildState, to *BotState) map[string]any {
	w := g.Wire()
	channels, members := []any{}, []any{}
	for _, c := range g.sorted() {
		cw := c.Wire()
		if d.Hides(g, c, to.UserID) {
			cw = c.Obfuscated()
		}
		delete(cw, "guild_id")
		channels = append(channels, cw)
	}
	if m := g.Members[to.UserID]; m != nil {
		members = append(members, m.Wire(d.Users[m.UserID]))
		w["joined_at"] = m.JoinedAt.UTC().Format(TimeLayout)
	}
	for _, key := range []string{"threads", "presences", "voice_states", "stage_instances", "guild_scheduled_events",
		"soundboard_sounds"} {
		w[key] = []any{}
	}
	w["channels"], w["members"] = channels, members
	w["large"], w["unavailable"], w["member_count"] = false, false, len(g.Members)
	return w
}

// Feature reports whether the guild has a feature.
func (g *GuildState) Feature(name string) bool { return slices.Contains(g.Features, name) }
