// SPDX-License-Identifier: Apache-2.0

// Package tags finds the Discord ids of a spec's forum tags. It does no I/O. Posts lose a tag that
// an edit sends without its id. Tags match by name. If equally many tags of the spec and of the
// status have no match, the package treats these tags as renamed, in order.
package tags

import (
	"slices"
	"strings"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/discordclient"
)

// Of returns the tags of a spec, without ids. It returns nil only for nil.
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

// ToSpec is the inverse of [Of].
func ToSpec(live []discordclient.Tag) []v1alpha1.ForumTag {
	list := make([]v1alpha1.ForumTag, 0, len(live))
	for _, t := range live {
		list = append(list, v1alpha1.ForumTag{Name: t.Name, Moderated: t.Moderated, Emoji: v1alpha1.Emoji(t.String())})
	}
	return list
}

// Identify sets the ids of tags that exist on Discord.
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

func renamed(list, live []discordclient.Tag, recorded []v1alpha1.ForumTagStatus) []discordclient.Tag {
	var orphans []string
	for _, r := range recorded {
		if has(live, r.ID) && !has(list, r.ID) {
			orphans = append(orphans, r.ID)
		}
	}
	isNew := func(t discordclient.Tag) bool { return t.ID == "" }
	if len(orphans) != len(list)-len(slices.DeleteFunc(slices.Clone(list), isNew)) {
		return list
	}
	for i := range list {
		if isNew(list[i]) {
			list[i].ID, orphans = orphans[0], orphans[1:]
		}
	}
	return list
}

func has(list []discordclient.Tag, id string) bool {
	return slices.ContainsFunc(list, func(t discordclient.Tag) bool { return t.ID == id })
}

// Record returns a spec's tags for the status, or before if Discord does not have all these tags.
func Record(
	spec []v1alpha1.ForumTag, live []discordclient.Tag, before []v1alpha1.ForumTagStatus,
) (statuses []v1alpha1.ForumTagStatus) {
	for _, t := range Identify(Of(spec), live, before) {
		applied := func(l discordclient.Tag) bool { return l.ID == t.ID && l.Name == t.Name }
		if !slices.ContainsFunc(live, applied) {
			return before
		}
		statuses = append(statuses, v1alpha1.ForumTagStatus{Name: t.Name, ID: t.ID})
	}
	return statuses
}

// Same reports whether tags equal the tags on Discord apart from their ids.
func Same(list, live []discordclient.Tag) bool {
	return slices.EqualFunc(list, live, func(a, b discordclient.Tag) bool {
		return a.Name == b.Name && a.Moderated == b.Moderated && a.String() == b.String()
	})
}
