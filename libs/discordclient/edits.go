// SPDX-License-Identifier: Apache-2.0

package discordclient

import (
	"encoding/base64"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/bwmarrin/discordgo"
)

// Change is one field of an edit. The zero value leaves the field unchanged; see [Set].
type Change[T any] struct {
	value T
	set   bool
}

// Set returns a Change that sets a field. An empty text or id clears the field.
func Set[T any](value T) Change[T] { return Change[T]{value, true} }

// IsZero reports whether the field stays unchanged. encoding/json's omitzero then omits it.
func (c Change[T]) IsZero() bool { return !c.set }

// Get returns the new value and whether the field changes.
func (c Change[T]) Get() (T, bool) { return c.value, c.set }

// MarshalJSON writes null for an empty text and [] for a nil list, as Discord expects.
func (c Change[T]) MarshalJSON() ([]byte, error) {
	switch v := any(c.value).(type) {
	case string:
		if v == "" {
			return []byte("null"), nil
		}
	case []Overwrite:
		if v == nil {
			return []byte("[]"), nil
		}
	case []Tag:
		if v == nil {
			return []byte("[]"), nil
		}
	}
	return json.Marshal(c.value)
}

// ChannelCreate describes a new channel. Set the Overwrites of a private channel here, not later.
type ChannelCreate struct {
	Name     string                `json:"name"` // 1 to 100 characters; see [NormaliseChannelName]
	Type     discordgo.ChannelType `json:"type"`
	ParentID string                `json:"parent_id,omitempty"`
	Position *int                  `json:"position,omitempty"` // nil: Discord chooses
	// At most 100 entries. nil copies the overwrites of the category; an empty list means none.
	Overwrites []Overwrite `json:"permission_overwrites,omitzero"`
	// The fields above hide the ChannelEdit fields of the same names. Set Flags by an edit: a
	// create takes none.
	ChannelEdit
}

// ChannelEdit changes fields of a channel. Change name and topic in an edit without other fields:
// Discord allows two such changes per channel in ten minutes, and no header shows this limit.
type ChannelEdit struct {
	Name               Change[string]                `json:"name,omitzero"`
	Type               Change[discordgo.ChannelType] `json:"type,omitzero"` // only between text and announcement
	Topic              Change[string]                `json:"topic,omitzero"`
	ParentID           Change[string]                `json:"parent_id,omitzero"`
	Position           Change[int]                   `json:"position,omitzero"`
	NSFW               Change[bool]                  `json:"nsfw,omitzero"`
	Slowmode           Change[int]                   `json:"rate_limit_per_user,omitzero"`
	DefaultAutoArchive Change[int]                   `json:"default_auto_archive_duration,omitzero"`
	// Replaces all overwrites; at most 100.
	Overwrites   Change[[]Overwrite] `json:"permission_overwrites,omitzero"`
	Bitrate      Change[int]         `json:"bitrate,omitzero"`
	UserLimit    Change[int]         `json:"user_limit,omitzero"`
	Region       Change[string]      `json:"rtc_region,omitzero"`
	VideoQuality Change[int]         `json:"video_quality_mode,omitzero"`
	Flags        Change[int]         `json:"flags,omitzero"` // replaces all flags
	// Replaces all tags; a tag without an id is new.
	Tags            Change[[]Tag]  `json:"available_tags,omitzero"`
	DefaultReaction Change[*Emoji] `json:"default_reaction_emoji,omitzero"`
	SortOrder       Change[*int]   `json:"default_sort_order,omitzero"`
	Layout          Change[int]    `json:"default_forum_layout,omitzero"`
	ThreadSlowmode  Change[int]    `json:"default_thread_rate_limit_per_user,omitzero"`
}

// Without returns a copy of the edit without the fields that have these JSON names.
func (e ChannelEdit) Without(names ...string) ChannelEdit {
	v := reflect.ValueOf(&e).Elem()
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if slices.Contains(names, name) {
			v.Field(i).SetZero()
		}
	}
	return e
}

// Create returns a ChannelCreate of the edit without Overwrites, Position, Type and Flags.
func (e ChannelEdit) Create() ChannelCreate {
	in := ChannelCreate{Name: e.Name.value, ParentID: e.ParentID.value}
	in.ChannelEdit = e.Without("name", "parent_id", "permission_overwrites", "position", "type", "flags")
	return in
}

func (e ChannelEdit) hidden() string {
	if e.Name.IsZero() && e.Topic.IsZero() {
		return ""
	}
	return "name-topic"
}

// Move is a new position for [Client.MoveChannels] or [Client.MoveRoles].
type Move struct {
	ID       string `json:"id"`
	Position int    `json:"position"`
}

// GuildEdit changes settings of a guild.
type GuildEdit struct {
	Name                  Change[string] `json:"name,omitzero"`
	Description           Change[string] `json:"description,omitzero"`
	Icon                  Change[string] `json:"icon,omitzero"` // see [DataURI]; 1024 by 1024 pixels
	VerificationLevel     Change[int]    `json:"verification_level,omitzero"`
	DefaultNotifications  Change[int]    `json:"default_message_notifications,omitzero"`
	ExplicitContentFilter Change[int]    `json:"explicit_content_filter,omitzero"`
	PreferredLocale       Change[string] `json:"preferred_locale,omitzero"`
	AFKChannelID          Change[string] `json:"afk_channel_id,omitzero"`
	AFKTimeout            Change[int]    `json:"afk_timeout,omitzero"`
	SystemChannelID       Change[string] `json:"system_channel_id,omitzero"`
	SystemChannelFlags    Change[int]    `json:"system_channel_flags,omitzero"` // replaces all bits
	// A Community guild needs both of these text channels.
	RulesChannelID         Change[string] `json:"rules_channel_id,omitzero"`
	PublicUpdatesChannelID Change[string] `json:"public_updates_channel_id,omitzero"`
	// Features replaces the mutable features; see [Guild.WithCommunity].
	Features Change[[]string] `json:"features,omitzero"`
}

// DataURI encodes an image as Discord expects it. The format is png, jpeg or gif.
func DataURI(format string, image []byte) string {
	return "data:image/" + format + ";base64," + base64.StdEncoding.EncodeToString(image)
}

// AuditQuery selects entries of the audit log. Zero fields select everything.
type AuditQuery struct {
	Action discordgo.AuditLogAction
	UserID string // the user who acted
	// Only Discord's OpenAPI description has this filter, and a server may ignore it. So check the
	// TargetID of each entry.
	TargetID string
	After    string // only entries newer than this id, oldest first
	Before   string // only entries older than this id, newest first
	Limit    int    // 1 to 100; 0 for Discord's default of 50
}
