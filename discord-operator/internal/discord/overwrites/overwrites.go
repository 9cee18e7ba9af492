// SPDX-License-Identifier: Apache-2.0

// Package overwrites converts the permission overwrites of a spec to Discord's, and compares them.
// It is pure.
//
// Overwrites are authoritative where a spec has them: others on Discord are removed, with two
// exceptions. A permission bit without a documented name, which a spec cannot express, stays as it
// is. And if the overwrites would deny the bot its own channel, one for the bot is added, or it
// could never edit the channel again.
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

// maxOverwrites is how many Discord accepts in a create or an edit. Source: its OpenAPI description.
const maxOverwrites = 100

// Resolve returns the overwrites of a spec, in the order of the ids, for a live channel or category
// (nil for a new one). Names of roles were resolved before, see Named. The error is a
// *conditions.Issue if a role is missing or given twice, or if they are too many.
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
			"Discord allows %d permission overwrites, and the %d of the spec need one more, which gives the bot access. "+
				"Remove one, or allow ViewChannel and ManageChannels to a role of the bot.", maxOverwrites, len(spec))
	}
	slices.SortFunc(want, func(a, b discordclient.Overwrite) int { return discordclient.CompareIDs(a.ID, b.ID) })
	return want, nil
}

// target returns the id of the role or user of an overwrite.
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

// Bits are those of documented names; the schema allows no others.
func Bits(names []v1alpha1.Permission) permissions.Bits {
	var all permissions.Bits
	for _, name := range names {
		b, _ := permissions.Parse(string(name))
		all |= b
	}
	return all
}

// keepUndocumented leaves bits without a name as they are.
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

// allowBot adds what the bot needs and the overwrites deny. It cannot grant itself what it does not
// have in the whole guild.
func allowBot(
	want []discordclient.Overwrite, live *discordclient.Channel, snap *guildcache.Snapshot, needed permissions.Bits,
) []discordclient.Overwrite {
	self := snap.SelfID()
	if self == "" {
		return want
	}
	base, _ := snap.BotPermissions()
	here, exact := snap.BotPermissionsIn(&discordclient.Channel{Overwrites: want})
	lost := here.Missing(needed) & base
	if !exact {
		want, lost = protectBot(want, live, self)
		lost &= needed & base
	}
	own := slices.IndexFunc(want, func(o discordclient.Overwrite) bool { return o.ID == self })
	switch {
	case lost == 0:
		return want
	case own >= 0:
		want[own].Allow |= lost
		want[own].Deny &^= lost
		return want
	}
	return append(want, discordclient.Overwrite{ID: self, Type: discordgo.PermissionOverwriteTypeMember, Allow: lost})
}

// protectBot is for a polled view, which may have old roles of the bot. The bot's own overwrite
// stays, and if anything else changes, all that the overwrites could deny counts as lost: nothing
// is written without a change, and no change locks the bot out, whatever its roles.
func protectBot(
	want []discordclient.Overwrite, live *discordclient.Channel, self string,
) (result []discordclient.Overwrite, lost permissions.Bits) {
	if live == nil {
		return want, atRisk(want, self)
	}
	its := func(o discordclient.Overwrite) bool { return o.ID == self }
	if i := slices.IndexFunc(live.Overwrites, its); i >= 0 && !slices.ContainsFunc(want, its) {
		want = append(want, live.Overwrites[i])
	}
	if Same(want, live.Overwrites) {
		return want, 0
	}
	return want, atRisk(want, self)
}

// atRisk is what overwrites deny to a member who may have any role.
func atRisk(list []discordclient.Overwrite, self string) permissions.Bits {
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

// Same reports whether two lists have the same overwrites, in any order.
func Same(a, b []discordclient.Overwrite) bool {
	byID := func(x, y discordclient.Overwrite) int { return discordclient.CompareIDs(x.ID, y.ID) }
	return slices.Equal(slices.SortedFunc(slices.Values(a), byID), slices.SortedFunc(slices.Values(b), byID))
}

// Exposes reports whether a list denies less than another one, or allows more.
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

// Changed are the permissions that Discord requires of the bot for a change from one list to
// another.
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

// Inherited returns the overwrites of a category with which a channel can be created in it, and nil where
// it has none or Discord must copy them. It copies any, but takes no more than 100, none for a
// permission that the bot lacks, and from administrators alone one for ManageRoles.
// Source: https://discord.com/developers/docs/resources/guild#create-guild-channel.
func Inherited(category *discordclient.Channel, snap *guildcache.Snapshot) []discordclient.Overwrite {
	have, _ := snap.BotPermissions()
	list, needed := category.Overwrites, Changed(nil, category.Overwrites)
	allowed := have.Missing(needed) == 0 && needed&permissions.ManageRoles == 0
	if len(list) == 0 || len(list) > maxOverwrites || !allowed && !have.Has(permissions.Administrator) {
		return nil
	}
	return list
}

// Mentioned are all permissions that a spec allows or denies.
func Mentioned(spec []v1alpha1.PermissionOverwrite) permissions.Bits {
	var all permissions.Bits
	for _, o := range spec {
		all |= Bits(o.Allow) | Bits(o.Deny)
	}
	return all
}
