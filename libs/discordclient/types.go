package discordclient

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"jutsu.com/operators/libs/discordclient/permissions"
)

// ChannelType is the kind of a channel. Source: https://discord.com/developers/docs/resources/channel.
type ChannelType int

// The kinds that are managed, and those that are told apart.
const (
	ChannelText         ChannelType = 0
	ChannelVoice        ChannelType = 2
	ChannelCategory     ChannelType = 4
	ChannelAnnouncement ChannelType = 5
	ChannelStage        ChannelType = 13
	ChannelForum        ChannelType = 15
	ChannelMedia        ChannelType = 16
)

var channelTypeNames = map[ChannelType]string{
	ChannelText: "Text", ChannelVoice: "Voice", ChannelCategory: "Category", ChannelAnnouncement: "Announcement",
	ChannelStage: "Stage", ChannelForum: "Forum", ChannelMedia: "Media",
}

// String returns the name that people know, such as "Text".
func (t ChannelType) String() string {
	if name, ok := channelTypeNames[t]; ok {
		return name
	}
	return fmt.Sprintf("ChannelType(%d)", int(t))
}

// Channel is a channel or a category of a guild. Threads are none.
type Channel struct {
	ID       string
	GuildID  string
	Type     ChannelType
	Name     string
	Topic    string // empty for none
	ParentID string // of the category; empty for none
	Position int    // not unique and not without gaps; see [SortChannels]
	NSFW     bool
	Slowmode int // seconds between two messages of one user, 0 to 21600
	// DefaultAutoArchive is after how many minutes new threads are hidden: 60, 1440, 4320, 10080; 0 for Discord's default.
	DefaultAutoArchive int
	Overwrites         []Overwrite // in the order of their ids
}

// OverwriteType says whom an overwrite is for.
type OverwriteType int

// Overwrites are for a role (@everyone is the role with the guild's id) or for one member.
const (
	OverwriteRole   OverwriteType = 0
	OverwriteMember OverwriteType = 1
)

// Overwrite allows and denies permissions in one channel.
type Overwrite struct {
	ID    string           `json:"id"`
	Type  OverwriteType    `json:"type"`
	Allow permissions.Bits `json:"allow"`
	Deny  permissions.Bits `json:"deny"`
}

// Role is a role of a guild. @everyone has the guild's id.
type Role struct {
	ID          string
	Name        string
	Position    int
	Permissions permissions.Bits
	Managed     bool   // belongs to a bot or an integration
	BotID       string // the user id of the bot it belongs to; empty for none
}

// Guild is a Discord server and its settings.
type Guild struct {
	ID                     string
	Name                   string
	Description            string
	OwnerID                string
	Icon                   string // a hash; the image itself cannot be read back
	VerificationLevel      int    // 0 none to 4 very high
	DefaultNotifications   int    // 0 all messages, 1 mentions only
	ExplicitContentFilter  int    // 0 disabled, 1 members without roles, 2 all members
	PreferredLocale        string
	AFKChannelID           string
	AFKTimeout             int // seconds: 60, 300, 900, 1800 or 3600
	SystemChannelID        string
	SystemChannelFlags     int
	RulesChannelID         string
	PublicUpdatesChannelID string
	SafetyAlertsChannelID  string
	Features               []string // sorted
	Roles                  []Role   // in the order of their ids
}

// Membership is a guild that the bot is a member of.
type Membership struct {
	ID          string
	Name        string
	Owner       bool
	Permissions permissions.Bits // of the bot in the whole guild
}

// WebhookType is the kind of a webhook.
type WebhookType int

// Kinds of webhooks. Only incoming ones have a token.
const (
	WebhookIncoming    WebhookType = 1
	WebhookFollower    WebhookType = 2
	WebhookApplication WebhookType = 3
)

// Webhook posts messages to a channel for whoever knows its URL.
type Webhook struct {
	ID            string
	Type          WebhookType
	GuildID       string
	ChannelID     string
	Name          string
	ApplicationID string // of the bot that created it; empty when a person did
	Token         Secret // only known to the application that created it
	URL           Secret // at the configured API host; only when the token is known
}

// Message is a message that a webhook posted.
type Message struct {
	ID        string
	ChannelID string
}

// User is the bot's own user.
type User struct {
	ID   string
	Name string
}

// Application is the application that the bot belongs to.
type Application struct {
	ID   string
	Name string
}

// AuditAction is what an entry of the audit log is about.
type AuditAction int

// Source: https://discord.com/developers/docs/resources/audit-log#audit-log-entry-object-audit-log-events.
const (
	AuditGuildUpdate     AuditAction = 1
	AuditChannelCreate   AuditAction = 10
	AuditChannelUpdate   AuditAction = 11
	AuditChannelDelete   AuditAction = 12
	AuditOverwriteCreate AuditAction = 13
	AuditOverwriteUpdate AuditAction = 14
	AuditOverwriteDelete AuditAction = 15
	AuditWebhookCreate   AuditAction = 50
	AuditWebhookUpdate   AuditAction = 51
	AuditWebhookDelete   AuditAction = 52
)

// AuditEntry is one entry of the audit log. Entries are written some time after what they tell of, or never.
type AuditEntry struct {
	ID       string
	Action   AuditAction
	TargetID string // what was acted on: the new channel's id for a create
	UserID   string // who did it
	Reason   string
}

// GatewayStart tells where the Gateway is and how many sessions may still be started.
type GatewayStart struct {
	URL            string
	Shards         int           // how many Discord recommends; this package uses one
	Total          int           // IDENTIFYs in a day; 0 when they are not counted
	Remaining      int           // IDENTIFYs that are left; one more than that resets the token
	ResetAfter     time.Duration // until Remaining is full again
	MaxConcurrency int           // IDENTIFYs in five seconds
}

// discordEpoch is the start of Discord's time, in milliseconds since 1970.
const discordEpoch = 1420070400000

// CreatedAt returns when the object with an id was created, to the millisecond; the zero time for what is no id.
func CreatedAt(id string) time.Time {
	n, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(int64(n>>22) + discordEpoch)
}

// SnowflakeAt returns the smallest id of an object created at t or later; "0" before Discord's time.
func SnowflakeAt(t time.Time) string {
	ms := t.UnixMilli() - discordEpoch
	if ms < 0 {
		return "0"
	}
	return strconv.FormatUint(uint64(ms)<<22, 10)
}

// CompareIDs orders ids by number, which is by time of creation.
func CompareIDs(a, b string) int {
	if len(a) != len(b) {
		return cmp.Compare(len(a), len(b))
	}
	return cmp.Compare(a, b)
}

// SortChannels sorts siblings as Discord shows them: text-like above voice-like, then by position, then by id.
func SortChannels(channels []*Channel) {
	voice := func(c *Channel) int {
		if c.Type == ChannelVoice || c.Type == ChannelStage {
			return 1
		}
		return 0
	}
	slices.SortFunc(channels, func(a, b *Channel) int {
		return cmp.Or(cmp.Compare(voice(a), voice(b)), cmp.Compare(a.Position, b.Position), CompareIDs(a.ID, b.ID))
	})
}
