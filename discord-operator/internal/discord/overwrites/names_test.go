// SPDX-License-Identifier: Apache-2.0

package overwrites

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

func roleAt(name string, ago time.Duration, last byte) discordclient.Role {
	id := []byte(discordclient.SnowflakeAt(testNow.Add(-ago)))
	id[len(id)-1] = last
	return discordclient.Role{ID: string(id), Name: name}
}

var testNow = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

func snapshotOf(roles ...discordclient.Role) *guildcache.Snapshot {
	return (&guildcache.Snapshot{Guild: discordclient.Guild{ID: "1"}}).With(nil, roles)
}

func TestNames(t *testing.T) {
	t.Parallel()
	dev, twin := roleAt("Dev", 48*time.Hour, '1'), roleAt("Dev", 24*time.Hour, '2')
	fresh := roleAt("Dev", 10*time.Second, '3')
	renamed := dev
	renamed.Name = "Developers"
	digits := discordclient.Role{ID: fresh.ID, Name: dev.ID} // a new role with the id of a deleted role as its name
	server := types.NamespacedName{Namespace: "platform", Name: "company"}
	object := func(namespace, has string) v1alpha1.DiscordRole {
		ref := v1alpha1.ServerReference{Name: server.Name, Namespace: server.Namespace}
		return v1alpha1.DiscordRole{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "dev", UID: types.UID(namespace)},
			Spec:       v1alpha1.DiscordRoleSpec{ServerRef: ref, Name: "Anything"},
			Status:     v1alpha1.DiscordRoleStatus{RoleID: has},
		}
	}
	elsewhere := object("team-b", "")
	elsewhere.Spec.ServerRef.Name = "another"
	one := func(id string) []v1alpha1.ResolvedRole { return []v1alpha1.ResolvedRole{{Name: "Dev", ID: id}} }
	type scene struct {
		spec     []spec
		recorded []v1alpha1.ResolvedRole
		objects  []v1alpha1.DiscordRole
		held     map[types.UID]string
		roles    []discordclient.Role
		want     []v1alpha1.ResolvedRole
		reason   string
	}
	named := []spec{{Role: "Dev"}}
	for name, c := range map[string]scene{
		"a new name that one role has":               {spec: named, roles: []discordclient.Role{dev}, want: one(dev.ID)},
		"a new name that two roles have":             {spec: named, roles: []discordclient.Role{dev, twin}, reason: v1alpha1.ReasonAmbiguousRole},
		"a new name that no role has":                {spec: named, reason: v1alpha1.ReasonRoleNotFound},
		"@everyone, users and roleRefs are no names": {spec: []spec{{Role: "@everyone"}, {User: "7"}, {RoleRef: &v1alpha1.RoleReference{Name: "dev"}}}},
		"an id is no name":                           {spec: []spec{{Role: dev.ID}}, roles: []discordclient.Role{dev}},
		"an unknown id is no name":                   {spec: []spec{{Role: dev.ID}}, roles: []discordclient.Role{digits}},
		"a recorded name, though another role has the same name": {spec: named, recorded: one(dev.ID),
			roles: []discordclient.Role{dev, twin}, want: one(dev.ID)},
		"a recorded name, though the role was renamed": {spec: named, recorded: one(dev.ID),
			roles: []discordclient.Role{renamed, twin}, want: one(dev.ID)},
		"a recorded name, though another namespace now manages the role": {spec: named, recorded: one(dev.ID),
			objects: []v1alpha1.DiscordRole{object("team-b", dev.ID)}, roles: []discordclient.Role{dev}, want: one(dev.ID)},
		"a recorded role is deleted, and a new role of that name does not replace it": {spec: named, recorded: one(dev.ID),
			roles: []discordclient.Role{twin}, want: one(dev.ID), reason: v1alpha1.ReasonRoleNotFound},
		"drops a name that is no longer in the spec": {spec: []spec{{Role: "@everyone"}}, recorded: one(dev.ID),
			roles: []discordclient.Role{dev}},
		"a role of another namespace": {spec: named, objects: []v1alpha1.DiscordRole{object("team-b", dev.ID)},
			roles: []discordclient.Role{dev}, reason: v1alpha1.ReasonRoleNotFound},
		"a role of the object's own namespace": {spec: named, objects: []v1alpha1.DiscordRole{object("team-a", dev.ID)},
			roles: []discordclient.Role{dev}, want: one(dev.ID)},
		"two roles of that name, one of them of another namespace": {spec: named, objects: []v1alpha1.DiscordRole{object("team-b", twin.ID)},
			roles: []discordclient.Role{dev, twin}, want: one(dev.ID)},
		"a role of another namespace, in the records but not yet in the status": {spec: named,
			objects: []v1alpha1.DiscordRole{object("team-b", "")}, held: map[types.UID]string{"team-b": dev.ID},
			roles: []discordclient.Role{dev}, reason: v1alpha1.ReasonRoleNotFound},
		"a new role, while a DiscordRole of another namespace awaits its role": {spec: named,
			objects: []v1alpha1.DiscordRole{object("team-b", "")}, roles: []discordclient.Role{fresh},
			reason: v1alpha1.ReasonWaitingForRole},
		"an old role, while a DiscordRole of another namespace awaits its role": {spec: named,
			objects: []v1alpha1.DiscordRole{object("team-b", "")}, roles: []discordclient.Role{dev}, want: one(dev.ID)},
		"a new role, while a DiscordRole of another server awaits its role": {spec: named,
			objects: []v1alpha1.DiscordRole{elsewhere}, roles: []discordclient.Role{fresh}, want: one(fresh.ID)},
		"one of two names resolves": {spec: []spec{{Role: "Ops"}, {Role: "Dev"}},
			roles: []discordclient.Role{dev}, want: one(dev.ID), reason: v1alpha1.ReasonRoleNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			held := func(uid types.UID) string { return c.held[uid] }
			names := Names{Recorded: c.recorded, Others: OthersOf(c.objects, server, "team-a", held, testNow)}
			got, err := names.Resolve(c.spec, snapshotOf(c.roles...))
			reason := ""
			if issue, ok := errors.AsType[*conditions.Issue](err); ok {
				reason = issue.Reason
			}
			if diff := cmp.Diff(c.want, got); diff != "" || reason != c.reason {
				t.Errorf("got the reason %q, want %q: %v\n%s", reason, c.reason, err, diff)
			}
		})
	}
}
