// SPDX-License-Identifier: Apache-2.0

// Package overwrites converts and compares permission overwrites. It does no I/O. A spec replaces
// all overwrites on Discord, except undocumented bits and the bot's own access.
package overwrites

import (
	"slices"

	"github.com/bwmarrin/discordgo"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
	"jutsu.com/operators/libs/discordclient/permissions"
)

// maxOverwrites is Discord's limit of overwrites in a create or an edit of a channel. Source:
// Discord's OpenAPI description.
const maxOverwrites = 100

// Resolve returns the overwrites of a spec, sorted by id, after WithRoleIDs has resolved the roles.
// live is nil for a create. The bot keeps the permissions in needed.
func Resolve(
	spec []v1alpha1.PermissionOverwrite, live *discordclient.Channel, snap *guildcache.Snapshot,
	needed permissions.Bits,
) ([]discordclient.Overwrite, error) {
	want := make([]discordclient.Overwrite, 0, len(spec)+1)
	for _, o := range spec {
		id, kind, err := target(o, snap)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(want, func(w discordclient.Overwrite) bool { return w.ID == id }) {
			role, _ := snap.Role(id)
			return nil, conditions.Degraded(v1alpha1.ReasonAmbiguousRole,
				"Two overwrites are for the same role %q (%s). Merge them.", role.Name, id)
		}
		want = append(want, discordclient.Overwrite{ID: id, Type: kind, Allow: Bits(o.Allow), Deny: Bits(o.Deny)})
	}
	if want = allowBot(keepUndocumented(want, live), live, snap, needed); len(want) > maxOverwrites {
		return nil, conditions.Degraded(v1alpha1.ReasonLimitReached,
			"The spec has %d permission overwrites, and the bot needs one more; Discord allows %d. Remove one; "+
				"or, in an overwrite for a role of the bot, allow %s.", len(spec), maxOverwrites, needed)
	}
	slices.SortFunc(want, func(a, b discordclient.Overwrite) int { return discordclient.CompareIDs(a.ID, b.ID) })
	return want, nil
}

func target(
	o v1alpha1.PermissionOverwrite, snap *guildcache.Snapshot,
) (id string, kind discordgo.PermissionOverwriteType, err error) {
	switch {
	case o.User != "":
		return o.User, discordgo.PermissionOverwriteTypeMember, nil
	case o.Role == "@everyone":
		return snap.Guild.ID, discordgo.PermissionOverwriteTypeRole, nil
	}
	if r, ok := snap.Role(o.Role); ok {
		return r.ID, discordgo.PermissionOverwriteTypeRole, nil
	}
	return "", 0, conditions.Degraded(v1alpha1.ReasonRoleNotFound,
		"The server has no role with the id %q. Name another one.", o.Role)
}

// Bits returns the bits of documented permission names.
func Bits(names []v1alpha1.Permission) permissions.Bits {
	var all permissions.Bits
	for _, name := range names {
		b, _ := permissions.Parse(string(name))
		all |= b
	}
	return all
}

// Permissions returns the documented names of bits: the inverse of [Bits].
func Permissions(bits permissions.Bits) []v1alpha1.Permission {
	var all []v1alpha1.Permission
	for _, name := range (bits & permissions.All).Names() {
		all = append(all, v1alpha1.Permission(name))
	}
	return all
}

func keepUndocumented(want []discordclient.Overwrite, live *discordclient.Channel) []discordclient.Overwrite {
	if live == nil {
		return want
	}
	for i, w := range want {
		for _, have := range live.Overwrites {
			if have.ID == w.ID {
				want[i].Allow |= have.Allow &^ permissions.All
				want[i].Deny |= have.Deny &^ permissions.All
			}
		}
	}
	return want
}

func allowBot(
	want []discordclient.Overwrite, live *discordclient.Channel, snap *guildcache.Snapshot, needed permissions.Bits,
) []discordclient.Overwrite {
	self := snap.SelfID()
	if self == "" {
		return want
	}
	base, _ := snap.BotPermissions()
	here, exact := snap.BotPermissionsIn(&discordclient.Channel{Overwrites: want})
	denied := here.Missing(needed) & base
	if !exact {
		want, denied = protectBot(want, live, self)
		denied &= needed & base
	}
	own := slices.IndexFunc(want, func(o discordclient.Overwrite) bool { return o.ID == self })
	switch {
	case denied == 0:
		return want
	case own >= 0:
		want[own].Allow |= denied
		want[own].Deny &^= denied
		return want
	}
	return append(want, discordclient.Overwrite{ID: self, Type: discordgo.PermissionOverwriteTypeMember, Allow: denied})
}

// protectBot keeps the bot's own overwrite, and returns the permissions that want may deny the bot.
// A polled snapshot may have outdated roles of the bot, so each role in want may be the bot's.
func protectBot(
	want []discordclient.Overwrite, live *discordclient.Channel, self string,
) (result []discordclient.Overwrite, denied permissions.Bits) {
	if live == nil {
		return want, deniable(want, self)
	}
	isBots := func(o discordclient.Overwrite) bool { return o.ID == self }
	if i := slices.IndexFunc(live.Overwrites, isBots); i >= 0 && !slices.ContainsFunc(want, isBots) {
		want = append(want, live.Overwrites[i])
	}
	if Same(want, live.Overwrites) {
		return want, 0
	}
	return want, deniable(want, self)
}

func deniable(list []discordclient.Overwrite, self string) permissions.Bits {
	var roles, own discordclient.Overwrite
	for _, o := range list {
		switch {
		case o.ID == self:
			own = o
		case o.Type == discordgo.PermissionOverwriteTypeRole:
			roles.Deny |= o.Deny
		}
	}
	return roles.Deny&^own.Allow | own.Deny
}

// Same reports whether two lists differ at most in their order.
func Same(a, b []discordclient.Overwrite) bool {
	byID := func(x, y discordclient.Overwrite) int { return discordclient.CompareIDs(x.ID, y.ID) }
	return slices.Equal(slices.SortedFunc(slices.Values(a), byID), slices.SortedFunc(slices.Values(b), byID))
}

// Exposes reports whether the first list gives any role or user more access than the second.
func Exposes(list, than []discordclient.Overwrite) bool {
	byID := map[string]discordclient.Overwrite{}
	for _, o := range than {
		byID[o.ID] = o
	}
	for _, o := range list {
		other := byID[o.ID]
		if o.Allow&^other.Allow != 0 || other.Deny&^o.Deny != 0 {
			return true
		}
		delete(byID, o.ID)
	}
	for _, other := range byID {
		if other.Deny != 0 {
			return true
		}
	}
	return false
}

// Changed returns the permissions in which two lists differ, which the bot needs for the change.
func Changed(from, to []discordclient.Overwrite) permissions.Bits {
	before := map[string]discordclient.Overwrite{}
	for _, o := range from {
		before[o.ID] = o
	}
	var all permissions.Bits
	for _, o := range to {
		was := before[o.ID]
		all |= o.Allow&^was.Allow | was.Allow&^o.Allow | o.Deny&^was.Deny | was.Deny&^o.Deny
		delete(before, o.ID)
	}
	for _, o := range before {
		all |= o.Allow | o.Deny
	}
	return all
}

// Inherited returns a category's overwrites for the request that creates a channel, or nil if the
// bot may not send them; Discord then copies them. Only an administrator may set ManageRoles.
// https://discord.com/developers/docs/resources/guild#create-guild-channel
func Inherited(category *discordclient.Channel, snap *guildcache.Snapshot) []discordclient.Overwrite {
	have, _ := snap.BotPermissions()
	list, needed := category.Overwrites, Changed(nil, category.Overwrites)
	allowed := have.Missing(needed) == 0 && needed&permissions.ManageRoles == 0
	if len(list) == 0 || len(list) > maxOverwrites || !allowed && !have.Has(permissions.Administrator) {
		return nil
	}
	return list
}

// Mentioned returns all permissions that a spec allows or denies.
func Mentioned(spec []v1alpha1.PermissionOverwrite) permissions.Bits {
	var all permissions.Bits
	for _, o := range spec {
		all |= Bits(o.Allow) | Bits(o.Deny)
	}
	return all
}
