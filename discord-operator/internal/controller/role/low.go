// SPDX-License-Identifier: Apache-2.0

package role

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/discord-operator/internal/discord/lifecycle"
	"jutsu.com/operators/discord-operator/internal/discord/order"
	"jutsu.com/operators/discord-operator/internal/discord/resource"
	"jutsu.com/operators/discord-operator/internal/kube/index"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

var _ lifecycle.Bounds = &Low{}

// Low are the lowest places of a server, where the roles of other namespaces than its own stay: below
// all roles of the server's namespace, and below all that no object manages.
type Low struct {
	// Own are the roles of one such namespace, by their ids, which it keeps there itself. Others are
	// those of further ones: between them there is no order, so that two never move each other's.
	Own, Others map[string]bool
}

// LowAmong returns the low places of a role in a server of the namespace owner, among all roles there; nil for a role
// of that namespace. held returns the id of the role that this process knows an object to have; empty for none. An
// adopted role does not count as the object's own.
func LowAmong(
	o client.Object, owner string, all []status.Object, held func(client.Object) string,
) *Low {
	if o.GetNamespace() == owner {
		return nil
	}
	low := &Low{Own: map[string]bool{}, Others: map[string]bool{}}
	for _, other := range all {
		of, identity := low.Others, Kind.Identity(other)
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

// low is LowAmong for the roles of a server.
func (r *Reconciler) low(ctx context.Context, o client.Object, owner, server string) (*Low, error) {
	if o.GetNamespace() == owner {
		return nil, nil
	}
	all, err := r.Resources.Listed(ctx, "", index.RoleByServer, server)
	held := func(o client.Object) string { return r.Resources.Records.Of(o.GetUID()).ID }
	return LowAmong(o, owner, all, held), err
}

// Place implements lifecycle.Bounds.
func (*Low) Place() string { return "below the roles of the server" }

// Holds reports whether a role and those of its namespace are in their low places.
func (l *Low) Holds(snap *guildcache.Snapshot, id string) bool {
	return order.InOrder(resource.Roles.Siblings(snap, nil), l.Ranks(snap, id))
}

// Ranks implements lifecycle.Bounds: of the roles that the bot may move, but for other namespaces' ones.
func (l *Low) Ranks(snap *guildcache.Snapshot, id string) order.Ranks {
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
