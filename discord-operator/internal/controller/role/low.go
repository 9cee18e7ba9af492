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

var _ lifecycle.Bounds = &LowPlaces{}

// LowPlaces keep roles of tenants (namespaces other than the server's) below all other roles except
// @everyone.
type LowPlaces struct {
	// Own has the role ids of the object's namespace, Others the role ids of other tenants. Neither
	// map has adopted roles. The roles of all tenants may be in any order, so that tenants do not
	// move each other's roles.
	Own, Others map[string]bool
}

// LowPlacesOf returns the low places for o; nil if o is in owner, the server's namespace.
func LowPlacesOf(
	o client.Object, owner string, all []status.Object, bound func(client.Object) string,
) *LowPlaces {
	if o.GetNamespace() == owner {
		return nil
	}
	low := &LowPlaces{Own: map[string]bool{}, Others: map[string]bool{}}
	for _, other := range all {
		of, identity := low.Others, Kind.Identity(other)
		switch {
		case other.GetNamespace() == owner, identity.Adopted:
			continue
		case other.GetNamespace() == o.GetNamespace():
			of = low.Own
		}
		for _, id := range []string{identity.StatusID, bound(other)} {
			if id != "" {
				of[id] = true
			}
		}
	}
	return low
}

func (r *Reconciler) lowPlaces(ctx context.Context, o client.Object, owner, server string) (*LowPlaces, error) {
	if o.GetNamespace() == owner {
		return nil, nil
	}
	all, err := r.Resources.Listed(ctx, "", index.RoleByServer, server)
	bound := func(o client.Object) string { return r.Resources.Records.Of(o.GetUID()).ID }
	return LowPlacesOf(o, owner, all, bound), err
}

// Place implements lifecycle.Bounds.
func (*LowPlaces) Place() string { return "below the roles of the server" }

// Holds reports whether the role and the other roles of its namespace are in their low places.
func (l *LowPlaces) Holds(snap *guildcache.Snapshot, id string) bool {
	return order.InOrder(resource.Roles.Siblings(snap, nil), l.Ranks(snap, id))
}

// Ranks implements lifecycle.Bounds. It omits roles that the bot or this namespace may not move.
func (l *LowPlaces) Ranks(snap *guildcache.Snapshot, id string) order.Ranks {
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
