// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/test/discordtest"
)

type onDiscord struct {
	id, name string
	byHand   bool
}

// resources lists all channels, and all roles except @everyone and roles that Discord manages.
func (w *world) resources() (all []onDiscord) {
	for _, c := range w.guild.Channels {
		all = append(all, onDiscord{c.ID, c.Name, w.byHand(c.ID)})
	}
	for _, r := range w.guild.Roles {
		if !r.Managed && r.ID != w.guild.ID {
			all = append(all, onDiscord{r.ID, r.Name, w.byHand(r.ID)})
		}
	}
	return all
}

func (w *world) byHand(id string) bool {
	_, channel := w.userChannels[id]
	_, role := w.userRoles[id]
	return channel || role
}

func (w *world) roleOnDiscord(id string) (discordtest.Role, bool) {
	i := slices.IndexFunc(w.guild.Roles, func(r discordtest.Role) bool { return r.ID == id })
	if i < 0 {
		return discordtest.Role{}, false
	}
	return w.guild.Roles[i], true
}

func (w *world) roleOf(o v1alpha1.PermissionOverwrite) string {
	if o.RoleRef != nil {
		if role := find(w.roles, o.RoleRef.Name); role != nil {
			return role.Status.RoleID
		}
		return ""
	}
	ofGuest := w.madeForGuests()
	for _, r := range w.guild.Roles {
		if r.Name == o.Role && ofGuest[r.ID] == "" { // guests may name only their own roles
			return r.ID
		}
	}
	return ""
}

func (w *world) lacksRole(spec []v1alpha1.PermissionOverwrite) bool {
	return slices.ContainsFunc(spec, func(o v1alpha1.PermissionOverwrite) bool {
		_, there := w.roleOnDiscord(w.roleOf(o))
		return o.RoleRef != nil && !there
	})
}

// expectRole returns CreatePending for an object without a role if the audit log lost the creates
// of several roles with its name, because the operator cannot know which role belongs to it.
func (w *world) expectRole(role *v1alpha1.DiscordRole) expectation {
	fits := 0
	for _, r := range w.guild.Roles {
		if r.Name == role.Spec.Name && w.unproven(r.ID) {
			fits++
		}
	}
	if role.DeletionTimestamp == nil && role.Status.RoleID == "" && fits > 1 {
		return expectation{[]string{v1alpha1.ReasonCreatePending}}
	}
	return isReady
}

func checkRoles(w *world) (wrong violations) {
	const invariant = "Discord is as the specs say"
	owner := map[string]string{}
	ranks := map[string]int32{}
	for _, role := range w.roles {
		if role.DeletionTimestamp != nil || len(w.expectRole(role).reasons) > 0 {
			continue
		}
		has := role.Status.RoleID
		if other := owner[has]; other != "" {
			wrong.add("at most one object for each", id(role), "%s is in the status of %s as well", has, other)
		}
		owner[has] = id(role)
		live, there := w.roleOnDiscord(has)
		if !there {
			wrong.add(invariant, id(role), "%q of its status is not on Discord", has)
			continue
		}
		for _, what := range w.roleDiffers(role, live) {
			wrong.add(invariant, id(role), "%s", what)
		}
		if role.Spec.Position != nil {
			ranks[has] = *role.Spec.Position
		}
	}
	return append(wrong, rolesInOrder(w, owner, ranks)...)
}

func (w *world) roleDiffers(role *v1alpha1.DiscordRole, live discordtest.Role) []string {
	all := differ("name", role.Spec.Name, live.Name)
	if role.Spec.Color != nil {
		all = append(all, differ("color", *discordclient.ParseColor(*role.Spec.Color), live.Color)...)
	}
	if role.Spec.Hoist != nil {
		all = append(all, differ("hoist", *role.Spec.Hoist, live.Hoist)...)
	}
	if role.Spec.Mentionable != nil {
		all = append(all, differ("mentionable", *role.Spec.Mentionable, live.Mentionable)...)
	}
	if role.Spec.Permissions != nil {
		var bits discordtest.Permissions
		for _, name := range role.Spec.Permissions {
			bits |= permissionBits[name]
		}
		all = append(all, differ("permissions", bits, live.Permissions)...)
	}
	for user, has := range w.members {
		want := slices.Contains(role.Spec.Members, v1alpha1.UserID(user))
		all = append(all, differ("that the user "+user+" has it", want, slices.Contains(has, live.ID))...)
	}
	return all
}

// rolesInOrder expects that spec.position does not decrease from Discord's highest role down, and
// that no role of an object is above the bot's roles.
func rolesInOrder(w *world, owner map[string]string, ranks map[string]int32) (wrong violations) {
	above, last := false, int32(-1)
	ranked := w.guild.RankedRoles()
	for _, r := range slices.Backward(ranked) {
		switch rank, managed := ranks[r.ID]; {
		case slices.Contains(w.members[w.botID], r.ID):
			above = true
		case owner[r.ID] != "" && !above:
			wrong.add("no role is above the bot's", owner[r.ID], "the role %s is above", r.ID)
		case managed && rank < last:
			wrong.add("siblings stand in order", owner[r.ID], "spec.position %d stands below spec.position %d", rank, last)
		case managed:
			last = rank
		}
	}
	return wrong
}

// checkUserRoles ignores positions, because they change when other roles move.
func checkUserRoles(w *world) (wrong violations) {
	const invariant = "what users made is theirs"
	bound := map[string]bool{}
	for _, o := range w.gone {
		bound[holderOf(o).id] = true
	}
	for _, h := range w.holders() {
		bound[h.id] = true
	}
	for roleID, was := range w.userRoles {
		where := fmt.Sprintf("%q (%s) on Discord", was.Name, roleID)
		now, there := w.roleOnDiscord(roleID)
		now.Position = was.Position
		switch {
		// The operator cannot know the creator, so it may bind the role as the only match.
		case bound[roleID] && w.unproven(roleID):
		case !there:
			wrong.add(invariant, where, "it was deleted")
		case now != was:
			wrong.add(invariant, where, "it was %+v and is %+v", was, now)
		}
	}
	return wrong
}
