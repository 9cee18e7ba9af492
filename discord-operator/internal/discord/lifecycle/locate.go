// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/discord-operator/internal/discord/issues"
	"jutsu.com/operators/discord-operator/internal/discord/order"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

// Locate finds the resource of an object in a snapshot, without calls and records. known is the id
// of the object's resource; empty if unknown.
func (k *Kind) Locate(snap *guildcache.Snapshot, l Lookup, known string) (Binding, error) {
	b := Binding{Lookup: l, Identity: k.Identity(l.Object)}
	var live resource.Resource
	switch {
	case known != "" && snap.Hidden(known):
		return b, issues.Hidden(k.Noun, known, hiddenRetry)
	case known != "":
		live = k.Calls.Find(snap, known)
	case b.Adopt != nil:
		var err error
		if live, err = k.adoptee(snap, l, b.Adopt.ID); err != nil {
			return b, err
		}
		b.Adopted = true
	}
	if live == nil {
		b.Absent = true
		return b, nil
	}
	if mismatch := k.Calls.Mismatch(live, l.GuildID, l.Types); mismatch != nil {
		return b, mismatch
	}
	b.Live = live
	return b, nil
}

func (k *Kind) adoptee(snap *guildcache.Snapshot, l Lookup, id string) (resource.Resource, error) {
	if l.NoAdoption != nil {
		return nil, l.NoAdoption
	}
	if snap.Hidden(id) {
		return nil, issues.Hidden(k.Noun, id, hiddenRetry)
	}
	live := k.Calls.Find(snap, id)
	if live == nil {
		return nil, k.Calls.NotFound(id)
	}
	return live, nil
}

// PositionAmong returns the desired place of an object; nil if the spec has no position. It ignores
// paused siblings. If the object is managed, it also ignores observed siblings, because the operator
// must not move them. If the object is observed, observed siblings count, because its differences
// show the order that the specs ask for.
func (k *Kind) PositionAmong(o client.Object, siblings []status.Object) *Position {
	own := k.Identity(o)
	if own.Position == nil {
		return nil
	}
	position := &Position{Rank: *own.Position, Ranks: order.Ranks{}}
	for _, sibling := range siblings {
		i := k.Identity(sibling)
		switch {
		case i.Position == nil, status.Paused(sibling), i.Observed && !own.Observed:
		case i.StatusID != "":
			position.Ranks[i.StatusID] = *i.Position
		case sibling.GetUID() != o.GetUID() && sibling.GetDeletionTimestamp().IsZero():
			position.AwaitsSiblings = position.AwaitsSiblings || k.FromBottom && len(sibling.GetConditions()) == 0
		}
	}
	return position
}
