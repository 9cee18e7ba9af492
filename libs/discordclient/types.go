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

// Channel is a channel or a category of a guild, never a thread.
type Channel struct {
	ID       string                `json:"id"`
	GuildID  string                `json:"guild_id"`
	Type     discordgo.ChannelType `json:"type"`
	Name     string                `json:"name"`
	Topic    string                `json:"topic"`     // empty: no topic
	ParentID string                `json:"parent_id"` // id of the category; empty: no category
	Position int                   `json:"position"`  // neither unique nor contiguous; see [SortChannels]
	NSFW     bool                  `json:"nsfw"`
	Slowmode int                   `json:"rate_limit_per_user"` // seconds between two messages of one user, 0 to 21600
	// Minutes until Discord hides a new thread: 60, 1440, 4320 or 10080; 0 for Discord's default.
	DefaultAutoArchive int         `json:"default_auto_archive_duration"`
	Overwrites         []Overwrite `json:"permission_overwrites"` // ordered by id
	// PositionUnknown is true if a Discord-compatible server omitted Position, which is then 0.
	PositionUnknown bool `json:"-"`

	// Voice and stage channels only. Bitrate is in bits per second. UserLimit 0 is no limit. An
	// empty Region lets Discord choose. VideoQuality is 1 for Discord's choice, 2 for 720p.
	Bitrate      int    `json:"bitrate"`
	UserLimit    int    `json:"user_limit"`
	Region       string `json:"rtc_region"`
	VideoQuality int    `json:"video_quality_mode"`

	// Forum and media channels only. SortOrder: 0 latest activity, 1 creation date, nil Discord's
	// choice. Layout (forums): 0 Discord's choice, 1 list, 2 gallery. ThreadSlowmode: 0 to 21600 s.
	Flags           int    `json:"flags"`
	Tags            []Tag  `json:"available_tags"`
	DefaultReaction *Emoji `json:"default_reaction_emoji"`
	SortOrder       *int   `json:"default_sort_order"`
	Layout          int    `json:"default_forum_layout"`
	ThreadSlowmode  int    `json:"default_thread_rate_limit_per_user"`

	// Hidden reports whether the bot may not view the channel. Since 2026-11-16 the Gateway sends
	// only ID, GuildID, Type and Position of such a channel, and lists omit it. Source:
	// https://docs.discord.com/developers/resources/channel#obfuscated-channels.
	Hidden bool `json:"-"`
}

// GetID returns the id.
func (c *Channel) GetID() string { return c.ID }

// GetName returns the name.
func (c *Channel) GetName() string { return c.Name }

// GetParentID returns the id of the category; empty for none.
func (c *Channel) GetParentID() string { return c.ParentID }

// flagObfuscated is CHANNEL_OBFUSCATED: the bot may not view the channel.
const flagObfuscated = 1 << 17

// UnmarshalJSON reads a channel and sorts its overwrites, so that channels can be compared.
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
	if flags, err := strconv.Atoi(string(sent.Flags)); err == nil { // ignore a value that is no number
		c.Flags = flags
	}
	if c.Flags&flagObfuscated != 0 {
		*c = Channel{
			ID: c.ID, GuildID: c.GuildID, Type: c.Type, Position: c.Position, PositionUnknown: c.PositionUnknown, Hidden: true,
		}
		return nil
	}
	if IsVoiceLike(c.Type) {
		c.VideoQuality = max(c.VideoQuality, 1) // Discord omits the value 1
	}
	c.Overwrites = slices.DeleteFunc(c.Overwrites, func(o Overwrite) bool { return o.ID == "" })
	slices.SortFunc(c.Overwrites, func(a, b Overwrite) int { return CompareIDs(a.ID, b.ID) })
	if len(c.Overwrites) == 0 {
		c.Overwrites = nil
	}
	return nil
}

// TypeName returns the type as users know it, such as "Text".
func (c *Channel) TypeName() string {
	if name, ok := channelTypes[c.Type]; ok {
		return name
	}
	return fmt.Sprintf("ChannelType(%d)", c.Type)
}

// Flags: https://docs.discord.com/developers/resources/channel#channel-object-channel-flags.
const (
	FlagRequireTag        = 1 << 4
	FlagHideMediaDownload = 1 << 15
)

// Tag is a tag for posts of a forum or media channel. Its name has 1 to 20 characters.
type Tag struct {
	ID        string `json:"id,omitempty"` // empty for a new tag
	Name      string `json:"name"`
	Moderated bool   `json:"moderated"` // whether only moderators may apply the tag
	Emoji
}

// Emoji is a guild's own emoji (ID), a Unicode emoji (Name), or no emoji (both nil).
type Emoji struct {
	ID   *string `json:"emoji_id"`
	Name *string `json:"emoji_name"`
}

// ParseEmoji parses an id or a Unicode emoji. An empty text means no emoji.
func ParseEmoji(text string) Emoji {
	switch _, err := strconv.ParseUint(text, 10, 64); {
	case text == "":
		return Emoji{}
	case err == nil:
		return Emoji{ID: &text}
	}
	return Emoji{Name: &text}
}

func (e Emoji) String() string {
	for _, part := range []*string{e.ID, e.Name} {
		if part != nil && *part != "" {
			return *part
		}
	}
	return ""
}

// IsForumLike reports whether channels of the type have posts instead of messages.
func IsForumLike(t discordgo.ChannelType) bool {
	return t == discordgo.ChannelTypeGuildForum || t == discordgo.ChannelTypeGuildMedia
}

// IsVoiceLike reports whether members talk in channels of the type.
func IsVoiceLike(t discordgo.ChannelType) bool {
	return t == discordgo.ChannelTypeGuildVoice || t == discordgo.ChannelTypeGuildStageVoice
}

// IsThread reports whether the channel is a thread.
func (c *Channel) IsThread() bool { return (&discordgo.Channel{Type: c.Type}).IsThread() }

// GuildChannels removes threads, sorts by id, and sets GuildID, which GUILD_CREATE omits.
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

// Role is a role of a guild. The id of @everyone is the guild's.
type Role struct {
	ID          string           `json:"id"`
	Name        string           `json:"name"`
	Position    int              `json:"position"` // a higher position is a higher rank; not unique, see [SortRoles]
	Permissions permissions.Bits `json:"permissions"`
	Colors      RoleColors       `json:"colors"`
	Hoist       bool             `json:"hoist"` // whether Discord lists the role's members separately
	Mentionable bool             `json:"mentionable"`
	Managed     bool             `json:"managed"` // whether the role belongs to a bot or an integration
	Tags        RoleTags         `json:"tags"`
}

// GetID returns the id.
func (r *Role) GetID() string { return r.ID }

// GetName returns the name.
func (r *Role) GetName() string { return r.Name }

// GetParentID returns an empty id: a role has no category.
func (*Role) GetParentID() string { return "" }

// RoleColors are the colours of a role, 0 (none) to 0xFFFFFF. Secondary makes a gradient, Tertiary
// a holographic role. Both need the feature ENHANCED_ROLE_COLORS. Source:
// https://docs.discord.com/developers/topics/permissions#role-object-role-colors-object.
type RoleColors struct {
	Primary   int  `json:"primary_color"`
	Secondary *int `json:"secondary_color"`
	Tertiary  *int `json:"tertiary_color"`
}

// RoleTags describe the owner of a managed role.
type RoleTags struct {
	BotID   string `json:"bot_id"` // user id of the bot; empty for none
	Booster bool   `json:"-"`      // whether this is the role of members who boost the guild
}

// UnmarshalJSON reads the tags of a role. Discord sends null for a true tag, and omits a false tag.
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

// UnmarshalJSON reads a role. Servers with Discord's API of before 2025 send only the field color.
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
		r.Colors.Primary, _ = strconv.Atoi(string(sent.Color)) // ignore a value that is no number
	}
	return nil
}

// ParseColor parses a colour such as "#E67E22". It returns nil if the text is no colour.
func ParseColor(text string) *int {
	digits, ok := strings.CutPrefix(text, "#")
	n, err := strconv.ParseUint(digits, 16, 24)
	if !ok || err != nil || len(digits) != 6 {
		return nil
	}
	color := int(n)
	return &color
}

// FormatColor is the inverse of [ParseColor].
func FormatColor(color int) string { return fmt.Sprintf("#%06X", color) }

// SortRoles sorts roles by rank, lowest first. With equal positions, the older role is higher.
func SortRoles(roles []Role) { slices.SortFunc(roles, CompareRoles) }

// CompareRoles compares roles by rank, as [SortRoles] sorts them.
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
	Icon                   string   `json:"icon"` // Discord's hash of the image; empty for none
	OwnerID                string   `json:"owner_id"`
	VerificationLevel      int      `json:"verification_level"`            // 0 none to 4 very high
	DefaultNotifications   int      `json:"default_message_notifications"` // 0 all messages, 1 mentions only
	ExplicitContentFilter  int      `json:"explicit_content_filter"`       // 0 off, 1 members without roles, 2 all
	PreferredLocale        string   `json:"preferred_locale"`
	AFKChannelID           string   `json:"afk_channel_id"`
	AFKTimeout             int      `json:"afk_timeout"` // seconds: 60, 300, 900, 1800 or 3600
	SystemChannelID        string   `json:"system_channel_id"`
	SystemChannelFlags     int      `json:"system_channel_flags"` // bits of suppressed messages
	RulesChannelID         string   `json:"rules_channel_id"`
	PublicUpdatesChannelID string   `json:"public_updates_channel_id"`
	PremiumTier            int      `json:"premium_tier"` // boost level, 0 to 3
	Features               []string `json:"features"`     // sorted
	Roles                  []Role   `json:"roles"`        // ordered by id; nil if Discord sent none
}

// UnmarshalJSON reads a guild of Discord and sorts its lists, so that guilds can be compared.
func (g *Guild) UnmarshalJSON(raw []byte) error {
	type plain Guild
	if err := json.Unmarshal(raw, (*plain)(g)); err != nil {
		return err
	}
	slices.Sort(g.Features)
	sortRoles(g.Roles)
	return nil
}

const featureCommunity = "COMMUNITY"

// mutableFeatures are the features, besides COMMUNITY, that an edit of a guild replaces. Source:
// https://docs.discord.com/developers/resources/guild#guild-object-mutable-guild-features.
var mutableFeatures = []string{"DISCOVERABLE", "INVITES_DISABLED", "RAID_ALERTS_DISABLED"}

// IsCommunity reports whether the guild is a Community guild.
func (g *Guild) IsCommunity() bool { return slices.Contains(g.Features, featureCommunity) }

// WithCommunity returns [GuildEdit].Features that enable Community and keep the mutable features.
// The bot must be an administrator, and the edit must set the rules and public updates channels:
// https://docs.discord.com/developers/resources/guild#modify-guild,
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

// Permissions returns a member's permissions in the guild, before overwrites.
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
	Roles []string `json:"roles"` // ids, without @everyone, which every member has
}

// Webhook posts messages to a channel for every client that has its URL.
type Webhook struct {
	ID            string                `json:"id"`
	Type          discordgo.WebhookType `json:"type"`
	GuildID       string                `json:"guild_id"`
	ChannelID     string                `json:"channel_id"`
	Name          string                `json:"name"`
	ApplicationID string                `json:"application_id"` // of the creating bot; empty if a user created it
	Token         Secret                `json:"token"`          // only the creating application gets it
	URL           Secret                `json:"-"`              // address at the API's host; empty without Token
}

// User is the bot's own user.
type User struct {
	ID   string `json:"id"`
	Name string `json:"username"`
}

// Application is the application that the bot belongs to.
type Application struct {
	ID    string           `json:"id"`
	Name  string           `json:"name"`
	Flags ApplicationFlags `json:"flags"`
}

// ApplicationFlags are the public flags of an application. Source:
// https://discord.com/developers/docs/resources/application#application-object-application-flags.
type ApplicationFlags uint64

// The privileged intents of the Gateway that the application may use.
const (
	FlagPresence       ApplicationFlags = 1<<12 | 1<<13
	FlagGuildMembers   ApplicationFlags = 1<<14 | 1<<15
	FlagMessageContent ApplicationFlags = 1<<18 | 1<<19
)

// GuildName is the id and the name of a guild of the bot.
type GuildName struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// AuditEntry is one entry of the audit log. Discord may write it late, or never.
type AuditEntry struct {
	ID       string                   `json:"id"`
	Action   discordgo.AuditLogAction `json:"action_type"`
	TargetID string                   `json:"target_id"` // id of the object, such as the new channel's
	UserID   string                   `json:"user_id"`   // the user who acted
	Reason   string                   `json:"reason"`
}
