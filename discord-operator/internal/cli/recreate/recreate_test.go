// SPDX-License-Identifier: Apache-2.0

package recreate

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/kube/status"
)

const (
	channelID = "1401681709430341711"
	senseiID  = "1401681709430341720"
	otherID   = "1401681709430341721"
)

var now = time.Date(2026, 11, 24, 2, 55, 0, 0, time.UTC)

func deleted() metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "platform", Name: "alerts", Finalizers: []string{v1alpha1.CleanupFinalizer},
		DeletionTimestamp: new(metav1.NewTime(now)),
	}
}

func planned(t *testing.T, o status.Object, text string) (n status.Object, notes int) {
	t.Helper()
	before := o.DeepCopyObject()
	p, err := NewPlan(o, nil, now)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, o.DeepCopyObject()); diff != "" {
		t.Errorf("the old object has changed: %s", diff)
	}
	for _, note := range p.notes {
		if strings.Contains(note, text) {
			notes++
		}
	}
	return p.New, notes
}

// A role name must mean the same role in the new object, which has no status.
func TestNewPlanKeepsRoles(t *testing.T) {
	t.Parallel()
	spec := func(roles ...string) (all []v1alpha1.PermissionOverwrite) {
		for _, role := range roles {
			all = append(all, v1alpha1.PermissionOverwrite{Role: role, Allow: []v1alpha1.Permission{"ViewChannel"}})
		}
		return append(all, v1alpha1.PermissionOverwrite{RoleRef: &v1alpha1.RoleReference{Name: "dev"}})
	}
	recorded := []v1alpha1.ResolvedRole{{Name: "Sensei", ID: senseiID}}
	for name, c := range map[string]struct {
		roles, want []string
		notes       int
	}{
		"the status has the role's id":               {[]string{"@everyone", "Sensei"}, []string{"@everyone", senseiID}, 1},
		"the status lacks the role":                  {[]string{"New"}, []string{"New"}, 0},
		"the spec has an id":                         {[]string{otherID}, []string{otherID}, 0},
		"the spec has the name and the id of a role": {[]string{"Sensei", senseiID}, []string{"Sensei", senseiID}, 0},
		"only a roleRef":                             {nil, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			channel := &v1alpha1.DiscordChannel{ObjectMeta: deleted()}
			channel.Spec.PermissionOverwrites = spec(c.roles...)
			channel.Status = v1alpha1.DiscordChannelStatus{ChannelID: channelID, Roles: slices.Clone(recorded)}
			group := &v1alpha1.DiscordGroup{ObjectMeta: deleted()}
			group.Spec.PermissionOverwrites = spec(c.roles...)
			group.Status = v1alpha1.DiscordGroupStatus{GroupID: channelID, Roles: slices.Clone(recorded)}
			newChannel, inChannel := planned(t, channel, "the id "+senseiID+" replaces")
			newGroup, inGroup := planned(t, group, "the id "+senseiID+" replaces")
			for _, got := range [][]v1alpha1.PermissionOverwrite{
				newChannel.(*v1alpha1.DiscordChannel).Spec.PermissionOverwrites,
				newGroup.(*v1alpha1.DiscordGroup).Spec.PermissionOverwrites,
			} {
				if diff := cmp.Diff(spec(c.want...), got); diff != "" {
					t.Error(diff)
				}
			}
			if inChannel != c.notes || inGroup != c.notes {
				t.Errorf("%d and %d notes, want %d", inChannel, inGroup, c.notes)
			}
		})
	}
}

// The new object never deletes a resource that may belong to another user.
func TestNewPlanRetainsAnUnconfirmedMatch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		matched      bool
		adopt        string
		policy, want v1alpha1.DeletionPolicy
		notes        int
	}{
		"an unconfirmed match":                              {matched: true, want: v1alpha1.DeletionPolicyRetain, notes: 1},
		"an unconfirmed match, policy Delete":               {matched: true, policy: v1alpha1.DeletionPolicyDelete, want: v1alpha1.DeletionPolicyRetain, notes: 1},
		"a match that spec.adopt confirms keeps the policy": {matched: true, adopt: channelID, policy: v1alpha1.DeletionPolicyDelete, want: v1alpha1.DeletionPolicyDelete},
		"no match, policy Delete":                           {policy: v1alpha1.DeletionPolicyDelete, want: v1alpha1.DeletionPolicyDelete},
		"no match, no policy":                               {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var adopt *v1alpha1.Adoption
			if c.adopt != "" {
				adopt = &v1alpha1.Adoption{ID: c.adopt}
			}
			channel, group, role := &v1alpha1.DiscordChannel{ObjectMeta: deleted()}, &v1alpha1.DiscordGroup{ObjectMeta: deleted()},
				&v1alpha1.DiscordRole{ObjectMeta: deleted()}
			channel.Spec.DeletionPolicy, group.Spec.DeletionPolicy, role.Spec.DeletionPolicy = c.policy, c.policy, c.policy
			channel.Spec.Adopt, group.Spec.Adopt, role.Spec.Adopt = adopt, adopt, adopt
			channel.Status = v1alpha1.DiscordChannelStatus{ChannelID: channelID, Matched: c.matched}
			group.Status = v1alpha1.DiscordGroupStatus{GroupID: channelID, Matched: c.matched}
			role.Status = v1alpha1.DiscordRoleStatus{RoleID: channelID, Matched: c.matched}
			for _, o := range []status.Object{channel, group, role} {
				n, notes := planned(t, o, "may belong to another user")
				var got v1alpha1.DeletionPolicy
				switch n := n.(type) {
				case *v1alpha1.DiscordChannel:
					got = n.Spec.DeletionPolicy
				case *v1alpha1.DiscordGroup:
					got = n.Spec.DeletionPolicy
				case *v1alpha1.DiscordRole:
					got = n.Spec.DeletionPolicy
				}
				if got != c.want || notes != c.notes {
					t.Errorf("%T: policy %q, want %q; %d notes", n, got, c.want, notes)
				}
			}
		})
	}
}
