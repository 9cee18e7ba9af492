// SPDX-License-Identifier: Apache-2.0

// Package permissions translates Discord's permission bits to names and back.
//
// Names are those of Discord's documentation in CamelCase (VIEW_CHANNEL is ViewChannel, USE_VAD is
// UseVAD), which is also what discord.js and discord-api-types call them. A bit that has no
// documented name keeps a place of its own as "Bit47", so a translation never loses anything:
// [Bits.Names] and [Parse] are inverse to each other for every value.
//
// Source: https://discord.com/developers/docs/topics/permissions, read 2026-08.
package permissions

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bwmarrin/discordgo"
)

// Bits is a set of permissions, one bit each. Discord sends it as a decimal string.
type Bits uint64

// The permissions that have a use in Go. [Parse] knows all that Discord documents.
const (
	Administrator   Bits = discordgo.PermissionAdministrator
	ManageChannels  Bits = discordgo.PermissionManageChannels
	ManageGuild     Bits = discordgo.PermissionManageGuild
	AddReactions    Bits = discordgo.PermissionAddReactions
	ViewAuditLog    Bits = discordgo.PermissionViewAuditLogs
	ViewChannel     Bits = discordgo.PermissionViewChannel
	SendMessages    Bits = discordgo.PermissionSendMessages
	MentionEveryone Bits = discordgo.PermissionMentionEveryone
	Connect         Bits = discordgo.PermissionVoiceConnect
	Speak           Bits = discordgo.PermissionVoiceSpeak
	MoveMembers     Bits = discordgo.PermissionVoiceMoveMembers
	ManageRoles     Bits = discordgo.PermissionManageRoles
	ManageWebhooks  Bits = discordgo.PermissionManageWebhooks
)

// byBit holds the name of each bit; an empty one is not documented.
var byBit = [64]string{
	0: "CreateInstantInvite", 1: "KickMembers", 2: "BanMembers", 3: "Administrator", 4: "ManageChannels",
	5: "ManageGuild", 6: "AddReactions", 7: "ViewAuditLog", 8: "PrioritySpeaker", 9: "Stream", 10: "ViewChannel",
	11: "SendMessages", 12: "SendTTSMessages", 13: "ManageMessages", 14: "EmbedLinks", 15: "AttachFiles",
	16: "ReadMessageHistory", 17: "MentionEveryone", 18: "UseExternalEmojis", 19: "ViewGuildInsights", 20: "Connect",
	21: "Speak", 22: "MuteMembers", 23: "DeafenMembers", 24: "MoveMembers", 25: "UseVAD", 26: "ChangeNickname",
	27: "ManageNicknames", 28: "ManageRoles", 29: "ManageWebhooks", 30: "ManageGuildExpressions",
	31: "UseApplicationCommands", 32: "RequestToSpeak", 33: "ManageEvents", 34: "ManageThreads",
	35: "CreatePublicThreads", 36: "CreatePrivateThreads", 37: "UseExternalStickers", 38: "SendMessagesInThreads",
	39: "UseEmbeddedActivities", 40: "ModerateMembers", 41: "ViewCreatorMonetizationAnalytics", 42: "UseSoundboard",
	43: "CreateGuildExpressions", 44: "CreateEvents", 45: "UseExternalSounds", 46: "SendVoiceMessages",
	48: "SetVoiceChannelStatus", 49: "SendPolls", 50: "UseExternalApps", 51: "PinMessages", 52: "BypassSlowmode",
}

// byName is byBit the other way round.
var byName = func() map[string]Bits {
	m := make(map[string]Bits, len(byBit))
	for i, name := range byBit {
		if name != "" {
			m[name] = 1 << i
		}
	}
	return m
}()

// All is every documented permission: what the owner of a guild and an administrator hold.
var All = func() Bits {
	var all Bits
	for _, b := range byName {
		all |= b
	}
	return all
}()

// Documented returns the documented names in the order of their bits.
func Documented() []string { return All.Names() }

// Names returns the name of each bit that is set, in the order of the bits; nil for none.
func (b Bits) Names() []string {
	var names []string
	for i := range byBit {
		if b&(1<<i) == 0 {
			continue
		}
		if byBit[i] == "" {
			names = append(names, "Bit"+strconv.Itoa(i))
			continue
		}
		names = append(names, byBit[i])
	}
	return names
}

// Parse returns the bit of a name, in either of its two forms, and whether there is one.
func Parse(name string) (Bits, bool) {
	if b, ok := byName[name]; ok {
		return b, true
	}
	digits, ok := strings.CutPrefix(name, "Bit")
	if !ok {
		return 0, false
	}
	i, err := strconv.Atoi(digits)
	// The canonical form only, or one permission would have two names.
	if err != nil || i < 0 || i > 63 || byBit[i] != "" || strconv.Itoa(i) != digits {
		return 0, false
	}
	return 1 << i, true
}

// Has reports whether every one of want is set. [Administrator] has no special meaning here, see
// [Base].
func (b Bits) Has(want Bits) bool { return b&want == want }

// Missing returns those of want that are not set.
func (b Bits) Missing(want Bits) Bits { return want &^ b }

// String returns the names, separated by commas, for messages.
func (b Bits) String() string { return strings.Join(b.Names(), ", ") }

// MarshalText writes the decimal form that Discord uses, which JSON then puts in quotes.
func (b Bits) MarshalText() ([]byte, error) { return strconv.AppendUint(nil, uint64(b), 10), nil }

// UnmarshalText reads the decimal form that Discord uses.
func (b *Bits) UnmarshalText(text []byte) error {
	v, err := strconv.ParseUint(string(text), 10, 64)
	if err != nil {
		return fmt.Errorf("permissions %q are not a decimal number: %w", text, err)
	}
	*b = Bits(v)
	return nil
}

// Base computes what a member may do in a guild before channel overwrites, from the permissions of
// @everyone and of the member's roles. The owner and administrators hold everything.
func Base(owner bool, everyone Bits, roles ...Bits) Bits {
	bits := everyone
	for _, r := range roles {
		bits |= r
	}
	if owner || bits.Has(Administrator) {
		return All | bits
	}
	return bits
}

// Overwrite allows and denies permissions in one channel to a role or a member.
type Overwrite struct {
	ID    string                            `json:"id"` // of the role or the user; of the guild for @everyone
	Type  discordgo.PermissionOverwriteType `json:"type"`
	Allow Bits                              `json:"allow"`
	Deny  Bits                              `json:"deny"`
}

// In computes what a member may do in a channel, in Discord's order: @everyone's overwrite, then
// all of the member's roles together (an allow wins over a deny), then the member's own.
// Administrators are not bound by overwrites.
func In(base Bits, guildID, memberID string, roleIDs []string, overwrites []Overwrite) Bits {
	if base.Has(Administrator) {
		return base
	}
	var everyone, roles, member Overwrite
	for _, o := range overwrites {
		switch {
		case o.ID == guildID:
			everyone = o
		case o.ID == memberID:
			member = o
		case slices.Contains(roleIDs, o.ID):
			roles.Allow |= o.Allow
			roles.Deny |= o.Deny
		}
	}
	for _, o := range []Overwrite{everyone, roles, member} {
		base = base&^o.Deny | o.Allow
	}
	return base
}
