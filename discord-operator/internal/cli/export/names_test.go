// SPDX-License-Identifier: Apache-2.0

package export

import (
	"strconv"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"jutsu.com/operators/libs/discordclient"
)

func TestStem(t *testing.T) {
	for name, want := range map[string]string{
		"incidents":              "incidents",
		"Tokyo Jujutsu High":     "tokyo-jujutsu-high",
		"🔥│incidents":            "incidents",
		"Café Zürich & Straße":   "cafe-zurich-strasse",
		"𝐆𝐞𝐧𝐞𝐫𝐚𝐥":                "general",
		"ⓐⓑⓒ ①":                  "abc-1",
		"--_--":                  "",
		"総合":                     "",
		"a_b__c":                 "a-b-c",
		strings.Repeat("ab", 40): strings.Repeat("ab", 21),
	} {
		if got := stem(name); got != want {
			t.Errorf("stem(%q) is %q, want %q", name, got, want)
		}
	}
}

func TestObjectNames(t *testing.T) {
	category := func(id, name string) *discordclient.Channel {
		return &discordclient.Channel{ID: id, Type: discordgo.ChannelTypeGuildCategory, Name: name}
	}
	text := func(id, parent, name string) *discordclient.Channel {
		return &discordclient.Channel{ID: id, ParentID: parent, Name: name}
	}
	for name, test := range map[string]struct {
		channels        []*discordclient.Channel
		groups, channel map[string]string
	}{
		"distinct names": {
			channels: []*discordclient.Channel{category("1", "Incidents"), text("2", "1", "tokyo"), text("3", "", "general")},
			groups:   map[string]string{"1": "incidents"}, channel: map[string]string{"2": "tokyo", "3": "general"},
		},
		"a group and a channel with the same name": {
			channels: []*discordclient.Channel{category("1", "Incidents"), text("2", "1", "incidents")},
			groups:   map[string]string{"1": "incidents"}, channel: map[string]string{"2": "incidents"},
		},
		"channels with the same name in different groups": {
			channels: []*discordclient.Channel{category("1", "Tokyo"), category("2", "Kyoto"), text("3", "1", "general"),
				text("4", "2", "general"), text("5", "", "general")},
			groups:  map[string]string{"1": "tokyo", "2": "kyoto"},
			channel: map[string]string{"3": "tokyo-general", "4": "kyoto-general", "5": "school-general"},
		},
		"two channels of a group whose names differ only in accents": {
			channels: []*discordclient.Channel{category("1", "Tokyo"), text("3", "1", "general"), text("4", "1", "général")},
			groups:   map[string]string{"1": "tokyo"}, channel: map[string]string{"3": "general-3", "4": "general-4"},
		},
		"two groups whose names differ only in case and punctuation": {
			channels: []*discordclient.Channel{category("1", "Tokyo!"), category("2", "tokyo")},
			groups:   map[string]string{"1": "tokyo-1", "2": "tokyo-2"}, channel: map[string]string{},
		},
		"names without ASCII letters": {
			channels: []*discordclient.Channel{category("1", "総合"), text("2", "1", "雑談"), text("3", "1", "雑談")},
			groups:   map[string]string{"1": "group-1"}, channel: map[string]string{"2": "channel-2", "3": "channel-3"},
		},
		"another channel has the prefixed name": {
			channels: []*discordclient.Channel{category("1", "Tokyo"), text("3", "1", "general"), text("4", "", "general"),
				text("5", "", "tokyo-general")},
			groups:  map[string]string{"1": "tokyo"},
			channel: map[string]string{"3": "general-3", "4": "school-general", "5": "school-tokyo-general"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			groups, channels := objectNames("school", sorted(test.channels))
			if diff := cmp.Diff(test.groups, groups); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.channel, channels); diff != "" {
				t.Errorf("channels (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNamesFitAndDiffer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.SampledFrom([]string{"a", "a-b", "b", "a-1000001", "channel-1000002", "A"}),
			rapid.StringN(0, 100, -1))
		var all []*discordclient.Channel
		parents := []string{""}
		for i := range rapid.IntRange(0, 12).Draw(t, "channels") {
			c := &discordclient.Channel{ID: strconv.Itoa(1000000 + i), Name: name.Draw(t, "name")}
			if c.ParentID = rapid.SampledFrom(parents).Draw(t, "parent"); rapid.Bool().Draw(t, "category") {
				c.Type, c.ParentID = discordgo.ChannelTypeGuildCategory, ""
				parents = append(parents, c.ID)
			}
			all = append(all, c)
		}
		groups, channels := objectNames("a", sorted(all))
		if len(groups)+len(channels) != len(all) {
			t.Fatalf("%d names for %d channels", len(groups)+len(channels), len(all))
		}
		for _, names := range []map[string]string{groups, channels} {
			taken := map[string]string{}
			for id, name := range names {
				if other, ok := taken[name]; ok {
					t.Fatalf("%s and %s are both called %s", id, other, name)
				}
				taken[name] = id
				if problems := validation.IsDNS1123Label(name); problems != nil {
					t.Fatalf("%q: %v", name, problems)
				}
			}
		}
	})
}

func TestProposed(t *testing.T) {
	for name, want := range map[string]string{
		"General Chat":           "general-chat",
		"!!!":                    "channel-7",
		"rules\x01":              "rules",
		"-":                      "channel-7",
		strings.Repeat("A", 101): strings.Repeat("a", maxStem),
	} {
		c := &discordclient.Channel{ID: "7", Name: name}
		if got := proposed(c); got != want || !storable(c.Type, got) || storable(c.Type, name) {
			t.Errorf("the name proposed for %q is %q, want %q", name, got, want)
		}
	}
}
