// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/permissions"
)

// The bot needs some of these permissions only to grant them, by overwrites and by a role.
const needed = discordclient.PermissionsCore | permissions.ViewAuditLog | permissions.ManageRoles |
	permissions.SendMessages

// access returns the id of the bot's user and the name of the server. It fails if the bot lacks a
// needed permission.
func access(ctx context.Context, b *bot, guild string) (user, name string, err error) {
	get := func(path, what string) (any, error) {
		r, err := b.do(ctx, http.MethodGet, path, nil)
		switch {
		case err != nil:
			return nil, err
		case r.status == http.StatusUnauthorized:
			return nil, errors.New("the API refuses the bot's token; check --token-file")
		case !r.ok():
			return nil, fmt.Errorf("%s cannot be read: status %d. Is the bot a member of the server %s?", what, r.status, guild)
		}
		return r.body, nil
	}
	me, err := get("/users/@me", "the bot's user")
	if err != nil {
		return "", "", err
	}
	user = text(asObject(me), "id")
	server, err := get("/guilds/"+guild, "the server")
	if err != nil {
		return "", "", err
	}
	member, err := get("/guilds/"+guild+"/members/"+user, "the bot's membership")
	if err != nil {
		return "", "", err
	}
	roles, err := get("/guilds/"+guild+"/roles", "the server's roles")
	if err != nil {
		return "", "", err
	}
	owner := text(asObject(server), "owner_id") == user
	if missing := held(owner, guild, member, roles).Missing(needed); missing != 0 {
		return "", "", fmt.Errorf("the bot lacks permissions in the server %s: %s. Nothing was changed", guild, missing)
	}
	return user, text(asObject(server), "name"), nil
}

func held(owner bool, guild string, member, roles any) permissions.Bits {
	mine, _ := asObject(member)["roles"].([]any)
	all, _ := roles.([]any)
	var everyone permissions.Bits
	var others []permissions.Bits
	for _, element := range all {
		role := asObject(element)
		var bits permissions.Bits
		if bits.UnmarshalText([]byte(text(role, "permissions"))) != nil {
			continue
		}
		switch id := text(role, "id"); {
		case id == guild:
			everyone = bits
		case slices.Contains(mine, any(id)):
			others = append(others, bits)
		}
	}
	return permissions.Base(owner, everyone, others...)
}
