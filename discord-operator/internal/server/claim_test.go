// SPDX-License-Identifier: Apache-2.0

package server

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/conditions"
)

// claimant is a server of some age, in minutes, with the conditions that an availability and an
// outcome lead to.
func claimant(uid types.UID, age int, can conditions.Availability, end error) v1alpha1.DiscordServer {
	s := v1alpha1.DiscordServer{ObjectMeta: metav1.ObjectMeta{
		UID: uid, CreationTimestamp: metav1.NewTime(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC).Add(-time.Duration(age) * time.Minute)),
	}}
	if can != (conditions.Availability{}) {
		conditions.Set(&s.Status.Conditions, 1, can, conditions.Worst(conditions.Of(end)))
	}
	return s
}

func TestManager(t *testing.T) {
	t.Parallel()
	unseen := conditions.Availability{}
	usable := conditions.Usable(v1alpha1.ReasonOnDiscord, "x")
	unusable := conditions.Unusable(v1alpha1.ReasonNotManageable, "x")
	broken := conditions.Degraded(v1alpha1.ReasonAuthenticationFailed, "")
	rival := conditions.Degraded(v1alpha1.ReasonConflict, "")
	waiting := conditions.Progressing(v1alpha1.ReasonWaitingForDiscord, "")
	cases := map[string]struct {
		servers []v1alpha1.DiscordServer
		want    types.UID
	}{
		"one alone": {[]v1alpha1.DiscordServer{claimant("a", 1, unseen, nil)}, "a"},
		"the older of two that were not reconciled yet": {[]v1alpha1.DiscordServer{claimant("a", 1, unseen, nil), claimant("b", 2, unseen, nil)}, "b"},
		"of the same age, always the same":              {[]v1alpha1.DiscordServer{claimant("b", 1, unseen, nil), claimant("a", 1, unseen, nil)}, "a"},
		"the one that manages it already":               {[]v1alpha1.DiscordServer{claimant("a", 9, unseen, nil), claimant("b", 1, usable, nil)}, "b"},
		"also while it is not Ready":                    {[]v1alpha1.DiscordServer{claimant("a", 9, unseen, nil), claimant("b", 1, usable, waiting)}, "b"},
		"an older one with a bad token is not waited":   {[]v1alpha1.DiscordServer{claimant("a", 9, unusable, broken), claimant("b", 1, unseen, nil)}, "b"},
		"nor by one that is in conflict":                {[]v1alpha1.DiscordServer{claimant("a", 9, unusable, broken), claimant("b", 1, unusable, rival)}, "b"},
		"an older one in conflict comes next":           {[]v1alpha1.DiscordServer{claimant("a", 9, unusable, rival), claimant("b", 1, unusable, rival)}, "a"},
		"one that waits keeps its age":                  {[]v1alpha1.DiscordServer{claimant("a", 9, unusable, waiting), claimant("b", 1, unseen, nil)}, "a"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := manager(c.servers).UID; got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	if manager(nil) != nil {
		t.Error("a guild without claims has a manager")
	}
}
