// SPDX-License-Identifier: Apache-2.0

// Package permissions translates Discord's permission bits to names and back. The names are
// Discord's in CamelCase: ViewChannel for VIEW_CHANNEL. A bit without a documented name is called
// after its number, such as "Bit47". Source:
// https://discord.com/developers/docs/topics/permissions, read 2026-08.
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

// The permissions that Go code uses by name. [Parse] knows all documented permissions.
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

var byName = func() map[string]Bits {
	m := make(map[string]Bits, len(byBit))
	for i, name := range byBit {
		if name != "" {
			m[name] = 1 << i
		}
	}
	return m
}()

// All has every documented permission. Guild owners and administrators have them all.
var All = func() Bits {
	var all Bits
	for _, b := range byName {
		all |= b
	}
	return all
}()

// Documented returns the documented names, ordered by bit.
func Documented() []string { return All.Names() }

// Names returns the names of the set bits, ordered by bit. It returns nil for no bits.
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

// Parse returns the bit of a documented name, or of a name such as "Bit47" for a bit without a
// documented name; false for other names.
func Parse(name string) (Bits, bool) {
	if b, ok := byName[name]; ok {
		return b, true
	}
	digits, ok := strings.CutPrefix(name, "Bit")
	if !ok {
		return 0, false
	}
	i, err := strconv.Atoi(digits)
	// Accept only the canonical form, so that each permission has one name.
	if err != nil || i < 0 || i > 63 || byBit[i] != "" || strconv.Itoa(i) != digits {
		return 0, false
	}
	return 1 << i, true
}

// Has reports whether all bits of want are set. Unlike [Base], it ignores [Administrator].
func (b Bits) Has(want Bits) bool { return b&want == want }

// Missing returns the bits of want that are not set.
func (b Bits) Missing(want Bits) Bits { return want &^ b }

func (b Bits) String() string { return strings.Join(b.Names(), ", ") }

// MarshalText returns the bits as a decimal number. JSON quotes the number, as Discord expects.
func (b Bits) MarshalText() ([]byte, error) { return strconv.AppendUint(nil, uint64(b), 10), nil }

// UnmarshalText reads the bits from a decimal number.
func (b *Bits) UnmarshalText(text []byte) error {
	v, err := strconv.ParseUint(string(text), 10, 64)
	if err != nil {
		return fmt.Errorf("permissions %q are not a decimal number: %w", text, err)
	}
	*b = Bits(v)
	return nil
}

// Base returns a member's permissions before overwrites. Owner and administrators have [All].
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
	ID    string                            `json:"id"` // of the role or user; the guild's id for @everyone
	Type  discordgo.PermissionOverwriteType `json:"type"`
	Allow Bits                              `json:"allow"`
	Deny  Bits                              `json:"deny"`
}

// In returns a member's permissions in a channel. Overwrites apply in Discord's order: @everyone's,
// the roles' (allow overrides deny), the member's. None restricts an administrator.
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
