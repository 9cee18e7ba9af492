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

// Change is how an edit treats one field of an object: the zero value leaves it alone, [Set] gives
// it a value.
type Change[T any] struct {
	value T
	set   bool
}

// Set changes a field to a value. An empty text or id empties the field.
func Set[T any](value T) Change[T] { return Change[T]{value, true} }

// IsZero reports whether the field is left alone; encoding/json's omitzero then leaves it out.
func (c Change[T]) IsZero() bool { return !c.set }

// Get returns the new value and whether the field changes.
func (c Change[T]) Get() (T, bool) { return c.value, c.set }

// MarshalJSON writes the value in the form in which Discord takes it: null is no text, and no list.
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

// ChannelCreate describes a new channel, with everything it shall have: a private channel is
// private from its first moment only when its overwrites are in here.
type ChannelCreate struct {
	Name               string                `json:"name"` // 1 to 100 characters; see [NormaliseChannelName]
	Type               discordgo.ChannelType `json:"type"`
	Topic              string                `json:"topic,omitempty"`
	ParentID           string                `json:"parent_id,omitempty"`
	Position           *int                  `json:"position,omitempty"` // nil: Discord chooses
	NSFW               bool                  `json:"nsfw,omitempty"`
	Slowmode           int                   `json:"rate_limit_per_user,omitempty"`           // seconds, 0 to 21600
	DefaultAutoArchive int                   `json:"default_auto_archive_duration,omitempty"` // minutes, as in [Channel]
	// Of a voice or stage channel only, as in [Channel].
	Bitrate      int    `json:"bitrate,omitempty"`
	UserLimit    int    `json:"user_limit,omitempty"`
	Region       string `json:"rtc_region,omitempty"`
	VideoQuality int    `json:"video_quality_mode,omitempty"`
	// Of a forum or media channel only, as in [Channel]. Discord takes no Flags: set them by an edit.
	Flags           int    `json:"-"`
	Tags            []Tag  `json:"available_tags,omitempty"` // without ids
	DefaultReaction *Emoji `json:"default_reaction_emoji,omitempty"`
	SortOrder       *int   `json:"default_sort_order,omitempty"`
	Layout          int    `json:"default_forum_layout,omitempty"`
	ThreadSlowmode  int    `json:"default_thread_rate_limit_per_user,omitempty"`
	// Overwrites, at most 100. Nil leaves the choice to Discord, which takes those of the category;
	// an empty list is none.
	Overwrites []Overwrite `json:"permission_overwrites,omitzero"`
}

// ChannelEdit changes fields of a channel. Name and topic are under a hidden limit of two changes
// in ten minutes and channel; give both in one edit when both change, and other fields in an edit
// of their own when the limit holds them.
type ChannelEdit struct {
	Name               Change[string]                `json:"name,omitzero"`
	Type               Change[discordgo.ChannelType] `json:"type,omitzero"` // text to announcement and back only
	Topic              Change[string]                `json:"topic,omitzero"`
	ParentID           Change[string]                `json:"parent_id,omitzero"`
	Position           Change[int]                   `json:"position,omitzero"`
	NSFW               Change[bool]                  `json:"nsfw,omitzero"`
	Slowmode           Change[int]                   `json:"rate_limit_per_user,omitzero"`
	DefaultAutoArchive Change[int]                   `json:"default_auto_archive_duration,omitzero"`
	Overwrites         Change[[]Overwrite]           `json:"permission_overwrites,omitzero"` // replaces all; at most 100
	Bitrate            Change[int]                   `json:"bitrate,omitzero"`
	UserLimit          Change[int]                   `json:"user_limit,omitzero"`
	Region             Change[string]                `json:"rtc_region,omitzero"`
	VideoQuality       Change[int]                   `json:"video_quality_mode,omitzero"`
	Flags              Change[int]                   `json:"flags,omitzero"`          // all of them
	Tags               Change[[]Tag]                 `json:"available_tags,omitzero"` // all; without its id one is new
	DefaultReaction    Change[*Emoji]                `json:"default_reaction_emoji,omitzero"`
	SortOrder          Change[*int]                  `json:"default_sort_order,omitzero"`
	Layout             Change[int]                   `json:"default_forum_layout,omitzero"`
	ThreadSlowmode     Change[int]                   `json:"default_thread_rate_limit_per_user,omitzero"`
}

// Without returns the edit without some fields, by Discord's names of them.
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

// Create returns the create of a channel with what the edit sets. Overwrites, Position and Type are left out.
func (e ChannelEdit) Create() (in ChannelCreate) {
	from, to := reflect.ValueOf(e), reflect.ValueOf(&in).Elem()
	for i := range from.NumField() {
		switch name := from.Type().Field(i).Name; name {
		case "Overwrites", "Position", "Type":
		default:
			value := from.Field(i).MethodByName("Get").Call(nil)[0] // zero where the edit leaves the field alone
			to.FieldByName(name).Set(value)
		}
	}
	return in
}

// hidden names the hidden rate limit that the edit falls under.
func (e ChannelEdit) hidden() string {
	if e.Name.IsZero() && e.Topic.IsZero() {
		return ""
	}
	return "name-topic"
}

// Move is one line of a bulk change of positions.
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
	SystemChannelFlags    Change[int]    `json:"system_channel_flags,omitzero"` // all of them
	// RulesChannelID and PublicUpdatesChannelID are of text channels; a community server needs both.
	RulesChannelID         Change[string] `json:"rules_channel_id,omitzero"`
	PublicUpdatesChannelID Change[string] `json:"public_updates_channel_id,omitzero"`
	// Features replaces those that can be changed: see [Guild.WithCommunity].
	Features Change[[]string] `json:"features,omitzero"`
}

// DataURI is an image in the form in which Discord takes it. The format is png, jpeg or gif.
func DataURI(format string, image []byte) string {
	return "data:image/" + format + ";base64," + base64.StdEncoding.EncodeToString(image)
}

// AuditQuery selects entries of the audit log; zero fields do not select.
type AuditQuery struct {
	Action discordgo.AuditLogAction
	UserID string // who did it
	// TargetID is what was acted on. Discord's OpenAPI description has this filter, its reference has
	// not: check the answer.
	TargetID string
	After    string // only newer entries than this id, oldest first
	Before   string // only older entries than this id, newest first
	Limit    int    // 1 to 100; 0 for Discord's default of 50
}
