// SPDX-License-Identifier: Apache-2.0

package discordclient

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/libs/discordclient/permissions"
)

var channelTypes = map[discordgo.ChannelType]string{
	discordgo.ChannelTypeGuildText: "Text", discordgo.ChannelTypeGuildVoice: "Voice",
	discordgo.ChannelTypeGuildCategory: "Category", discordgo.ChannelTypeGuildNews: "Announcement",
	discordgo.ChannelTypeGuildStageVoice: "Stage", discordgo.ChannelTypeGuildForum: "Forum",
	discordgo.ChannelTypeGuildMedia: "Media",
}

// Channel is a channel or a category of a guild. Threads are none.
type Channel struct {
	ID       string                `json:"id"`
	GuildID  string                `json:"guild_id"`
	Type     discordgo.ChannelType `json:"type"`
	Name     string                `json:"name"`
	Topic    string                `json:"topic"`     // empty for none
	ParentID string                `json:"parent_id"` // of the category; empty for none
	Position int                   `json:"position"`  // not unique and not without gaps; see [SortChannels]
	NSFW     bool                  `json:"nsfw"`
	Slowmode int                   `json:"rate_limit_per_user"` // seconds between two messages of one user, 0 to 21600
	// DefaultAutoArchive is after how many minutes new threads are hidden: 60, 1440, 4320, 10080; 0
	// for Discord's default.
	DefaultAutoArchive int         `json:"default_auto_archive_duration"`
	Overwrites         []Overwrite `json:"permission_overwrites"` // in the order of their ids
	// PositionUnknown reports whether the server sent no position, as compatible servers do in answers
	// about one channel. Position is then 0 and means nothing.
	PositionUnknown bool `json:"-"`

	// Of a voice or stage channel only: bits per second; how many members may be connected, 0 for any
	// number; the id of the voice region, empty where Discord chooses; 1 where Discord chooses the video
	// quality, 2 for 720p.
	Bitrate      int    `json:"bitrate"`
	UserLimit    int    `json:"user_limit"`
	Region       string `json:"rtc_region"`
	VideoQuality int    `json:"video_quality_mode"`

	// Of a forum or media channel only: see [FlagRequireTag]; the tags in the order in which they are
	// shown; the emoji of the first reaction, nil for none; 0 for the latest activity first and 1 for the
	// latest posts, nil for Discord's choice; 0 for Discord's choice, 1 for a list and 2 for a gallery, not
	// of a media channel; seconds between two messages of one user in a new thread, 0 to 21600.
	Flags           int    `json:"flags"`
	Tags            []Tag  `json:"available_tags"`
	DefaultReaction *Emoji `json:"default_reaction_emoji"`
	SortOrder       *int   `json:"default_sort_order"`
	Layout          int    `json:"default_forum_layout"`
	ThreadSlowmode  int    `json:"default_thread_rate_limit_per_user"`

	// Hidden says that the bot may not view the channel. Since 2026-11-16 the Gateway sends no more of
	// such a one than ID, GuildID, Type and Position, and the rest is empty here; lists leave it out.
	// Source: https://docs.discord.com/developers/resources/channel#obfuscated-channels.
	Hidden bool `json:"-"`
}

// GetID returns the id of the channel.
func (c *Channel) GetID() string { return c.ID }

// GetName returns the name of the channel.
func (c *Channel) GetName() string { return c.Name }

// GetParentID returns the id of the channel's category; empty for none.
func (c *Channel) GetParentID() string { return c.ParentID }

// flagObfuscated marks a hidden channel: CHANNEL_OBFUSCATED.
const flagObfuscated = 1 << 17

// UnmarshalJSON reads a channel as Discord sends it and puts its overwrites in order, so that two
// states can be compared.
func (c *Channel) UnmarshalJSON(raw []byte) error {
	type plain Channel
	sent := struct {
		*plain
		Position *int            `json:"position"`
		Flags    json.RawMessage `json:"flags"`
	}{plain: (*plain)(c)}
	if err := json.Unmarshal(raw, &sent); err != nil {
		return err
	}
	if c.PositionUnknown = sent.Position == nil; !c.PositionUnknown {
		c.Position = *sent.Position
	}
	if flags, err := strconv.Atoi(string(sent.Flags)); err == nil { // what has no use may have any form
		c.Flags = flags
	}
	if c.Flags&flagObfuscated != 0 {
		*c = Channel{
			ID: c.ID, GuildID: c.GuildID, Type: c.Type, Position: c.Position, PositionUnknown: c.PositionUnknown, Hidden: true,
		}
		return nil
	}
	if IsVoiceLike(c.Type) {
		c.VideoQuality = max(c.VideoQuality, 1) // left out where it is 1
	}
	c.Overwrites = slices.DeleteFunc(c.Overwrites, func(o Overwrite) bool { return o.ID == "" })
	slices.SortFunc(c.Overwrites, func(a, b Overwrite) int { return CompareIDs(a.ID, b.ID) })
	if len(c.Overwrites) == 0 {
		c.Overwrites = nil
	}
	return nil
}

// TypeName returns the name of the channel's type that users know, such as "Text".
func (c *Channel) TypeName() string {
	if name, ok := channelTypes[c.Type]; ok {
		return name
	}
	return fmt.Sprintf("ChannelType(%d)", c.Type)
}

// What a flag of a forum or media channel says: each post needs a tag; the buttons to download media
// are hidden, in a media channel. Source:
// https://docs.discord.com/developers/resources/channel#channel-object-channel-flags.
const (
	FlagRequireTag        = 1 << 4
	FlagHideMediaDownload = 1 << 15
)

// Tag is a tag that posts of a forum or media channel may have. Its name has 1 to 20 characters.
type Tag struct {
	ID        string `json:"id,omitempty"` // empty for a new one
	Name      string `json:"name"`
	Moderated bool   `json:"moderated"` // only moderators may use it
	Emoji
}

// Emoji is one of the guild's own by its ID, or a Unicode one by its Name; with neither it is none.
type Emoji struct {
	ID   *string `json:"emoji_id"`
	Name *string `json:"emoji_name"`
}

// ParseEmoji reads an emoji, which is a Unicode one or an id.
func ParseEmoji(text string) Emoji {
	switch _, err := strconv.ParseUint(text, 10, 64); {
	case text == "":
		return Emoji{}
	case err == nil:
		return Emoji{ID: &text}
	}
	return Emoji{Name: &text}
}

// String writes an emoji as ParseEmoji reads it.
func (e Emoji) String() string {
	for _, part := range []*string{e.ID, e.Name} {
		if part != nil && *part != "" {
			return *part
		}
	}
	return ""
}

// IsForumLike reports the types of channels that have posts and no messages of their own.
func IsForumLike(t discordgo.ChannelType) bool {
	return t == discordgo.ChannelTypeGuildForum || t == discordgo.ChannelTypeGuildMedia
}

// IsVoiceLike reports the types of channels in which members talk. Discord shows them below all others.
func IsVoiceLike(t discordgo.ChannelType) bool {
	return t == discordgo.ChannelTypeGuildVoice || t == discordgo.ChannelTypeGuildStageVoice
}

// IsThread reports the types that are not channels of their own.
func (c *Channel) IsThread() bool { return (&discordgo.Channel{Type: c.Type}).IsThread() }

// GuildChannels returns the channels of a list as Discord sends it, in the order of their ids,
// without threads. The Gateway leaves the guild's id out of a guild's own channels.
func GuildChannels(list []*Channel, guildID string) []*Channel {
	list = slices.DeleteFunc(list, func(c *Channel) bool { return c == nil || c.ID == "" || c.IsThread() })
	for _, c := range list {
		c.GuildID = cmp.Or(c.GuildID, guildID)
	}
	slices.SortFunc(list, func(a, b *Channel) int { return CompareIDs(a.ID, b.ID) })
	return list
}

// Overwrite allows and denies permissions in one channel.
type Overwrite = permissions.Overwrite

// Role is a role of a guild. @everyone has the guild's id.
type Role struct {
	ID          string           `json:"id"`
	Name        string           `json:"name"`
	Position    int              `json:"position"` // higher is above; not unique, see [SortRoles]
	Permissions permissions.Bits `json:"permissions"`
	Colors      RoleColors       `json:"colors"`
	Hoist       bool             `json:"hoist"` // its members are shown apart
	Mentionable bool             `json:"mentionable"`
	Managed     bool             `json:"managed"` // belongs to a bot or an integration
	Tags        RoleTags         `json:"tags"`
}

// GetID returns the id of the role.
func (r *Role) GetID() string { return r.ID }

// GetName returns the name of the role.
func (r *Role) GetName() string { return r.Name }

// GetParentID returns nothing: a role is in no category.
func (*Role) GetParentID() string { return "" }

// RoleColors are the colours of a role, from 0, which is none, to 0xFFFFFF. One with a Secondary is a
// gradient, one with a Tertiary too is holographic; a guild needs the feature ENHANCED_ROLE_COLORS for
// either. Source: https://docs.discord.com/developers/topics/permissions#role-object-role-colors-object.
type RoleColors struct {
	Primary   int  `json:"primary_color"`
	Secondary *int `json:"secondary_color"`
	Tertiary  *int `json:"tertiary_color"`
}

// RoleTags say what a managed role belongs to.
type RoleTags struct {
	BotID   string `json:"bot_id"` // the bot's user id; empty for none
	Booster bool   `json:"-"`      // Discord gives it to those who boost the guild
}

// UnmarshalJSON reads the tags of a role; one that is there and null is true.
func (t *RoleTags) UnmarshalJSON(raw []byte) error {
	type plain RoleTags
	sent := struct {
		*plain
		Booster json.RawMessage `json:"premium_subscriber"`
	}{plain: (*plain)(t)}
	if err := json.Unmarshal(raw, &sent); err != nil {
		return err
	}
	t.Booster = sent.Booster != nil
	return nil
}

// UnmarshalJSON reads a role as Discord sends it; a server may know the one colour only that there was
// before 2025.
func (r *Role) UnmarshalJSON(raw []byte) error {
	type plain Role
	sent := struct {
		*plain
		Color json.RawMessage `json:"color"`
	}{plain: (*plain)(r)}
	const absent = -1
	sent.Colors.Primary = absent
	if err := json.Unmarshal(raw, &sent); err != nil {
		return err
	}
	if r.Colors.Primary == absent {
		r.Colors.Primary, _ = strconv.Atoi(string(sent.Color)) // what has no use may have any form
	}
	return nil
}

// ParseColor reads a colour such as "#E67E22"; nil for what is none.
func ParseColor(text string) *int {
	digits, ok := strings.CutPrefix(text, "#")
	n, err := strconv.ParseUint(digits, 16, 24)
	if !ok || err != nil || len(digits) != 6 {
		return nil
	}
	color := int(n)
	return &color
}

// FormatColor writes a colour as ParseColor reads it.
func FormatColor(color int) string { return fmt.Sprintf("#%06X", color) }

// SortRoles sorts roles as Discord ranks them, the lowest first: by position, and of those with the
// same one the older is above.
func SortRoles(roles []Role) { slices.SortFunc(roles, CompareRoles) }

// CompareRoles compares roles as SortRoles sorts them.
func CompareRoles(a, b Role) int {
	return cmp.Or(cmp.Compare(a.Position, b.Position), CompareIDs(b.ID, a.ID))
}

func sortRoles(roles []Role) {
	slices.SortFunc(roles, func(a, b Role) int { return CompareIDs(a.ID, b.ID) })
}

// Guild is a Discord server and its settings.
type Guild struct {
	ID                     string   `json:"id"`
	Name                   string   `json:"name"`
	Description            string   `json:"description"`
	Icon                   string   `json:"icon"` // Discord's hash of it; empty for none
	OwnerID                string   `json:"owner_id"`
	VerificationLevel      int      `json:"verification_level"`            // 0 none to 4 very high
	DefaultNotifications   int      `json:"default_message_notifications"` // 0 all messages, 1 mentions only
	ExplicitContentFilter  int      `json:"explicit_content_filter"`       // 0 off, 1 members without roles, 2 all
	PreferredLocale        string   `json:"preferred_locale"`
	AFKChannelID           string   `json:"afk_channel_id"`
	AFKTimeout             int      `json:"afk_timeout"` // seconds: 60, 300, 900, 1800 or 3600
	SystemChannelID        string   `json:"system_channel_id"`
	SystemChannelFlags     int      `json:"system_channel_flags"` // bits of messages that are not posted
	RulesChannelID         string   `json:"rules_channel_id"`
	PublicUpdatesChannelID string   `json:"public_updates_channel_id"`
	PremiumTier            int      `json:"premium_tier"` // boost level, 0 to 3
	Features               []string `json:"features"`     // sorted
	Roles                  []Role   `json:"roles"`        // in the order of their ids; nil where Discord sent none
}

// UnmarshalJSON reads a guild as Discord sends it and puts its lists in order, so that two states
// can be compared.
func (g *Guild) UnmarshalJSON(raw []byte) error {
	type plain Guild
	if err := json.Unmarshal(raw, (*plain)(g)); err != nil {
		return err
	}
	slices.Sort(g.Features)
	sortRoles(g.Roles)
	return nil
}

// featureCommunity is the feature of a Community guild.
const featureCommunity = "COMMUNITY"

// mutableFeatures are the others that an edit replaces. Source:
// https://docs.discord.com/developers/resources/guild#guild-object-mutable-guild-features.
var mutableFeatures = []string{"DISCOVERABLE", "INVITES_DISABLED", "RAID_ALERTS_DISABLED"}

// IsCommunity reports whether it is a Community guild.
func (g *Guild) IsCommunity() bool { return slices.Contains(g.Features, featureCommunity) }

// WithCommunity returns the features with which an edit makes it a Community guild and changes no other. Only
// an administrator may, and the edit has to have both channels of such a guild, also where they are set
// already. Sources: https://docs.discord.com/developers/resources/guild#modify-guild,
// https://github.com/discord/discord-api-docs/issues/6015.
func (g *Guild) WithCommunity() []string {
	features := []string{featureCommunity}
	for _, feature := range mutableFeatures {
		if slices.Contains(g.Features, feature) {
			features = append(features, feature)
		}
	}
	return features
}

// Permissions returns what a member with these roles may do in the guild, before overwrites.
func (g *Guild) Permissions(userID string, roleIDs []string) permissions.Bits {
	var everyone permissions.Bits
	var roles []permissions.Bits
	for _, r := range g.Roles {
		if r.ID == g.ID {
			everyone = r.Permissions
		} else if slices.Contains(roleIDs, r.ID) {
			roles = append(roles, r.Permissions)
		}
	}
	return permissions.Base(userID != "" && userID == g.OwnerID, everyone, roles...)
}

// Member is a user in a guild.
type Member struct {
	Roles []string `json:"roles"` // their ids, but @everyone's, which every member has
}

// Webhook posts messages to a channel for every client that has its URL.
type Webhook struct {
	ID            string                `json:"id"`
	Type          discordgo.WebhookType `json:"type"`
	GuildID       string                `json:"guild_id"`
	ChannelID     string                `json:"channel_id"`
	Name          string                `json:"name"`
	ApplicationID string                `json:"application_id"` // of the bot that created it; empty when a user did
	Token         Secret                `json:"token"`          // only known to the application that created it
	URL           Secret                `json:"-"`              // at the configured API host; only when the token is known
}

// User is the bot's own user.
type User struct {
	ID   string `json:"id"`
	Name string `json:"username"`
}

// Application is the application that the bot belongs to.
type Application struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// AuditEntry is one entry of the audit log. Entries are written some time after what they report,
// or never.
type AuditEntry struct {
	ID       string                   `json:"id"`
	Action   discordgo.AuditLogAction `json:"action_type"`
	TargetID string                   `json:"target_id"` // what was acted on: the new channel's id for a create
	UserID   string                   `json:"user_id"`   // who did it
	Reason   string                   `json:"reason"`
}
