// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/discord-operator/internal/order"
	"jutsu.com/operators/discord-operator/internal/resource"
	"jutsu.com/operators/discord-operator/internal/status"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

// Low are the lowest places of a server, where the roles of other namespaces than its own stay: below
// all roles of the server's namespace, and below all that no object manages.
type Low struct {
	// Own are the roles of one such namespace, by their ids, which it keeps there itself. Others are
	// those of further ones: between them there is no order, so that two never move each other's.
	Own, Others map[string]bool
}

// LowAmong returns the low places of an object in a server of the namespace owner, among all objects of
// its kind there; nil for an object of that namespace. held is what this process knows an object to have;
// empty for nothing. What an object adopts does not count as its own.
func (k *Kind) LowAmong(
	o client.Object, owner string, all []status.Object, held func(client.Object) string,
) *Low {
	if o.GetNamespace() == owner {
		return nil
	}
	low := &Low{Own: map[string]bool{}, Others: map[string]bool{}}
	for _, other := range all {
		of, identity := low.Others, k.Identity(other)
		switch {
		case other.GetNamespace() == owner, identity.Adopt != nil:
			continue
		case other.GetNamespace() == o.GetNamespace():
			of = low.Own
		}
		for _, id := range []string{identity.StatusID, held(other)} {
			if id != "" {
				of[id] = true
			}
		}
	}
	return low
}

// Low is LowAmong for the objects that an index names.
func (r *Resources) Low(ctx context.Context, o client.Object, owner, by, value string) (*Low, error) {
	if o.GetNamespace() == owner {
		return nil, nil
	}
	all, err := r.listed(ctx, "", by, value)
	held := func(o client.Object) string { return r.Records.Of(o.GetUID()).ID }
	return r.Kind.LowAmong(o, owner, all, held), err
}

// Holds reports whether a role and those of its namespace are in their low places.
func (l *Low) Holds(snap *guildcache.Snapshot, id string) bool {
	return order.Right(resource.Roles{}.Siblings(snap, nil), l.ranks(snap, id))
}

// ranks are those of the roles that the bot may move, but for those of further namespaces.
func (l *Low) ranks(snap *guildcache.Snapshot, id string) order.Ranks {
	ranks := order.Ranks{}
	for _, role := range snap.Guild.Roles {
		switch {
		case role.ID == snap.Guild.ID, l.Others[role.ID], !snap.BelowBot(role.ID):
		case role.ID == id, l.Own[role.ID]:
			ranks[role.ID] = 0
		default:
			ranks[role.ID] = 1
		}
	}
	return ranks
}
