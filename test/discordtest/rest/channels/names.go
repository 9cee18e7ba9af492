// SPDX-License-Identifier: Apache-2.0

package channels

import (
	"strings"
	"unicode"
)

// NormaliseName returns the stored name of a text-like channel. Runs of white space, "-" and "~"
// become one "-". Leading "-" and ASCII punctuation other than "_" and "-" are removed. Letters
// become lower case. Other alphabets and emoji stay. This is the official app's rule, which the
// server was observed to follow too. The order of the server's steps is not documented.
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
