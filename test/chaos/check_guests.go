// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/test/discordtest"
)

const grantInvariant = "a tenant gets no more than it is granted"

const (
	auditMemberRoles = 25
	auditRoleUpdate  = 31
)

// A guest may ask for something that is not granted or does not exist.
var guestReasons = []string{
	v1alpha1.ReasonNotAllowed, v1alpha1.ReasonWaitingForGroup, v1alpha1.ReasonWaitingForRole,
	v1alpha1.ReasonRoleNotFound, v1alpha1.ReasonAmbiguousRole, v1alpha1.ReasonAdoptNotFound,
	v1alpha1.ReasonAdoptMismatch, v1alpha1.ReasonConflict, v1alpha1.ReasonCreatePending,
	v1alpha1.ReasonNothingToObserve, v1alpha1.ReasonMissingPermissions, v1alpha1.ReasonRoleTooHigh,
	v1alpha1.ReasonNotOnDiscord,
}

func (w *world) madeForGuests() map[string]types.UID {
	made := map[string]types.UID{}
	for _, e := range w.guild.Audit {
		if w.forGuest(e) && (slices.Contains(creates, e.Action) || e.Action == auditWebhookCreate) {
			made[e.TargetID] = origin(e)
		}
	}
	return made
}

func (w *world) forGuest(e discordtest.AuditEntry) bool {
	return e.UserID == w.botID && strings.Contains(e.Reason, " "+guest+"/")
}

func (w *world) checkGuest() (wrong violations) {
	made := w.madeForGuests()
	for _, o := range w.guests.all() {
		wrong = append(wrong, guestAtRest(o)...)
		if has := holderOf(o).id; has != "" && made[has] == "" && !w.unproven(has) {
			wrong.add(grantInvariant, "guest's "+id(o), "it has %s, which was not made for it", has)
		}
	}
	wrong = append(wrong, w.guestRoles(made)...)
	wrong = append(wrong, w.checkGuestActions(made)...)
	return append(wrong, w.guestLeftovers(made)...)
}

// guestAtRest checks that an object of the guest is Ready or not Ready for an allowed reason. A
// Ready object must not be in deletion, nor have permissions above the ceiling.
func guestAtRest(o client.Object) (wrong violations) {
	conds, observed := statusOf(o)
	ready := meta.FindStatusCondition(conds, conditions.TypeReady)
	broken := func(format string, args ...any) {
		wrong.add("everything is reconciled", "guest's "+id(o), format, args...)
	}
	allowed := guestReasons
	if o.GetDeletionTimestamp() != nil {
		allowed = []string{v1alpha1.ReasonNotAllowed, v1alpha1.ReasonWaitingForDependents}
	}
	switch {
	case ready == nil:
		broken("it was not reconciled")
	case observed != o.GetGeneration():
		broken("generation %d, observed %d", o.GetGeneration(), observed)
	case ready.Status != metav1.ConditionTrue && !slices.Contains(allowed, ready.Reason):
		broken("it is not Ready: %s: %s", ready.Reason, ready.Message)
	case ready.Status == metav1.ConditionTrue && o.GetDeletionTimestamp() != nil:
		broken("it is Ready, but its deletion does not end, finalizers %v", o.GetFinalizers())
	case ready.Status == metav1.ConditionTrue && exceedsCeiling(o):
		wrong.add(grantInvariant, "guest's "+id(o), "it is Ready, with permissions above the ceiling")
	}
	return wrong
}

func exceedsCeiling(o client.Object) bool {
	role, ok := o.(*v1alpha1.DiscordRole)
	return ok && slices.ContainsFunc(role.Spec.Permissions, func(p v1alpha1.Permission) bool {
		return permissionBits[p]&^ceiling != 0 || permissionBits[p] == 0
	})
}

func (w *world) guestRoles(made map[string]types.UID) (wrong violations) {
	first := map[string]bool{}
	for _, role := range w.roles {
		first[role.Status.RoleID] = true
	}
	lowest := "" // the id of the lowest role so far that does not belong to the guest
	for _, r := range w.guild.RankedRoles() {
		where := fmt.Sprintf("%q (%s) on Discord", r.Name, r.ID)
		_, byHand := w.userRoles[r.ID]
		switch {
		case made[r.ID] != "":
			if more := r.Permissions &^ ceiling; more != 0 {
				wrong.add(grantInvariant, where, "it has permissions above the ceiling: %b", more)
			}
			if lowest != "" && !w.dragged[r.ID] {
				wrong.add(grantInvariant, where, "it is above the role %s, which is not the guest's", lowest)
			}
		case (first[r.ID] || byHand) && !w.dragged[r.ID] && lowest == "":
			lowest = r.ID
		}
		for user, has := range w.members {
			if byHand && !w.unproven(r.ID) && user != w.botID && slices.Contains(has, r.ID) {
				wrong.add(grantInvariant, where, "the user %s has got it", user)
			}
		}
	}
	return wrong
}

// checkGuestActions finds resources that the operator has changed for the guest, but has not
// created for the guest.
func (w *world) checkGuestActions(made map[string]types.UID) (wrong violations) {
	for _, e := range w.guild.Audit {
		target := e.TargetID
		switch {
		case !w.forGuest(e) || e.Action == auditRoleUpdate && onlyMoved(e):
			continue
		case e.Action == auditMemberRoles:
			target = changedRole(e)
		}
		if made[target] == "" {
			wrong.add(grantInvariant, target, "it was changed for the guest: action %d, %s", e.Action, e.Reason)
		}
	}
	return wrong
}

// onlyMoved reports whether an entry changes only positions. When the operator moves a role,
// Discord also changes the positions of other roles.
func onlyMoved(e discordtest.AuditEntry) bool {
	for _, c := range e.Changes {
		if c.Key != "position" {
			return false
		}
	}
	return true
}

func changedRole(e discordtest.AuditEntry) string {
	for _, c := range e.Changes {
		if list, ok := c.New.([]any); ok && len(list) == 1 {
			if role, ok := list[0].(map[string]any); ok {
				return fmt.Sprint(role["id"])
			}
		}
	}
	return ""
}

func (w *world) guestLeftovers(made map[string]types.UID) (wrong violations) {
	exists := map[types.UID]bool{}
	for _, o := range w.guests.all() {
		exists[o.GetUID()] = true
	}
	note := func(what, id string) {
		if uid := made[id]; uid != "" && !exists[uid] && !w.unproven(id) {
			wrong.add(grantInvariant, fmt.Sprintf("%q (%s) on Discord", what, id),
				"it was made for an object of the guest that is gone: %s", uid)
		}
	}
	for _, r := range w.resources() {
		note(r.name, r.id)
	}
	for _, hook := range w.guild.Webhooks {
		note(hook.Name, hook.ID)
	}
	return wrong
}
