// SPDX-License-Identifier: Apache-2.0

package channels

import (
	"strings"
	"unicode"
)

// NormaliseName returns the name that Discord stores for a text, announcement, forum or media
// channel: lower case, without most ASCII punctuation, with one "-" for white space, "-" and "~" in
// a row. The official app follows this rule, and Discord's server was observed to follow it. Discord
// does not document it.
func NormaliseName(name string) string {
	var b strings.Builder
	for _, r := range strings.TrimSpace(name) {
		switch {
		case unicode.IsSpace(r) || r == '-' || r == '~':
			if s := b.String(); s != "" && !strings.HasSuffix(s, "-") {
				b.WriteByte('-')
			}
		case r < unicode.MaxASCII && r != '_' && (unicode.IsPunct(r) || unicode.IsSymbol(r)):
		default:
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}
