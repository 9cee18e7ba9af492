package discordtest

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
)

// Guild is a Discord server: its settings, roles and, in snapshots, everything in it.
type Guild struct {
	ID, Name, OwnerID                                                                            string
	Description, Icon, Splash, Banner                                                            string // images: hash
	Features                                                                                     []string
	VerificationLevel, DefaultNotifications, ExplicitContentFilter, MFALevel                     int
	AFKTimeout, SystemChannelFlags                                                               int
	AFKChannelID, SystemChannelID, RulesChannelID, PublicUpdatesChannelID, SafetyAlertsChannelID string
	WidgetChannelID                                                                              string
	PreferredLocale                                                                              string
	Roles                                                                                        []Role

	// Channels in the order in which Discord shows them, Webhooks by age and Messages by age: in snapshots only.
	Channels []Channel            `json:"-"`
	Webhooks []Webhook            `json:"-"`
	Messages map[string][]Message `json:"-"` // by channel id
	Audit    []AuditEntry         `json:"-"` // whether visible yet or not
	Members  map[string]Member    `json:"-"`
}

// Role is a role of a guild; @everyone has the guild's id.
type Role struct {
	ID, Name    string
	Permissions Permissions
	Position    int
	Managed     bool
}

// wire is the role as Discord tells it.
func (r *Role) wire() map[string]any {
	return map[string]any{
		"id": r.ID, "name": r.Name, "permissions": r.Permissions, "position": r.Position, "managed": r.Managed,
		"color": 0, "colors": map[string]any{"primary_color": 0, "secondary_color": nil, "tertiary_color": nil},
		"hoist": false, "mentionable": false, "icon": nil, "unicode_emoji": nil, "flags": 0,
	}
}

// guild is the living state of a guild.
type guild struct {
	Guild
	channels    map[string]*Channel
	webhooks    map[string]*Webhook
	messages    map[string][]*Message
	members     map[string]*Member
	audit       []AuditEntry
	unavailable bool
}

// newGuild is a guild as it is made by hand, without the channels that the app adds.
func newGuild(spec GuildSpec, owner string) *guild {
	return &guild{
		Guild: Guild{
			ID: spec.ID, Name: spec.Name, OwnerID: owner, Features: withNews(spec.Features), MFALevel: spec.MFALevel,
			AFKTimeout: 300, PreferredLocale: "en-US", DefaultNotifications: 0,
			Roles: []Role{{ID: spec.ID, Name: "@everyone", Permissions: permDefault}},
		},
		channels: map[string]*Channel{}, webhooks: map[string]*Webhook{}, messages: map[string][]*Message{}, members: map[string]*Member{},
	}
}

// withNews are features as Discord has them: a Community guild has NEWS, announcement channels, as well.
func withNews(features []string) []string {
	if slices.Contains(features, "COMMUNITY") && !slices.Contains(features, "NEWS") {
		return append(slices.Clone(features), "NEWS")
	}
	return append([]string{}, features...)
}

// role finds a role; the pointer is into the guild.
func (g *guild) role(id string) *Role {
	i := slices.IndexFunc(g.Roles, func(r Role) bool { return r.ID == id })
	if i < 0 {
		return nil
	}
	return &g.Roles[i]
}

// sorted are the channels by age, which is how REST lists them.
func (g *guild) sorted() []*Channel {
	return slices.SortedFunc(maps.Values(g.channels), func(a, b *Channel) int { return compareIDs(a.ID, b.ID) })
}

// sortedWebhooks are the webhooks by age.
func (g *guild) sortedWebhooks() []*Webhook {
	return slices.SortedFunc(maps.Values(g.webhooks), func(a, b *Webhook) int { return compareIDs(a.ID, b.ID) })
}

// listed are the channels by age that a bot is told of.
func (s *Server) listed(g *guild, user string) []*Channel {
	return slices.DeleteFunc(g.sorted(), func(c *Channel) bool {
		return s.opts.HideUnseen && !g.permissionsIn(c, user).Has(PermViewChannel)
	})
}

// children are the channels of a category by age.
func (g *guild) children(category string) []*Channel {
	return slices.DeleteFunc(g.sorted(), func(c *Channel) bool { return c.ParentID != category })
}

// displayed are the channels in the order in which the app shows them: those without a category first, then each
// category with its children; text-like above voice-like, then by position, then by age.
func (g *guild) displayed() []*Channel {
	order := func(a, b *Channel) int {
		return cmp.Or(cmp.Compare(displayRank(a), displayRank(b)), cmp.Compare(a.Position, b.Position), compareIDs(a.ID, b.ID))
	}
	var out []*Channel
	top := g.children("")
	slices.SortFunc(top, order)
	for _, c := range top {
		out = append(out, c)
		if c.Type == TypeCategory {
			in := g.children(c.ID)
			slices.SortFunc(in, order)
			out = append(out, in...)
		}
	}
	return out
}

// displayRank is which block of its parent a channel is shown in.
func displayRank(c *Channel) int {
	switch {
	case textLike(c.Type):
		return 0
	case c.Type == TypeCategory:
		return 2
	}
	return 1
}

// snapshot is a copy of all there is.
func (g *guild) snapshot() Guild {
	out := g.Guild
	out.Features, out.Roles, out.Audit = slices.Clone(g.Features), slices.Clone(g.Roles), slices.Clone(g.audit)
	out.Messages, out.Members = map[string][]Message{}, map[string]Member{}
	for _, c := range g.displayed() {
		out.Channels = append(out.Channels, c.clone())
	}
	for _, w := range g.sortedWebhooks() {
		out.Webhooks = append(out.Webhooks, *w)
	}
	for id, all := range g.messages {
		for _, m := range all {
			out.Messages[id] = append(out.Messages[id], *m)
		}
	}
	for id, m := range g.members {
		c := *m
		c.Roles = slices.Clone(m.Roles)
		out.Members[id] = c
	}
	return out
}

// wire is the guild as GET /guilds/{id} tells it.
func (g *guild) wire() map[string]any {
	roles := []any{}
	for i := range g.Roles {
		roles = append(roles, g.Roles[i].wire())
	}
	return map[string]any{
		"id": g.ID, "name": g.Name, "owner_id": g.OwnerID, "application_id": nil, "region": "deprecated",
		"icon": orNull(g.Icon), "splash": orNull(g.Splash), "banner": orNull(g.Banner), "description": orNull(g.Description),
		"home_header": nil, "discovery_splash": nil, "features": append([]string{}, g.Features...),
		"afk_channel_id": orNull(g.AFKChannelID), "afk_timeout": g.AFKTimeout,
		"system_channel_id": orNull(g.SystemChannelID), "system_channel_flags": g.SystemChannelFlags,
		"widget_enabled": false, "widget_channel_id": orNull(g.WidgetChannelID),
		"verification_level": g.VerificationLevel, "default_message_notifications": g.DefaultNotifications,
		"explicit_content_filter": g.ExplicitContentFilter, "mfa_level": g.MFALevel, "roles": roles,
		"max_presences": nil, "max_members": 25000000, "max_stage_video_channel_users": 50, "max_video_channel_users": 25,
		"vanity_url_code": nil, "premium_tier": 0, "premium_subscription_count": 0, "preferred_locale": g.PreferredLocale,
		"rules_channel_id": orNull(g.RulesChannelID), "safety_alerts_channel_id": orNull(g.SafetyAlertsChannelID),
		"public_updates_channel_id": orNull(g.PublicUpdatesChannelID), "premium_progress_bar_enabled": false,
		"nsfw": false, "nsfw_level": 0, "emojis": []any{}, "stickers": []any{}, "incidents_data": nil,
	}
}

// stub is a guild of which no more is known than that it is.
func (g *guild) stub() map[string]any { return map[string]any{"id": g.ID, "unavailable": true} }

// full is the guild as GUILD_CREATE tells it to one member: with channels and the members that matter. Channels lack
// guild_id there, as they often do on Discord.
func (g *guild) full(to *bot, s *Server) map[string]any {
	w := g.wire()
	channels, members := []any{}, []any{}
	for _, c := range s.listed(g, to.UserID) {
		cw := c.wire()
		delete(cw, "guild_id")
		channels = append(channels, cw)
	}
	if m := g.members[to.UserID]; m != nil {
		members = append(members, m.wire(s.users[m.UserID]))
		w["joined_at"] = m.JoinedAt.UTC().Format(timeLayout)
	}
	for key, empty := range map[string]any{"channels": channels, "members": members, "threads": []any{}, "presences": []any{},
		"voice_states": []any{}, "stage_instances": []any{}, "guild_scheduled_events": []any{}, "soundboard_sounds": []any{}} {
		w[key] = empty
	}
	w["large"], w["unavailable"], w["member_count"] = false, false, len(g.members)
	return w
}

// timeLayout is how Discord writes moments.
const timeLayout = "2006-01-02T15:04:05.000000-07:00"

// wire is the member as Discord tells it.
func (m *Member) wire(u *User) map[string]any {
	return map[string]any{
		"user": u.wire(), "nick": orNull(m.Nick), "roles": append([]string{}, m.Roles...), "joined_at": m.JoinedAt.UTC().Format(timeLayout),
		"avatar": nil, "banner": nil, "communication_disabled_until": nil, "flags": 0, "pending": false,
		"premium_since": nil, "mute": false, "deaf": false,
	}
}

// encode is JSON of what this package itself has put together; it cannot fail.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
