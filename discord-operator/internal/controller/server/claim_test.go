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

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func since(minutes int, s v1alpha1.DiscordServer) v1alpha1.DiscordServer {
	s.Status.ServerID = "7"
	for i := range s.Status.Conditions {
		s.Status.Conditions[i].LastTransitionTime = metav1.NewTime(now.Add(-time.Duration(minutes) * time.Minute))
	}
	return s
}

// claimant returns a server with an age in minutes. A zero availability means no conditions.
func claimant(uid types.UID, age int, can conditions.Availability, end error) v1alpha1.DiscordServer {
	s := v1alpha1.DiscordServer{ObjectMeta: metav1.ObjectMeta{
		UID: uid, CreationTimestamp: metav1.NewTime(now.Add(-time.Duration(age) * time.Minute)),
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
		"the only server":                                                               {[]v1alpha1.DiscordServer{claimant("a", 1, unseen, nil)}, "a"},
		"the older of two new servers":                                                  {[]v1alpha1.DiscordServer{claimant("a", 1, unseen, nil), claimant("b", 2, unseen, nil)}, "b"},
		"the smaller UID of two servers of the same age":                                {[]v1alpha1.DiscordServer{claimant("b", 1, unseen, nil), claimant("a", 1, unseen, nil)}, "a"},
		"the managing server":                                                           {[]v1alpha1.DiscordServer{claimant("a", 9, unseen, nil), claimant("b", 1, usable, nil)}, "b"},
		"the managing server, although it is not Ready":                                 {[]v1alpha1.DiscordServer{claimant("a", 9, unseen, nil), claimant("b", 1, usable, waiting)}, "b"},
		"a new server before an older server with a bad token":                          {[]v1alpha1.DiscordServer{claimant("a", 9, unusable, broken), claimant("b", 1, unseen, nil)}, "b"},
		"a server in conflict before an older server with a bad token":                  {[]v1alpha1.DiscordServer{claimant("a", 9, unusable, broken), claimant("b", 1, unusable, rival)}, "b"},
		"the older of two servers in conflict":                                          {[]v1alpha1.DiscordServer{claimant("a", 9, unusable, rival), claimant("b", 1, unusable, rival)}, "a"},
		"a server that managed the guild within lossGrace":                              {[]v1alpha1.DiscordServer{claimant("a", 9, unusable, rival), since(9, claimant("b", 1, unusable, broken))}, "b"},
		"an older server before a server that stopped managing lossGrace ago":           {[]v1alpha1.DiscordServer{claimant("a", 9, unusable, rival), since(10, claimant("b", 1, unusable, broken))}, "a"},
		"the managing server before an older server that stopped managing a minute ago": {[]v1alpha1.DiscordServer{claimant("a", 1, usable, nil), since(1, claimant("b", 9, unusable, broken))}, "a"},
		"the older server, although it waits for Discord":                               {[]v1alpha1.DiscordServer{claimant("a", 9, unusable, waiting), claimant("b", 1, unseen, nil)}, "a"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := manager(c.servers, now).UID; got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	if manager(nil, now) != nil {
		t.Error("a guild without claims has a manager")
	}
}
