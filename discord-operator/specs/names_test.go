// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/bwmarrin/discordgo"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"jutsu.com/operators/libs/discordclient"
)

// discordclient.NormaliseChannelName says which of these names Discord stores unchanged.
var channelNames = []string{
	"a", "alerts", "tokyo-incidents", "on_call", "2026", "4-2", "a-", "a_", "_", "__", "_a", "x-_-y", "0",
	"A", "Alerts", "ALERTS", "alertS", "On-Call", "Ärger", "straße", "STRASSE", "ÉCLAIR", "éclair", "ПРИВЕТ", "привет",
	"ΑΒΓ", "αβγ", "Džep",
	"ǅ", "ⅳ", "Ⅳ", "ⓐ", "Ⓐ", "İstanbul", "ẞ", "Ω", "K", "Å", "ϓ", "ℂ", "𝗔𝗹𝗮𝗿𝗺", "𝔘𝔫𝔱𝔢𝔯", "Ａ", "ａ", "Ა", "ა", "Ꭰ", "ꭰ",
	"𐐀", "𐐨", "Ⅎ",
	"two words", "two  words", " leading", "trailing ", "\ttab", "tab\tin", "line\nbreak", "vertical\vtab", "form\ffeed",
	"non\u00a0breaking", "next\u0085line",
	"em\u2003space", "ideographic\u3000space", "ogham\u1680space", "line\u2028separator", "zero\u200bwidth", "-", "--",
	"-a", "--a", "a--b", "a---b", "a - b",
	"~", "a~b", "~a", "a~-b", "a-~", "en–dash", "em—dash", "soft\u00adhyphen",
	"日本語", "アラート", "한국어", "العربية", "עברית", "ไทย", "हिन्दी", "🚨", "🚨alerts", "🚨-alerts", "🚨 alerts", "👩‍💻", "🏳️‍🌈",
	"🇯🇵", "1️⃣", "❗", "•", "│general", "「news」",
	"a’s", "“a”", "½", "²", "€", "£", "¿", "…", "№1", "a·b", "𝓪", "e\u0301",
	"C++", "Q&A", "#general", "dev/ops", "v1.2.3", "alerts!", "(old)", "[EU] Alerts", "team: a", "it's", "100%", "a,b;c",
	"@here", "<b>", "a=b", "a|b", "`code`",
	"^up", "{x}", "~~strike~~", "**bold**", "$$$", "...", "!?", "- -", "News & Updates!", "Ärger & Co.",
}

var suggestion = regexp.MustCompile(`write "(.*)"`)

var _ = Describe("The name of a channel", func() {
	DescribeTable("is accepted if Discord stores it unchanged, else the API refuses it and can suggest another name",
		func(ctx context.Context, names []string) {
			for _, name := range names {
				normal := discordclient.NormaliseChannelName(discordgo.ChannelTypeGuildText, name)
				err := submit(ctx, object("DiscordChannel", `{name: `+strconv.QuoteToASCII(name)+`}`))
				if normal == name {
					Expect(err).NotTo(HaveOccurred(), "%q", name)
					continue
				}
				Expect(err).To(MatchError(MatchRegexp(
					`(?s)spec\.name: Invalid value: (Discord would store another name than this; write |`+
						`must be lower case, since Discord stores it so)`)), "%q", name)
				suggested := suggestion.FindStringSubmatch(err.Error())
				if suggested == nil {
					Expect(normal == "" || normal == "-" || beyondSuggestions(name)).
						To(BeTrue(), "a name for %q could have been suggested: %s", name, err)
					continue
				}
				// Discord replaces white space at the end by a dash. The suggestion omits the dash.
				Expect(suggested[1]).To(Equal(strings.TrimSuffix(normal, "-")), "the suggestion for %q", name)
				Expect(submit(ctx, object("DiscordChannel", `{name: `+strconv.QuoteToASCII(suggested[1])+`}`))).
					To(Succeed(), "the suggestion for %q", name)
			}
		},
		Entry("names of many sorts", channelNames),
		Entry("names with ASCII punctuation in the middle", around("a", "b")),
		Entry("names with ASCII punctuation at the start", around("", "b")),
		Entry("names with ASCII punctuation at the end", around("a", "")),
		Entry("names of ASCII punctuation only", around("", "")),
	)

	It("must not have control characters", func(ctx context.Context) {
		for _, r := range "\x01\x1b\x7f\u009f" {
			err := submit(ctx, object("DiscordChannel", `{name: `+strconv.QuoteToASCII("a"+string(r)+"b")+`}`))
			Expect(err).
				To(MatchError(ContainSubstring("Discord would store another name than this; write lower case letters and digits")),
					"%q", r)
		}
	})
})

func around(before, behind string) []string {
	var names []string
	for r := rune(0x21); r < 0x7f; r++ {
		if unicode.IsPunct(r) || unicode.IsSymbol(r) {
			names = append(names, before+string(r)+behind)
		}
	}
	return names
}

// beyondSuggestions reports whether the API cannot suggest another name, because the name has rare
// white space, or letters that CEL cannot convert to lower case.
func beyondSuggestions(name string) bool {
	return strings.ContainsFunc(name, func(r rune) bool {
		rare := unicode.IsSpace(r) && !strings.ContainsRune(" \t\n\r\u00a0\u3000", r)
		return rare || r > unicode.MaxASCII && unicode.ToLower(r) != r
	})
}
