// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
)

func TestPlanDeletion(t *testing.T) {
	t.Parallel()
	live, waits := &discordclient.Channel{ID: "7"}, []conditions.Issue{*conditions.Progressing("W", "w")}
	kind := Kind{Noun: "channel", Calls: resource.Channels}
	none := Lookup{NoRetention: conditions.Degraded("NotAllowed", "No.")}
	cases := map[string]struct {
		retained bool
		binding  Binding
		known    []conditions.Issue
		want     *Deletion
		issues   []conditions.Issue
	}{
		"bound":                          {binding: Binding{Live: live}, want: &Deletion{By: resource.Channels, ID: "7"}},
		"recovered, with proof":          {binding: Binding{Live: live, Recovered: true}, want: &Deletion{By: resource.Channels, ID: "7"}},
		"absent":                         {binding: Binding{Absent: true}, want: &Deletion{How: gone}},
		"something keeps it":             {binding: Binding{Live: live}, known: waits, issues: waits},
		"something keeps a retained one": {retained: true, known: waits, issues: waits},
		"retained": {retained: true, want: &Deletion{
			How: Retained, Note: "Retained the channel on Discord.",
		}},
		"another object's": {binding: Binding{Mismatch: conditions.Degraded("Conflict", "It is another's.")}, want: &Deletion{
			How: gone, Note: "Nothing is deleted on Discord: It is another's.",
		}},
		"another object claims it too": {binding: Binding{Live: live, ClaimedBy: "ns/other"}, want: &Deletion{
			How: Retained, Note: "Retained the channel on Discord, which ns/other claims too.",
		}},
		"where nothing may be retained": {binding: Binding{Lookup: none, Live: live}, want: &Deletion{By: resource.Channels, ID: "7"}},
		"retained, where it may not be": {
			retained: true, binding: Binding{Lookup: none, Live: live}, issues: []conditions.Issue{*none.NoRetention},
		},
		"the same that is gone": {retained: true, binding: Binding{Lookup: none, Absent: true}, want: &Deletion{How: gone}},
		"the same that is another's": {
			retained: true, binding: Binding{Lookup: none, Mismatch: conditions.Degraded("Conflict", "It is another's.")},
			want: &Deletion{How: gone, Note: "Nothing is deleted on Discord: It is another's."},
		},
		"the same that is a guess": {retained: true, binding: Binding{Lookup: none, Live: live, Guessed: true}, want: &Deletion{
			How: Retained, Note: "Retained the channel on Discord.",
		}},
		"a sibling claims it, where nothing may be retained": {
			binding: Binding{Lookup: none, Live: live, ClaimedBy: "ns/other", ClaimedHere: true},
			issues: []conditions.Issue{*conditions.Degraded("NotAllowed", "The object is being deleted, and ns/other claims "+
				"what it has on Discord too. Delete that object first: No.")},
		},
		"the owner has it, where nothing may be retained": {
			binding: Binding{Lookup: none, Live: live, ClaimedBy: "an object of another namespace"}, want: &Deletion{
				How: Retained, Note: "Retained the channel on Discord, which an object of another namespace claims too.",
			}},
		"guessed": {binding: Binding{Live: live, Recovered: true, Guessed: true}, want: &Deletion{
			How: Retained, Note: "Retained 7 on Discord: it may be the result of an interrupted create, or belong to another user.",
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := kind.PlanDeletion(c.retained, c.binding, c.known)
			if diff := cmp.Diff(c.want, got.Delete); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.issues, got.Issues); diff != "" {
				t.Error(diff)
			}
		})
	}
}
