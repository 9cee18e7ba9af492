// SPDX-License-Identifier: Apache-2.0

// Package tags gives the tags of a forum their ids. It is pure.
//
// Discord knows a tag by its id, which its posts carry, and replaces the whole list of tags: a tag that
// is sent without its id is a new one, and the posts of the old one lose it. A spec has names only. So a
// tag of the spec is the one on Discord that has its name. Where as many names of the spec have none as
// tags that the status records have lost theirs, the tags were renamed, in a spec or by hand, and are
// taken for each other in their order. Where the numbers differ, nothing says which is which, and the
// tags without a name on Discord are new.
package tags

import (
	"slices"
	"strings"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/discordclient"
)

// Of are the tags of a spec, without ids; nil where it has none.
func Of(spec []v1alpha1.ForumTag) []discordclient.Tag {
	if spec == nil {
		return nil
	}
	list := make([]discordclient.Tag, 0, len(spec))
	for _, t := range spec {
		emoji := discordclient.ParseEmoji(string(t.Emoji))
		list = append(list, discordclient.Tag{Name: t.Name, Moderated: t.Moderated, Emoji: emoji})
	}
	return list
}

// Identify gives tags the ids of those on Discord that they are, by the record of an earlier time.
func Identify( //nolint:gocognit // one rule after the other
	list, live []discordclient.Tag, recorded []v1alpha1.ForumTagStatus,
) []discordclient.Tag {
	list = slices.Clone(list)
	recordOf := func(name string) string {
		for _, r := range recorded {
			if r.Name == name && has(live, r.ID) {
				return r.ID
			}
		}
		return ""
	}
	byName := func(same func(a, b string) bool) func(string) string {
		return func(name string) string {
			for _, t := range live {
				if same(t.Name, name) && !has(list, t.ID) {
					return t.ID
				}
			}
			return ""
		}
	}
	exact := byName(func(a, b string) bool { return a == b })
	unrecorded := func(name string) string {
		if recordOf(name) != "" {
			return ""
		}
		return exact(name)
	}
	for _, idOf := range []func(name string) string{unrecorded, recordOf, exact, byName(strings.EqualFold)} {
		for i := range list {
			if id := idOf(list[i].Name); list[i].ID == "" && !has(list, id) {
				list[i].ID = id
			}
		}
	}
	return renamed(list, live, recorded)
}

// renamed gives the tags without an id those of recorded ones that have lost their names, if they are as
// many.
func renamed(list, live []discordclient.Tag, recorded []v1alpha1.ForumTagStatus) []discordclient.Tag {
	var lost []string
	for _, r := range recorded {
		if has(live, r.ID) && !has(list, r.ID) {
			lost = append(lost, r.ID)
		}
	}
	isNew := func(t discordclient.Tag) bool { return t.ID == "" }
	if len(lost) != len(list)-len(slices.DeleteFunc(slices.Clone(list), isNew)) {
		return list
	}
	for i := range list {
		if isNew(list[i]) {
			list[i].ID, lost = lost[0], lost[1:]
		}
	}
	return list
}

// has reports whether one of the tags has an id.
func has(list []discordclient.Tag, id string) bool {
	return slices.ContainsFunc(list, func(t discordclient.Tag) bool { return t.ID == id })
}

// Record is what a status says of the tags of a spec: the ids that they have on Discord, or, while it
// does not have all of them with their names, what was recorded before.
func Record(
	spec []v1alpha1.ForumTag, live []discordclient.Tag, before []v1alpha1.ForumTagStatus,
) (now []v1alpha1.ForumTagStatus) {
	for _, t := range Identify(Of(spec), live, before) {
		named := func(l discordclient.Tag) bool { return l.ID == t.ID && l.Name == t.Name }
		if !slices.ContainsFunc(live, named) {
			return before
		}
		now = append(now, v1alpha1.ForumTagStatus{Name: t.Name, ID: t.ID})
	}
	return now
}

// Same reports whether tags are those on Discord, whatever their ids.
func Same(list, live []discordclient.Tag) bool {
	return slices.EqualFunc(list, live, func(a, b discordclient.Tag) bool {
		return a.Name == b.Name && a.Moderated == b.Moderated && a.String() == b.String()
	})
}
