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
		"bound":                         {binding: Binding{Live: live}, want: &Deletion{By: resource.Channels, ID: "7"}},
		"recovered, with proof":         {binding: Binding{Live: live, Recovered: true}, want: &Deletion{By: resource.Channels, ID: "7"}},
		"absent":                        {binding: Binding{Absent: true}, want: &Deletion{How: gone}},
		"an issue blocks the deletion":  {binding: Binding{Live: live}, known: waits, issues: waits},
		"an issue blocks the retention": {retained: true, known: waits, issues: waits},
		"retained": {retained: true, want: &Deletion{
			How: Retained, Note: "Retained the channel on Discord.",
		}},
		"the channel of another object": {binding: Binding{Mismatch: conditions.Degraded("Conflict", "It is another's.")}, want: &Deletion{
			How: gone, Note: "Nothing is deleted on Discord: It is another's.",
		}},
		"also claimed by another object": {binding: Binding{Live: live, ClaimedBy: "ns/other"}, want: &Deletion{
			How: Retained, Note: "Retained the channel on Discord, because ns/other claims it too.",
		}},
		"not retained, retention not allowed": {binding: Binding{Lookup: none, Live: live}, want: &Deletion{By: resource.Channels, ID: "7"}},
		"retained, retention not allowed": {
			retained: true, binding: Binding{Lookup: none, Live: live}, issues: []conditions.Issue{*none.NoRetention},
		},
		"absent, retention not allowed": {retained: true, binding: Binding{Lookup: none, Absent: true}, want: &Deletion{How: gone}},
		"the channel of another object, retention not allowed": {
			retained: true, binding: Binding{Lookup: none, Mismatch: conditions.Degraded("Conflict", "It is another's.")},
			want: &Deletion{How: gone, Note: "Nothing is deleted on Discord: It is another's."},
		},
		"bound without proof, retention not allowed": {retained: true, binding: Binding{Lookup: none, Live: live, Guessed: true}, want: &Deletion{
			How: Retained, Note: "Retained the channel on Discord.",
		}},
		"claimed by an object of the same namespace, retention not allowed": {
			binding: Binding{Lookup: none, Live: live, ClaimedBy: "ns/other", ClaimedHere: true},
			issues: []conditions.Issue{*conditions.Degraded("NotAllowed", "This object is being deleted, but ns/other also "+
				"claims its channel on Discord. If nobody needs the channel, delete ns/other first. No.")},
		},
		"claimed by an object of another namespace, retention not allowed": {
			binding: Binding{Lookup: none, Live: live, ClaimedBy: "an object of another namespace"}, want: &Deletion{
				How: Retained, Note: "Retained the channel on Discord, because an object of another namespace claims it too.",
			}},
		"bound without proof": {binding: Binding{Live: live, Recovered: true, Guessed: true}, want: &Deletion{
			How: Retained, Note: "Retained the channel 7 on Discord, because another user may have created it.",
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
