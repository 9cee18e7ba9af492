// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/discordtest"
)

const (
	guestRoleUID, guestGroupUID = "66666666-guest", "77777777-guest"
	guestRole, guestCategory    = "250", "210" // ids on Discord
	guestUser                   = "701"
)

func guestEntry(action int, id, uid string) discordtest.AuditEntry {
	e := madeFor(action, id, uid)
	e.Reason = "Kind " + uid + " " + guest + "/" + guestName(0)
	return e
}

func worldWithGuest() *world {
	ready := conds("Reconciled", "Available", "Ready")
	of := func(uid string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: guest, Name: guestName(0), UID: types.UID(uid), Generation: 1}
	}
	w := validWorld()
	w.guests = &guests{
		groups: []*v1alpha1.DiscordGroup{{ObjectMeta: of(guestGroupUID), Status: v1alpha1.DiscordGroupStatus{
			ObservedGeneration: 1, Conditions: ready, GroupID: guestCategory}}},
		roles: []*v1alpha1.DiscordRole{{ObjectMeta: of(guestRoleUID),
			Spec: v1alpha1.DiscordRoleSpec{Name: "Grade 1", Permissions: []v1alpha1.Permission{"ViewChannel"}},
			Status: v1alpha1.DiscordRoleStatus{
				ObservedGeneration: 1, Conditions: ready, RoleID: guestRole}}},
	}
	w.guild.Roles = append(w.guild.Roles,
		discordtest.Role{ID: guestRole, Name: "Grade 1", Position: 1, Permissions: discordtest.PermViewChannel})
	w.guild.Roles[2].Position, w.guild.Roles[3].Position = 3, 2
	w.userRoles[handRoleID] = w.guild.Roles[3]
	w.guild.Channels = append(w.guild.Channels,
		discordtest.Channel{ID: guestCategory, Type: discordtest.TypeCategory, Name: "Teams"})
	w.members[guestUser] = []string{guestRole}
	given := guestEntry(auditMemberRoles, guestUser, guestRoleUID)
	given.Changes = added(guestRole)
	w.guild.Audit = append(w.guild.Audit, guestEntry(auditRoleCreate, guestRole, guestRoleUID),
		guestEntry(auditChannelCreate, guestCategory, guestGroupUID), given)
	return w
}

func added(role string) []discordtest.AuditChange {
	return []discordtest.AuditChange{{Key: "$add", New: []any{map[string]any{"id": role}}}}
}

func TestGuestWithinItsGrant(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*world){
		"the guest has only granted resources": func(*world) {},
		"the operator refuses the guest's role": func(w *world) {
			w.guests.roles[0].Spec.Permissions = []v1alpha1.Permission{"ManageRoles"}
			w.guests.roles[0].Status.Conditions = conds(v1alpha1.ReasonNotAllowed, "Available", "Degraded")
		},
		"the deletion of the guest's DiscordRole waits, because the role would stay on Discord": func(w *world) {
			w.guests.roles[0].DeletionTimestamp = now()
			w.guests.roles[0].Status.Conditions = conds(v1alpha1.ReasonNotAllowed, "Degraded")
		},
		"a user has moved the guest's role": func(w *world) {
			w.guild.Roles[4].Position = 5
			w.dragged = map[string]bool{guestRole: true}
		},
		"a user has moved a user's role below the guest's role": func(w *world) {
			w.guild.Roles[3].Position = 0
			w.dragged = map[string]bool{handRoleID: true}
		},
		"the first tenant's role moves when the operator moves the guest's role": func(w *world) {
			moved := guestEntry(auditRoleUpdate, grade, guestRoleUID)
			moved.Changes = []discordtest.AuditChange{{Key: "position"}}
			w.guild.Audit = append(w.guild.Audit, moved)
		},
		"the guest's role is deleted with its object": func(w *world) {
			w.guests.roles = nil
			w.guild.Roles = w.guild.Roles[:4]
			w.members[guestUser] = nil
			w.guild.Audit = append(w.guild.Audit, guestEntry(auditRoleDelete, guestRole, guestRoleUID))
		},
		"an overwrite names a role by a name that the guest's role also has": func(w *world) {
			w.guild.Roles[2], w.guild.Roles[4] = w.guild.Roles[4], w.guild.Roles[2]
			w.channels[0].Spec.PermissionOverwrites = []v1alpha1.PermissionOverwrite{
				{Role: "Grade 1", Allow: []v1alpha1.Permission{"ViewChannel"}}}
			w.guild.Channels[1].Overwrites = []discordtest.Overwrite{{ID: grade, Allow: discordtest.PermViewChannel}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := worldWithGuest()
			change(w)
			if wrong := check(w); len(wrong) > 0 {
				t.Error(wrong)
			}
		})
	}
}

func TestGuestBeyondItsGrant(t *testing.T) {
	t.Parallel()
	deed := func(action int, id string, changes ...discordtest.AuditChange) func(*world) {
		return func(w *world) {
			e := guestEntry(action, id, guestRoleUID)
			e.Changes = changes
			w.guild.Audit = append(w.guild.Audit, e)
		}
	}
	for name, c := range map[string]struct {
		change          func(*world)
		invariant, says string
	}{
		"the guest's role has permissions above the ceiling": {func(w *world) {
			w.guild.Roles[4].Permissions |= discordtest.PermManageRoles
		}, grantInvariant, "above the ceiling"},
		"a DiscordRole is Ready although its spec has permissions above the ceiling": {func(w *world) {
			w.guests.roles[0].Spec.Permissions = []v1alpha1.Permission{"Administrator"}
		}, grantInvariant, "above the ceiling"},
		"the guest's role is above the first tenant's role": {func(w *world) { w.guild.Roles[4].Position = 4 }, grantInvariant,
			"it is above the role"},
		"the guest's role is above a user's role": {func(w *world) { w.guild.Roles[3].Position = 0 }, grantInvariant,
			"above the role " + handRoleID},
		"the guest's user gets a role that a user made": {func(w *world) { w.members[guestUser] = []string{handRoleID} },
			grantInvariant, guestUser + " has got it"},
		"the guest's user gets a role of the first tenant": {func(w *world) { w.members[guestUser] = []string{grade} },
			"Discord is as the specs say", guestUser},
		"the operator gives the first tenant's role on behalf of the guest": {deed(auditMemberRoles, guestUser, added(grade)...),
			grantInvariant, grade},
		"the operator edits the first tenant's channel on behalf of the guest": {deed(11, posts), grantInvariant, posts},
		"the operator edits the first tenant's role on behalf of the guest": {deed(auditRoleUpdate, grade,
			discordtest.AuditChange{Key: "name"}), grantInvariant, grade},
		"the operator deletes a user's role on behalf of the guest": {deed(auditRoleDelete, handRoleID),
			grantInvariant, handRoleID},
		"the guest's group binds the first tenant's category": {func(w *world) { w.guests.groups[0].Status.GroupID = category },
			grantInvariant, category},
		"the guest's role stays without its object": {func(w *world) { w.guests.roles = nil }, grantInvariant, guestRoleUID},
		"the guest's category stays without its object": {func(w *world) { w.guests.groups = nil },
			grantInvariant, guestGroupUID},
		"the guest's webhook stays without its object": {func(w *world) {
			w.guild.Webhooks = append(w.guild.Webhooks, discordtest.Webhook{ID: "404", ChannelID: posts, ApplicationID: botID})
			deed(auditWebhookCreate, "404")(w)
			w.guests.roles = nil
		}, grantInvariant, "404"},
		"the deletion of the guest's group does not end": {func(w *world) { w.guests.groups[0].DeletionTimestamp = now() },
			"everything is reconciled", "its deletion does not end"},
		"the guest's group is not reconciled": {func(w *world) { w.guests.groups[0].Status.Conditions = conds("Retrying", "Progressing") },
			"everything is reconciled", "Retrying"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := worldWithGuest()
			c.change(w)
			expect(t, check(w), c.invariant, c.says)
		})
	}
}
