// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/discordclient"
)

func named(text string) (list []discordclient.Tag) {
	for _, word := range strings.Fields(text) {
		id, name, ok := strings.Cut(word, ":")
		if !ok {
			id, name = "", word
		}
		list = append(list, discordclient.Tag{ID: id, Name: name})
	}
	return list
}

func recorded(text string) (list []v1alpha1.ForumTagStatus) {
	for _, t := range named(text) {
		list = append(list, v1alpha1.ForumTagStatus{Name: t.Name, ID: t.ID})
	}
	return list
}

func written(list []discordclient.Tag) string {
	var words []string
	for _, t := range list {
		words = append(words, strings.TrimPrefix(t.ID+":"+t.Name, ":"))
	}
	return strings.Join(words, " ")
}

func TestIdentify(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ spec, live, recorded, want string }{
		"new tags":                                                       {"a b", "", "", "a b"},
		"existing tags with the same names":                              {"a b", "1:a 2:b", "", "1:a 2:b"},
		"in another order":                                               {"b a", "1:a 2:b", "1:a 2:b", "2:b 1:a"},
		"one is renamed":                                                 {"c b", "1:a 2:b", "1:a 2:b", "1:c 2:b"},
		"one is renamed and moved":                                       {"b c", "1:a 2:b", "1:a 2:b", "2:b 1:c"},
		"all are renamed":                                                {"c d", "1:a 2:b", "1:a 2:b", "1:c 2:d"},
		"two tags exchange their names":                                  {"b a", "1:a 2:b", "1:a 2:b", "2:b 1:a"},
		"renamed to upper case":                                          {"A b", "1:a 2:b", "", "1:A 2:b"},
		"a new tag at the front":                                         {"c a b", "1:a 2:b", "1:a 2:b", "c 1:a 2:b"},
		"one is removed":                                                 {"b", "1:a 2:b", "1:a 2:b", "2:b"},
		"one is renamed, and another is added":                           {"c d b", "1:a 2:b", "1:a 2:b", "c d 2:b"},
		"renamed by hand":                                                {"a b", "1:x 2:b", "1:a 2:b", "1:a 2:b"},
		"renamed by hand, beside an unmanaged tag":                       {"a b", "1:x 2:b 3:y", "1:a 2:b", "1:a 2:b"},
		"deleted by hand":                                                {"a b", "2:b", "1:a 2:b", "a 2:b"},
		"recreated by hand":                                              {"a b", "2:b 3:a", "1:a 2:b", "3:a 2:b"},
		"renamed, before the first record":                               {"c b", "1:a 2:b", "", "c 2:b"},
		"renamed on Discord, before the record follows":                  {"c b", "1:c 2:b", "1:a 2:b", "1:c 2:b"},
		"two tags of one name on Discord, one of them recorded":          {"a", "1:a 2:a", "2:a", "2:a"},
		"renamed by hand, and another is added to the spec":              {"a d", "1:c", "1:a", "1:a d"},
		"all renamed by hand, and another is added to the spec":          {"a b d", "1:x 2:y", "1:a 2:b", "1:a 2:b d"},
		"renamed by hand, and another is removed from the spec":          {"a", "1:c 2:b", "1:a 2:b", "1:a"},
		"renamed by hand to the name of another tag":                     {"a b", "1:b 2:x", "1:a 2:b", "1:a 2:b"},
		"names exchanged by hand":                                        {"a b", "1:b 2:a", "1:a 2:b", "1:a 2:b"},
		"renamed by hand, and an unmanaged tag has the name in capitals": {"a", "1:x 2:A", "1:a", "1:a"},
		"a new tag has the old name of a renamed tag, and comes first":   {"a c", "1:c", "1:a", "a 1:c"},
		"a new tag has the old name of a renamed tag, and comes last":    {"c a", "1:c", "1:a", "1:c a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(c.want, written(Identify(named(c.spec), named(c.live), recorded(c.recorded)))); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestRecord(t *testing.T) {
	t.Parallel()
	spec := []v1alpha1.ForumTag{{Name: "b"}, {Name: "a"}}
	before := recorded("7:x")
	if d := cmp.Diff(recorded("2:b 1:a"), Record(spec, named("1:a 2:b 3:c"), before)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(before, Record(spec, named("1:a"), before)); d != "" {
		t.Errorf("while Discord lacks a tag of the spec: %s", d)
	}
	swapped := recorded("2:b 1:a")
	if d := cmp.Diff(swapped, Record(spec, named("1:b 2:a"), swapped)); d != "" {
		t.Errorf("while names are changed by hand: %s", d)
	}
	if got := Record(nil, named("1:a"), before); got != nil {
		t.Errorf("got %v for no tags in the spec", got)
	}
}

// Identify gives no id twice, and finds the same tags again after an edit.
func TestIdentifyIsSound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.SampledFrom(strings.Split("abcdefgh", "")), 0, 5, rapid.ID[string])
		live := names.Draw(t, "live")
		var onDiscord []discordclient.Tag
		var known []v1alpha1.ForumTagStatus
		for i, name := range live {
			id := string(rune('1' + i))
			onDiscord = append(onDiscord, discordclient.Tag{ID: id, Name: name})
			if rapid.Bool().Draw(t, "recorded") {
				known = append(known, v1alpha1.ForumTagStatus{Name: rapid.SampledFrom([]string{name, "x"}).Draw(t, "as"), ID: id})
			}
		}
		spec := named(strings.Join(names.Draw(t, "spec"), " "))
		got := Identify(spec, onDiscord, known)
		ids := map[string]bool{}
		for i, tag := range got {
			if tag.Name != spec[i].Name || tag.ID != "" && ids[tag.ID] {
				t.Fatalf("got %s of %s on %s", written(got), written(spec), written(onDiscord))
			}
			ids[tag.ID] = true
		}
		stored := make([]discordclient.Tag, len(got))
		for i, tag := range got {
			if stored[i] = tag; tag.ID == "" {
				stored[i].ID = "new " + tag.Name
			}
		}
		if again := Identify(spec, stored, known); written(again) != written(stored) {
			t.Fatalf("again %s, stored %s", written(again), written(stored))
		}
	})
}
