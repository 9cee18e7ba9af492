// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"

	"jutsu.com/operators/discord-operator/internal/discord/order"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

// Differences describes the changes of a plan. names is a snapshot with the names of all resources.
func (p *Plan) Differences(kind Kind, b Binding, snap, names *guildcache.Snapshot) (all []resource.Difference) {
	if p.Create != nil || b.Absent {
		return append([]resource.Difference{{Action: resource.ActionCreate}}, resource.Creates(p.Changes, names)...)
	}
	all = resource.Changes(p.Changes, names)
	moved := func(c resource.Change) bool { return c.Field == "group" } // to another parent
	live := b.Live
	if live == nil || slices.ContainsFunc(p.Changes, moved) {
		return all
	}
	if p.Bounds != nil && !p.Bounds.Holds(snap, live.GetID()) {
		return append(all, resource.Difference{Action: resource.ActionMove, To: p.Bounds.Place()})
	}
	if p.Position == nil {
		return all
	}
	if to := kind.move(snap, *p.Position, live); to != "" {
		all = append(all, resource.Difference{Action: resource.ActionMove, To: to})
	}
	return all
}

func (k *Kind) move(snap *guildcache.Snapshot, position Position, live resource.Resource) string {
	ranks, siblings := k.ranks(snap, position, live), k.Calls.Siblings(snap, live)
	moved := func(m discordclient.Move) bool { return m.ID == live.GetID() }
	if !slices.ContainsFunc(order.Moves(siblings, ranks), moved) {
		return ""
	}
	sorted := order.Sorted(siblings, ranks)
	i := slices.IndexFunc(sorted, func(s order.Sibling) bool { return s.ID == live.GetID() })
	name := func(i int) string { return resource.Quoted(k.Calls.Find(snap, sorted[i].ID).GetName()) }
	before, after := "below ", "above "
	if k.FromBottom {
		before, after = after, before
	}
	if i > 0 {
		return before + name(i-1)
	}
	return after + name(i+1)
}
