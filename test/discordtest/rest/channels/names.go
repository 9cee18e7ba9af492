// SPDX-License-Identifier: Apache-2.0

package channels

import (
	"strings"
	"unicode"
)

// NormaliseName returns the stored name of a text-like channel: runs of white space, "-" and "~"
// become one "-", leading "-" and ASCII punctuation other than "_" and "-" go, letters become lower
// case; other alphabets and emoji stay. This is the official app's rule, observed on the server
// too; the server's order of steps is not documented.
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
