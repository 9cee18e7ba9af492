// SPDX-License-Identifier: Apache-2.0

package role

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/guildtest"
	"jutsu.com/operators/discord-operator/internal/discord/order"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/test/discordtest"
)

func TestLowPlacesOf(t *testing.T) {
	t.Parallel()
	role := func(namespace, id string) *v1alpha1.DiscordRole {
		return &v1alpha1.DiscordRole{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, UID: types.UID(id)},
			Status: v1alpha1.DiscordRoleStatus{RoleID: id}}
	}
	adopts := role("team-a", "5")
	adopts.Spec.Adopt, adopts.Status.Adopted = &v1alpha1.Adoption{ID: "5"}, true
	namesOwn := role("team-a", "6")
	namesOwn.Spec.Adopt = &v1alpha1.Adoption{ID: "6"}
	isNew := role("team-b", "")
	all := []status.Object{role("platform", "1"), role("team-a", "2"), role("team-b", "3"), isNew, adopts, namesOwn}
	held := func(o client.Object) string {
		if o == client.Object(isNew) {
			return "4"
		}
		return ""
	}
	if low := LowPlacesOf(role("platform", "1"), "platform", all, held); low != nil {
		t.Errorf("the server's own namespace: %v", low)
	}
	want := &LowPlaces{Own: map[string]bool{"2": true, "6": true}, Others: map[string]bool{"3": true, "4": true}}
	if diff := cmp.Diff(want, LowPlacesOf(role("team-a", ""), "platform", all, held)); diff != "" {
		t.Error(diff)
	}
}

// After each namespace has moved its roles once, no role has to move again.
func TestLowPlacesAreStable(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		roles []string // lowest first; a, b: of two tenants; o: of the server's namespace or a user
		want  []string
	}{
		"no role is too high":         {[]string{"a", "b", "a", "o", "o"}, []string{"a", "b", "a", "o", "o"}},
		"one role is too high":        {[]string{"b", "o1", "a", "o2"}, []string{"b", "a", "o1", "o2"}},
		"all roles are too high":      {[]string{"o1", "a1", "b", "o2", "a2"}, []string{"a1", "b", "a2", "o1", "o2"}},
		"the lowest role is a user's": {[]string{"o1", "a", "b", "o2"}, []string{"a", "b", "o1", "o2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := guildtest.New(t, discordtest.PermManageRoles)
			ids, names := map[byte]map[string]bool{'a': {}, 'b': {}, 'o': {}}, map[string]string{}
			for i, role := range c.roles {
				id := g.Discord.CreateRoleByHand(g.ID, discordtest.Role{Name: role, Position: 1 + i/2})
				g.Discord.EditRoleByHand(g.ID, id, func(r *discordtest.Role) { r.Position = 1 + i })
				ids[role[0]][id], names[id] = true, role
			}
			g.Discord.EditRoleByHand(g.ID, g.Discord.Guild(g.ID).Members[g.Bot.UserID].Own,
				func(r *discordtest.Role) { r.Position = 50 })
			snap := g.Snapshot(t)
			for _, tenant := range []byte("ab") {
				snap = lowered(snap, &LowPlaces{Own: ids[tenant], Others: ids['a'+'b'-tenant]})
			}
			var got []string
			for _, s := range resource.Roles.Siblings(snap, nil) {
				if names[s.ID] != "" {
					got = append(got, names[s.ID])
				}
			}
			want, sorted := c.want, got
			if diff := cmp.Diff(kinds(want), kinds(sorted)); diff != "" {
				t.Errorf("%v: %s", got, diff)
			}
			for _, tenant := range []byte("ab") {
				if low := (&LowPlaces{Own: ids[tenant], Others: ids['a'+'b'-tenant]}); !low.Holds(snap, "") {
					t.Errorf("%c would move its roles again", tenant)
				}
			}
		})
	}
}

func kinds(names []string) (all []string) {
	for _, name := range names {
		if name[0] != 'o' {
			name = "tenant"
		}
		all = append(all, name)
	}
	return all
}

func lowered(snap *guildcache.Snapshot, low *LowPlaces) *guildcache.Snapshot {
	var moved []discordclient.Role
	for _, move := range order.Moves(resource.Roles.Siblings(snap, nil), low.Ranks(snap, "")) {
		role, _ := snap.Role(move.ID)
		role.Position = move.Position
		moved = append(moved, role)
	}
	return snap.With(nil, moved)
}
