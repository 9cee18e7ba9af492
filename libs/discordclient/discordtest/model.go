package discordtest

import (
	"slices"
	"time"
)

// Channel types that the simulator knows.
const (
	TypeText         = 0
	TypeVoice        = 2
	TypeCategory     = 4
	TypeAnnouncement = 5
	TypeStage        = 13
	TypeForum        = 15
	TypeMedia        = 16
)

// Overwrite is a permission overwrite of a channel: Type 0 is a role, 1 a member.
type Overwrite struct {
	ID    string      `json:"id"`
	Type  int         `json:"type"`
	Allow Permissions `json:"allow"`
	Deny  Permissions `json:"deny"`
}

// Channel is a channel or, with TypeCategory, a group of channels. Empty strings stand for null.
type Channel struct {
	ID, GuildID, ParentID string
	Type                  int
	Name, Topic           string
	Position              int
	NSFW                  bool
	RateLimitPerUser      int // seconds
	DefaultAutoArchive    int // minutes; 0: not set
	Bitrate, UserLimit    int // voice only
	Flags                 int
	Overwrites            []Overwrite
	LastMessageID         string
}

// clone is a copy that shares nothing.
func (c *Channel) clone() Channel {
	d := *c
	d.Overwrites = slices.Clone(c.Overwrites)
	return d
}

// textLike says whether the name is normalised and the channel shown above the voice-like ones.
func textLike(kind int) bool {
	return kind == TypeText || kind == TypeAnnouncement || kind == TypeForum || kind == TypeMedia
}

// forumLike says whether the channel holds threads only.
func forumLike(kind int) bool { return kind == TypeForum || kind == TypeMedia }

// wire is the channel as REST and the Gateway tell it; which fields there are depends on the type.
func (c *Channel) wire() map[string]any {
	w := map[string]any{
		"id": c.ID, "guild_id": c.GuildID, "type": c.Type, "name": c.Name, "position": c.Position, "flags": c.Flags,
		"parent_id": orNull(c.ParentID), "permission_overwrites": append([]Overwrite{}, c.Overwrites...),
	}
	if c.Type == TypeCategory {
		return w
	}
	w["nsfw"] = c.NSFW
	w["rate_limit_per_user"] = c.RateLimitPerUser
	w["last_message_id"] = orNull(c.LastMessageID)
	if c.Type == TypeVoice || c.Type == TypeStage {
		w["bitrate"], w["user_limit"], w["rtc_region"] = c.Bitrate, c.UserLimit, nil
		return w
	}
	w["topic"] = orNull(c.Topic)
	if c.DefaultAutoArchive != 0 {
		w["default_auto_archive_duration"] = c.DefaultAutoArchive
	}
	return w
}

// orNull is a string, or null when it is empty.
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// Webhook is an incoming webhook. Token is a secret.
type Webhook struct {
	ID, GuildID, ChannelID, ApplicationID, Name, Token string
	CreatorID                                          string // user
	Avatar                                             string // hash
}

// Member is a user in a guild.
type Member struct {
	UserID   string
	Roles    []string
	Nick     string
	JoinedAt time.Time
}

// User is a person or a bot.
type User struct {
	ID, Name string
	Bot      bool
}

// wire is the user as Discord tells it.
func (u *User) wire() map[string]any {
	return map[string]any{
		"id": u.ID, "username": u.Name, "discriminator": "0", "global_name": nil, "avatar": nil,
		"public_flags": 0, "flags": 0, "bot": u.Bot, "primary_guild": nil,
	}
}

// AuditEntry is an entry of the audit log; VisibleAt is when readers get to see it. One that is Lost (Faults.LoseAudit) they never see: it is in
// snapshots alone, so that a test knows what has happened.
type AuditEntry struct {
	ID, UserID, TargetID, Reason string
	Action                       int
	Changes                      []Change
	Options                      map[string]string
	VisibleAt                    time.Time
	Lost                         bool
}

// Change is one changed field in an audit log entry.
type Change struct {
	Key string `json:"key"`
	New any    `json:"new_value,omitempty"`
	Old any    `json:"old_value,omitempty"`
}
