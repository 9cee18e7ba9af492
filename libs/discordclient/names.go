// SPDX-License-Identifier: Apache-2.0

package discordclient

import (
	"strings"
	"unicode"

	"github.com/bwmarrin/discordgo"
)

// MaxNameLength is in characters: https://discord.com/developers/docs/resources/channel.
const MaxNameLength = 100

// NormaliseChannelName returns the name that Discord stores for a channel of type t: Discord
// rewrites names silently. Only lower case and '-' for a space are certain, and older channels keep
// upper case. So compare names with [SameChannelName], and refuse names that this function changes.
func NormaliseChannelName(t discordgo.ChannelType, name string) string {
	name = strings.TrimSpace(name)
	switch t {
	case discordgo.ChannelTypeGuildCategory, discordgo.ChannelTypeGuildVoice, discordgo.ChannelTypeGuildStageVoice:
		return name
	default:
	}
	var b strings.Builder
	dash := false
	for _, r := range strings.ToLower(name) {
		switch {
		case unicode.IsSpace(r) || r == '-' || r == '~':
			dash = true
			continue
		case r < unicode.MaxASCII && r != '_' && (unicode.IsPunct(r) || unicode.IsSymbol(r)):
			continue
		}
		if dash && b.Len() > 0 {
			b.WriteByte('-')
		}
		dash = false
		b.WriteRune(r)
	}
	if dash && b.Len() > 0 {
		b.WriteByte('-')
	}
	return b.String()
}

// SameChannelName reports whether a channel whose name in Discord is live needs no rename if its
// desired name is want. answered is the name in Discord's response to the last create or rename
// with want; empty if unknown.
func SameChannelName(t discordgo.ChannelType, want, live, answered string) bool {
	return live == want || live == NormaliseChannelName(t, want) || answered != "" && live == answered
}
