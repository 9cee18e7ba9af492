// SPDX-License-Identifier: Apache-2.0

package channels

import (
	"strings"
	"unicode"
)

// NormaliseName is how the name of a text-like channel is stored: runs of white space, "-" and "~"
// become one "-", leading "-" go, ASCII punctuation other than "_" and "-" goes, letters become
// lower case; other alphabets and emoji stay. The rule is that of the official app, seen on the
// server too; the server's exact order of steps is not documented.
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
