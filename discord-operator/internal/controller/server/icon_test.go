// SPDX-License-Identifier: Apache-2.0

package server

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

func TestPlanIcon(t *testing.T) {
	t.Parallel()
	named := v1alpha1.ServerIcon{ConfigMapKeyRef: v1alpha1.ConfigMapKeyReference{Name: "icon", Key: "icon.png"}}
	set := &v1alpha1.ServerIconStatus{SourceHash: "sha256:1", DiscordHash: "one"}
	missing := conditions.Degraded(v1alpha1.ReasonIconNotFound, "missing")
	for name, c := range map[string]struct {
		unnamed bool
		icon    Icon
		set     *v1alpha1.ServerIconStatus
		live    string // Discord's hash
		boosted bool
		from    string
		changes bool
		reason  string
	}{
		"no icon in the spec":                         {unnamed: true, live: "one"},
		"a first icon":                                {icon: Icon{Hash: "sha256:1"}, changes: true},
		"replaces a user's icon":                      {icon: Icon{Hash: "sha256:1"}, live: "two", from: "two", changes: true},
		"in sync":                                     {icon: Icon{Hash: "sha256:1"}, set: set, live: "one"},
		"a changed image":                             {icon: Icon{Hash: "sha256:2"}, set: set, live: "one", from: "sha256:1", changes: true},
		"a user changed the icon":                     {icon: Icon{Hash: "sha256:1"}, set: set, live: "two", from: "two", changes: true},
		"a user removed the icon":                     {icon: Icon{Hash: "sha256:1"}, set: set, changes: true},
		"a missing image":                             {icon: Icon{Issue: missing}, set: set, live: "one", reason: v1alpha1.ReasonIconNotFound},
		"an animated image, a server without boosts":  {icon: Icon{Hash: "sha256:1", Animated: true}, reason: v1alpha1.ReasonIconUnusable},
		"an animated image, a server with boosts":     {icon: Icon{Hash: "sha256:1", Animated: true}, boosted: true, changes: true},
		"an animated icon stays after the boosts end": {icon: Icon{Hash: "sha256:1", Animated: true}, set: set, live: "one"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := &v1alpha1.DiscordServer{}
			if server.Status.Icon = c.set; !c.unnamed {
				server.Spec.Icon = &named
			}
			s := State{Icon: c.icon, Snapshot: &guildcache.Snapshot{Guild: discordclient.Guild{Icon: c.live}}}
			if c.boosted {
				s.Snapshot.Guild.Features = []string{"ANIMATED_ICON"}
			}
			icon, issue := desiredIcon(server, s)
			edit, d, _ := differences(server, s, icon)
			var want []resource.Change
			if c.changes {
				want = []resource.Change{{Field: "icon", From: c.from, To: c.icon.Hash}}
			}
			if diff := cmp.Diff(want, d.Changes, cmpopts.IgnoreFields(resource.Change{}, "Text")); diff != "" ||
				edit.icon.IsZero() == c.changes {
				t.Errorf("%v %s", edit.icon, diff)
			}
			if issue == nil && c.reason != "" || issue != nil && issue.Reason != c.reason {
				t.Errorf("the issue is %v", issue)
			}
		})
	}
}
