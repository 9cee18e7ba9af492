// SPDX-License-Identifier: Apache-2.0

package export

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"jutsu.com/operators/libs/discordclient"
)

// maxStem leaves room for "-" and an id of 20 digits in a DNS label of 63 characters.
const maxStem = 42

// objectNames returns names by Discord id. An ambiguous channel name gets its group or server as a
// prefix. An ambiguous group name gets the id as a suffix, and so does a channel name that is
// ambiguous even with the prefix.
func objectNames(server string, l layout) (groups, channels map[string]string) {
	var ofGroups, ofChannels []candidates
	prefixes := map[string]string{"": stem(server)}
	for _, g := range l.categories {
		prefixes[g.ID] = stem(g.Name)
		ofGroups = append(ofGroups, candidates{g.ID, choices("", stem(g.Name), "group-"+g.ID, g.ID)})
	}
	for parent, siblings := range l.channels {
		for _, c := range siblings {
			ofChannels = append(ofChannels, candidates{c.ID, choices(prefixes[parent], stem(c.Name), "channel-"+c.ID, c.ID)})
		}
	}
	return distinct(ofGroups), distinct(ofChannels)
}

func roleNames(roles []discordclient.Role) map[string]string {
	var all []candidates
	for _, r := range roles {
		all = append(all, candidates{r.ID, choices("", stem(r.Name), "role-"+r.ID, r.ID)})
	}
	return distinct(all)
}

// candidates are possible names in order of preference. The last name has the id, so it is unique.
type candidates struct {
	id    string
	names []string
}

func choices(prefix, stem, nameless, id string) []string {
	switch {
	case stem == "":
		return []string{nameless}
	case prefix == "":
		return []string{stem, stem + "-" + id}
	}
	return []string{stem, truncated(prefix + "-" + stem), stem + "-" + id}
}

func distinct(all []candidates) map[string]string {
	level := map[string]int{}
	for {
		chosen, holders := map[string]string{}, map[string]int{}
		for _, c := range all {
			name := c.names[level[c.id]]
			chosen[c.id] = name
			holders[name]++
		}
		again := false
		for _, c := range all {
			if holders[chosen[c.id]] > 1 && level[c.id] < len(c.names)-1 {
				level[c.id]++
				again = true
			}
		}
		if !again {
			return chosen
		}
	}
}

// stem makes a DNS label from a name. The result is empty if no character of the name
// becomes a letter from a to z or a digit.
func stem(name string) string {
	var b strings.Builder
	for _, r := range cases.Fold().String(norm.NFKD.String(name)) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case unicode.Is(unicode.Mn, r): // an accent of the preceding letter
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	return truncated(b.String())
}

func truncated(s string) string {
	if len(s) > maxStem {
		s = s[:maxStem]
	}
	return strings.Trim(s, "-")
}
