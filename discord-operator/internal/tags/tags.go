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
func Identify(list, live []discordclient.Tag, recorded []v1alpha1.ForumTagStatus) []discordclient.Tag {
	list = slices.Clone(list)
	used := func(id string) bool {
		return slices.ContainsFunc(list, func(t discordclient.Tag) bool { return t.ID == id })
	}
	for _, same := range []func(a, b string) bool{func(a, b string) bool { return a == b }, strings.EqualFold} {
		for i := range list {
			fits := func(t discordclient.Tag) bool { return same(t.Name, list[i].Name) && !used(t.ID) }
			if at := slices.IndexFunc(live, fits); at >= 0 && list[i].ID == "" {
				list[i].ID = live[at].ID
			}
		}
	}
	var lost []string
	for _, r := range recorded {
		stays := func(t discordclient.Tag) bool { return t.ID == r.ID }
		if slices.ContainsFunc(live, stays) && !used(r.ID) {
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

// Record is what a status says of the tags of a spec: the ids that they have on Discord, or, while it
// does not have all of them, what was recorded before.
func Record(
	spec []v1alpha1.ForumTag, live []discordclient.Tag, before []v1alpha1.ForumTagStatus,
) (now []v1alpha1.ForumTagStatus) {
	for _, t := range spec {
		i := slices.IndexFunc(live, func(l discordclient.Tag) bool { return l.Name == t.Name })
		if i < 0 {
			return before
		}
		now = append(now, v1alpha1.ForumTagStatus{Name: t.Name, ID: live[i].ID})
	}
	return now
}

// Same reports whether tags are those on Discord, whatever their ids.
func Same(list, live []discordclient.Tag) bool {
	return slices.EqualFunc(list, live, func(a, b discordclient.Tag) bool {
		return a.Name == b.Name && a.Moderated == b.Moderated && a.String() == b.String()
	})
}
