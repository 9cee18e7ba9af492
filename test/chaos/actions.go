// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// A slot is the index of an object's name. An object with this name may or may not exist.
const (
	groupSlots   = 4
	channelSlots = 10
	roleSlots    = 6
	dojoSlots    = 5
	abuseSlots   = 4
	guestSlots   = 4
)

const pause = 1000 * time.Millisecond

type actionKind struct {
	name string
	// weight is the relative frequency.
	weight int
	// slots is 0 if an action needs no object.
	slots int
	// first is 1 if every run begins with this action, once for each slot.
	first int
	// do runs the action and describes it for the journal. An error is no violation: the action was
	// not possible at this moment.
	do func(r *run, ctx context.Context, a action) (what string, err error)
}

var actionKinds = []actionKind{
	{"create-channel", 14, channelSlots, 1, (*run).createChannel},
	{"edit-channel", 12, channelSlots, 0, (*run).editChannel},
	{"delete-channel", 7, channelSlots, 0, (*run).deleteChannel},
	{"create-group", 7, groupSlots, 1, (*run).createGroup},
	{"edit-group", 4, groupSlots, 0, (*run).editGroup},
	{"delete-group", 2, groupSlots, 0, (*run).deleteGroup},
	{"create-role", 6, roleSlots, 1, (*run).createRole},
	{"edit-role", 6, roleSlots, 0, (*run).editRole},
	{"delete-role", 3, roleSlots, 0, (*run).deleteRole},
	{"edit-server", 2, 0, 0, (*run).editServer},
	{"break-webhook-secret", 3, channelSlots, 0, (*run).breakWebhookSecret},
	{"revoke-token", 1, 0, 0, (*run).revokeToken},
	{"lose-token", 1, 0, 0, (*run).loseToken},

	{"create-dojo", 6, dojoSlots, 1, (*run).createDojo},
	{"edit-dojo", 6, dojoSlots, 0, (*run).editDojo},
	{"delete-dojo", 2, dojoSlots, 0, (*run).deleteDojo},
	{"delete-child", 4, dojoSlots, 0, (*run).deleteChild},
	{"edit-child", 4, dojoSlots, 0, (*run).editChild},
	{"rotate-password", 2, dojoSlots, 0, (*run).rotatePassword},

	{"create-release", 5, releaseSlots, 1, (*run).createRelease},
	{"edit-release", 8, releaseSlots, 0, (*run).editRelease},
	{"delete-release", 1, releaseSlots, 0, (*run).deleteRelease},
	{"delete-release-jobs", 4, releaseSlots, 0, (*run).deleteReleaseJobs},
	{"delete-release-pods", 4, releaseSlots, 0, (*run).deleteReleasePods},

	{"create-data", 5, dataSlots, 1, (*run).createData},
	{"upgrade-data", 8, dataSlots, 0, (*run).upgradeData},
	{"offer-minors", 4, 0, 0, (*run).offerMinors},
	{"allow-minor", 6, dataSlots, 0, (*run).allowMinor},
	{"rotate-data", 4, dataSlots, 0, (*run).rotateData},
	{"retain-data", 2, dataSlots, 0, (*run).retainData},
	{"delete-data", 3, dataSlots, 0, (*run).deleteData},
	{"write-data", 8, 0, 0, (*run).writeRows},
	{"obey-data", 6, dataSlots, 0, (*run).followMessage},
	{"lose-postgres", 1, dataSlots, 0, (*run).loseCluster},
	{"pause-postgres", 2, dataSlots, 0, (*run).pausePostgres},
	{"fail-postgres-upgrades", 3, dataSlots, 0, (*run).failUpgrades},
	{"fail-postgres-backups", 3, dataSlots, 0, (*run).failBackups},

	{"abuse-token", 3, abuseSlots, 0, (*run).abuseToken},
	{"abuse-channel", 3, abuseSlots, 0, (*run).abuseChannel},
	{"abuse-dojo", 2, abuseSlots, 0, (*run).abuseDojo},
	{"abuse-object", 3, abuseSlots, 0, (*run).abuseObject},
	{"stop-abuse", 4, abuseSlots, 0, (*run).stopAbuse},

	{"guest-group", 3, guestSlots, 0, (*run).createGuestGroup},
	{"guest-channel", 4, guestSlots, 0, (*run).createGuestChannel},
	{"guest-role", 6, guestSlots, 0, (*run).createGuestRole},
	{"edit-guest", 6, guestSlots, 0, (*run).editGuest},
	{"delete-guest", 6, guestSlots, 0, (*run).deleteGuest},

	{"hand-create-channel", 4, 0, 0, (*run).handCreateChannel},
	{"hand-edit-channel", 8, 0, 0, (*run).handEditChannel},
	{"hand-delete-channel", 5, 0, 0, (*run).handDeleteChannel},
	{"hand-delete-category", 2, 0, 0, (*run).handDeleteCategory},
	{"hand-create-webhook", 1, 0, 0, (*run).handCreateWebhook},
	{"hand-delete-webhook", 3, 0, 0, (*run).handDeleteWebhook},
	{"hand-create-role", 2, 0, 0, (*run).handCreateRole},
	{"hand-edit-role", 5, 0, 0, (*run).handEditRole},
	{"hand-lift-role", 1, 0, 0, (*run).handLiftRole},
	{"hand-delete-role", 3, 0, 0, (*run).handDeleteRole},
	{"hand-edit-server", 2, 0, 0, (*run).handEditServer},
	{"hide-channel", 5, 0, 0, (*run).hideChannel},
	{"foreign-creates", 3, 0, 0, (*run).foreignCreates},

	{"kill-operator", 7, operatorSlots, 0, (*run).killOperator},
	{"stop-operator", 3, operatorSlots, 0, (*run).stopOperator},
	{"freeze-operator", 2, operatorSlots, 0, (*run).freezeOperator},
	{"freeze-leaders", 2, 0, 0, (*run).freezeLeaders},
	{"kill-apiserver", 2, 0, 0, (*run).killAPIServer},
	{"kill-controllers", 1, 0, 0, (*run).killControllers},
	{"fail-discord", 9, 0, 0, (*run).failDiscord},
	{"lose-creates", 5, 0, 0, (*run).loseCreates},
	{"lose-audit-log", 2, 0, 0, (*run).loseAuditLog},
	{"drop-gateway", 4, 0, 0, (*run).dropGateway},
	{"refuse-gateway", 2, 0, 0, (*run).refuseGateway},
	{"hide-server", 1, 0, 0, (*run).hideServer},
	{"take-permission", 2, 0, 0, (*run).takePermission},
	{"take-role", 2, 0, 0, (*run).takeRole},
}

// action depends only on the run's seed and the enabled actions. Its effect also depends on the
// object's current state.
type action struct {
	kind *actionKind
	// slot is less than kind.slots.
	slot  int
	seed  uint64
	pause time.Duration
}

func (a action) String() string {
	if a.kind.slots == 0 {
		return a.kind.name
	}
	return fmt.Sprintf("%s %d", a.kind.name, a.slot)
}

func (a action) random() *rand.Rand {
	return rand.New(rand.NewPCG(a.seed, 0)) //nolint:gosec // a replay needs the same numbers
}

type sequence struct {
	random      *rand.Rand
	actionKinds []actionKind
	total       int
	// first has the actions that create the objects for later actions.
	first []action
}

func newSequence(seed uint64, actionKinds []actionKind) *sequence {
	//nolint:gosec // G404: the same seed has to give the same
	s := &sequence{random: rand.New(rand.NewPCG(seed, 1)), actionKinds: actionKinds}
	for i := range actionKinds {
		s.total += actionKinds[i].weight
		for slot := range actionKinds[i].slots * actionKinds[i].first {
			s.first = append(s.first, action{kind: &actionKinds[i], slot: slot, seed: s.random.Uint64()})
		}
	}
	return s
}

func (s *sequence) next() action {
	if len(s.first) > 0 {
		a := s.first[0]
		s.first = s.first[1:]
		return a
	}
	a := action{pause: time.Duration(s.random.Int64N(int64(pause))), seed: s.random.Uint64()}
	at, slot := s.random.IntN(s.total), s.random.Uint32()
	for i := range s.actionKinds {
		a.kind = &s.actionKinds[i]
		if at -= a.kind.weight; at < 0 {
			break
		}
	}
	if a.kind.slots > 0 {
		a.slot = int(slot % uint32(a.kind.slots)) //nolint:gosec // G115: a few
	}
	return a
}
