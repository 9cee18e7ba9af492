// SPDX-License-Identifier: Apache-2.0

package export

import (
	"fmt"
	"slices"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/controller/role"
	"jutsu.com/operators/libs/discordclient"
)

func (s *server) splitRoles() (own []discordclient.Role, leftOut []string) {
	ranked := slices.Clone(s.guild.Roles)
	discordclient.SortRoles(ranked)
	slices.Reverse(ranked)
	for _, r := range ranked {
		switch why := s.unmanageable(r); {
		case r.ID == s.guild.ID:
		case why != "":
			leftOut = append(leftOut, fmt.Sprintf("role %q (%s): %s", r.Name, r.ID, why))
		default:
			own = append(own, r)
		}
	}
	return own, leftOut
}

func (s *server) unmanageable(r discordclient.Role) string {
	highest := s.highest()
	switch {
	case r.Managed || r.Tags.Booster:
		return "Discord manages it for a bot, for an integration or for the boosters of the server"
	case s.bot.userID != s.guild.OwnerID && discordclient.CompareRoles(r, highest) >= 0:
		return fmt.Sprintf("it is not below %q, the highest role of the bot; on Discord, give the bot another role above "+
			"this role, and run the command again", highest.Name)
	case !fits(r.Name, 1, discordclient.MaxNameLength) || r.Name == everyone || r.Name == "@here":
		return "the schema does not allow its name; rename it on Discord, and run the command again"
	}
	return ""
}

func (s *server) highest() (highest discordclient.Role) {
	for _, r := range s.guild.Roles {
		mine := r.ID == s.guild.ID || slices.Contains(s.bot.roles, r.ID)
		if mine && (highest.ID == "" || discordclient.CompareRoles(r, highest) > 0) {
			highest = r
		}
	}
	return highest
}

func (e *exporter) roleEntry(r discordclient.Role, position int) entry {
	result := entry{kind: kindRole, name: e.roles[r.ID], about: fmt.Sprintf("Role %q", r.Name)}
	spec, omitted := role.SpecOf(&r)
	result.notes.omitAll(omitted)
	spec.ServerRef = v1alpha1.ServerReference{Name: e.o.name}
	spec.Position = new(int32(position)) //nolint:gosec // G115: Discord allows 250 roles
	spec.Adopt, spec.DeletionPolicy = e.adopt(r.ID), e.deletionPolicy()
	result.spec = spec
	e.fit(&result, role.Kind.Fields)
	return result
}
