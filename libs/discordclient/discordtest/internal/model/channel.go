// SPDX-License-Identifier: Apache-2.0

package model

import (
	"slices"
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

// Clone is a copy that shares nothing.
func (c *Channel) Clone() Channel {
	d := *c
	d.Overwrites = slices.Clone(c.Overwrites)
	return d
}

// TextLike says whether the name is normalised and the channel shown above the voice-like ones.
func TextLike(kind int) bool {
	return kind == TypeText || kind == TypeAnnouncement || kind == TypeForum || kind == TypeMedia
}

// ForumLike says whether the channel holds threads only.
func ForumLike(kind int) bool { return kind == TypeForum || kind == TypeMedia }

// Wire is the channel in Discord's JSON; which fields there are depends on the type.
func (c *Channel) Wire() map[string]any {
	w := map[string]any{
		"id": c.ID, "guild_id": c.GuildID, "type": c.Type, "name": c.Name, "position": c.Position, "flags": c.Flags,
		"parent_id": OrNull(c.ParentID), "permission_overwrites": append([]Overwrite{}, c.Overwrites...),
	}
	if c.Type == TypeCategory {
		return w
	}
	w["nsfw"] = c.NSFW
	w["rate_limit_per_user"] = c.RateLimitPerUser
	w["last_message_id"] = OrNull(c.LastMessageID)
	if c.Type == TypeVoice || c.Type == TypeStage {
		w["bitrate"], w["user_limit"], w["rtc_region"] = c.Bitrate, c.UserLimit, nil
		return w
	}
	w["topic"] = OrNull(c.Topic)
	if c.DefaultAutoArchive != 0 {
		w["default_auto_archive_duration"] = c.DefaultAutoArchive
	}
	return w
}
