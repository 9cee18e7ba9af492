// SPDX-License-Identifier: Apache-2.0

package discordclient

import (
	"strings"
	"unicode"

	"github.com/bwmarrin/discordgo"
)

// MaxNameLength is how long a channel's name may be, in characters
// (https://discord.com/developers/docs/resources/channel).
const MaxNameLength = 100

// NormaliseChannelName returns the name under which Discord stores a channel of a type when it is
// given name. Discord does so silently: it answers a create with the rewritten name, and no error.
//
// Categories, voice and stage channels keep their names, but for white space around them. All
// others are rewritten by the rule of the official client: a run of white space, '-' or '~' becomes
// one '-', a leading '-' goes, ASCII punctuation other than '-' and '_' goes, letters become lower
// case; other characters, emoji among them, stay.
//
// How sure this is: that the server normalises is certain, and so is lower case and '-' for a
// space. The rule itself is the client's, reported by its users and not documented; that the server
// strips punctuation was seen, the order of the steps was not, nor was what it does on a rename.
// And channels from before the rule keep upper case. Therefore a name counts as equal when it
// equals the one wanted, this function of it, or what Discord answered when it was last set: use
// [SameChannelName]. Refuse, where possible, names that this function changes.
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

// SameChannelName reports whether a channel that is called live needs no rename to be called want.
// answered is the name that Discord returned when want was last written, empty when that is not
// known.
func SameChannelName(t discordgo.ChannelType, want, live, answered string) bool {
	return live == want || live == NormaliseChannelName(t, want) || answered != "" && live == answered
}
