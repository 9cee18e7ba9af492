// SPDX-License-Identifier: Apache-2.0

package model

import (
	"slices"
)

// The simulated channel types.
const (
	TypeText         = 0
	TypeVoice        = 2
	TypeCategory     = 4
	TypeAnnouncement = 5
	TypeStage        = 13
	TypeForum        = 15
	TypeMedia        = 16
)

// Overwrite is a permission overwrite of a channel. Type is 0 for a role and 1 for a member.
type Overwrite struct {
	ID    string      `json:"id"`
	Type  int         `json:"type"`
	Allow Permissions `json:"allow"`
	Deny  Permissions `json:"deny"`
}

// Channel is a channel or a category. Empty ParentID, Topic, Region and LastMessageID mean null.
type Channel struct {
	ID, GuildID, ParentID string
	Type                  int
	Name, Topic           string
	Position              int
	NSFW                  bool
	RateLimitPerUser      int // seconds
	DefaultAutoArchive    int // minutes; 0: not set
	Flags                 int
	Overwrites            []Overwrite
	LastMessageID         string

	// Only for voice and stage channels.
	Bitrate, UserLimit int
	Region             string // empty: chosen by Discord
	VideoQuality       int    // 1 automatic, 2 full; 0: not set (automatic)

	// Only for forum and media channels.
	Tags           []Tag
	Reaction       Emoji
	SortOrder      *int // 0 latest activity, 1 creation date
	Layout         int  // 0 not set, 1 list, 2 gallery
	ThreadSlowmode int  // seconds
}

// Emoji is a guild's own emoji (ID) or a Unicode emoji (Name). The zero value is no emoji.
type Emoji struct{ ID, Name string }

// Tag is a tag that posts in a forum or media channel can have.
type Tag struct {
	ID, Name  string
	Moderated bool // only moderators may add the tag to a post
	Emoji     Emoji
}

// Flags of forum and media channels. FlagHideMediaDownload is only for media channels.
const (
	FlagRequireTag        = 1 << 4
	FlagHideMediaDownload = 1 << 15
)

const defaultBitrate = 64000

// Clone returns a copy with its own Overwrites and Tags. The copy shares SortOrder.
func (c *Channel) Clone() Channel {
	d := *c
	d.Overwrites, d.Tags = slices.Clone(c.Overwrites), slices.Clone(c.Tags)
	return d
}

// TextLike reports whether Discord normalises the names of channels of this type.
func TextLike(kind int) bool {
	return kind == TypeText || kind == TypeAnnouncement || kind == TypeForum || kind == TypeMedia
}

// VoiceLike reports whether a channel type is voice or stage.
func VoiceLike(kind int) bool { return kind == TypeVoice || kind == TypeStage }

// ForumLike reports whether a channel type is forum or media. These channels contain only threads.
func ForumLike(kind int) bool { return kind == TypeForum || kind == TypeMedia }

// Wire returns the channel in Discord's JSON, with the fields of its type.
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
	if VoiceLike(c.Type) {
		c.wireVoice(w)
		return w
	}
	w["topic"] = OrNull(c.Topic)
	if c.DefaultAutoArchive != 0 {
		w["default_auto_archive_duration"] = c.DefaultAutoArchive
	}
	if ForumLike(c.Type) {
		c.wireForum(w)
	}
	return w
}

func (c *Channel) wireVoice(w map[string]any) {
	w["bitrate"], w["user_limit"], w["rtc_region"] = c.Bitrate, c.UserLimit, OrNull(c.Region)
	if c.VideoQuality != 0 {
		w["video_quality_mode"] = c.VideoQuality
	}
}

func (c *Channel) wireForum(w map[string]any) {
	tags := []any{}
	for _, t := range c.Tags {
		tags = append(tags, map[string]any{
			"id": t.ID, "name": t.Name, "moderated": t.Moderated,
			"emoji_id": OrNull(t.Emoji.ID), "emoji_name": OrNull(t.Emoji.Name),
		})
	}
	w["available_tags"], w["default_reaction_emoji"], w["default_sort_order"] = tags, nil, nil
	if c.Reaction != (Emoji{}) {
		w["default_reaction_emoji"] = map[string]any{
			"emoji_id": OrNull(c.Reaction.ID), "emoji_name": OrNull(c.Reaction.Name),
		}
	}
	if c.SortOrder != nil {
		w["default_sort_order"] = *c.SortOrder
	}
	w["default_thread_rate_limit_per_user"] = c.ThreadSlowmode
	if c.Type == TypeForum {
		w["default_forum_layout"] = c.Layout
	}
}

// Defaults sets the bitrate of a voice or stage channel that has no bitrate.
func (c *Channel) Defaults() {
	if VoiceLike(c.Type) && c.Bitrate == 0 {
		c.Bitrate = defaultBitrate
	}
}
