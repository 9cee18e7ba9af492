// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"strings"
	"testing"
	"unicode"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

func TestTextsHaveNoControlCharacters(t *testing.T) {
	t.Parallel()
	const evil = "\x1b[2J\n::error::x"
	emoji := evil
	for name, c := range map[string]struct {
		value any
		text  Text
	}{
		"a text":          {evil, textOf},
		"a tag":           {[]discordclient.Tag{{Name: evil}}, textOf},
		"a tag's emoji":   {[]discordclient.Tag{{Emoji: discordclient.Emoji{Name: &emoji}}}, textOf},
		"an emoji":        {&discordclient.Emoji{Name: &emoji}, textOf},
		"a word":          {evil, Plain[string]},
		"an unknown type": {map[string]string{evil: evil}, textOf},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := c.text(c.value, &guildcache.Snapshot{}); strings.ContainsFunc(got, unicode.IsControl) || got == "" {
				t.Errorf("got %q", got)
			}
		})
	}
	if got := textOf(discordgo.ChannelTypeGuildText, nil); got != "Text" {
		t.Errorf("got %q", got)
	}
}
