// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/issues"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
)

// A resource that the operator created does not count as adopted if spec.adopt names it later.
func TestNoRetention(t *testing.T) {
	t.Parallel()
	refused := conditions.Degraded(v1alpha1.ReasonNotAllowed, "No.")
	kind := aChannel
	for name, c := range map[string]struct {
		status v1alpha1.DiscordChannelStatus
		adopt  string
		want   bool
	}{
		"created":                                {v1alpha1.DiscordChannelStatus{ChannelID: "7"}, "", true},
		"created, and later named in spec.adopt": {v1alpha1.DiscordChannelStatus{ChannelID: "7"}, "7", true},
		"adopted":                                {v1alpha1.DiscordChannelStatus{ChannelID: "7", Adopted: true}, "7", false},
		"bound without proof of its create":      {v1alpha1.DiscordChannelStatus{ChannelID: "7", Matched: true}, "", false},
		"bound without proof of its create, and later named in spec.adopt": {v1alpha1.DiscordChannelStatus{ChannelID: "7", Matched: true}, "7", true},
		"no resource": {v1alpha1.DiscordChannelStatus{}, "", false},
	} {
		o := &v1alpha1.DiscordChannel{Status: c.status}
		if c.adopt != "" {
			o.Spec.Adopt = &v1alpha1.Adoption{ID: c.adopt}
		}
		r := resourcesOf(kind, clocktesting.NewFakePassiveClock(time.Now()), nil)
		if got := r.NoRetention(o, refused); (got != nil) != c.want {
			t.Errorf("%s: %v", name, got)
		}
		if got := r.NoRetention(o, nil); got != nil {
			t.Errorf("%s, allowed: %v", name, got)
		}
	}
}

func TestIsAdopted(t *testing.T) {
	t.Parallel()
	of := func(id string) Results { return Results{Live: &discordclient.Channel{ID: id}} }
	made := of("7")
	made.Created = true
	for name, c := range map[string]struct {
		binding Binding
		results Results
		want    bool
	}{
		"adopted now":    {Binding{Adopted: true}, of("7"), true},
		"adopted before": {Binding{Identity: Identity{Adopted: true, StatusID: "7"}}, of("7"), true},
		"created":        {Binding{}, made, false},
		"created in place of the adopted resource":   {Binding{Identity: Identity{Adopted: true, StatusID: "6"}}, made, false},
		"recovered in place of the adopted resource": {Binding{Identity: Identity{Adopted: true, StatusID: "6"}}, of("7"), false},
	} {
		if got := c.binding.IsAdopted(c.results); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestForceDoesNotBypassRetention(t *testing.T) {
	t.Parallel()
	limited := *conditions.Progressing(v1alpha1.ReasonRateLimited, "Later.").After(time.Hour)
	refused := conditions.Degraded(v1alpha1.ReasonNotAllowed, "No.")
	for name, known := range map[string]conditions.Issue{
		"a failure": *issues.DeletionFailed("Gone."), "a rate limit": limited, "a refusal": *refused,
	} {
		r := resourcesOf(aChannel, clocktesting.NewFakePassiveClock(time.Now()), nil)
		o := &v1alpha1.DiscordChannel{ObjectMeta: metav1.ObjectMeta{
			DeletionTimestamp: &metav1.Time{Time: time.Now().Add(-time.Hour)},
			Finalizers:        []string{v1alpha1.CleanupFinalizer},
			Annotations:       map[string]string{v1alpha1.ForceDeleteAnnotation: "true"},
		}}
		plan := r.Kind.PlanDeletion(false, Binding{Lookup: Lookup{NoRetention: refused}}, []conditions.Issue{known})
		if results := Delete(t.Context(), nil, r.Status, o, plan); results.Deleted || len(results.Issues) != 1 ||
			results.Issues[0].Reason != known.Reason {
			t.Errorf("%s: %+v", name, results)
		}
	}
}
