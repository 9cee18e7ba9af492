// SPDX-License-Identifier: Apache-2.0

// Package guilds answers the routes of guilds: settings, members and the audit log.
package guilds

import (
	"net/http"

	"jutsu.com/operators/libs/discordclient/discordtest/internal/model"
	"jutsu.com/operators/libs/discordclient/discordtest/rest/call"
)

// Create is POST /guilds, which Discord has closed to bots: see Options.AllowGuilds.
func Create(c *call.Call) (int, any, error) {
	if !c.Options.AllowGuilds {
		return 0, nil, call.ErrBotsCannot
	}
	f, err := c.Object()
	if err != nil {
		return 0, nil, err
	}
	spec := model.GuildSpec{ID: c.Discord.NewID()}
	f.Require("name")
	f.Text("name", 2, 100, &spec.Name)
	if err := f.Err(); err != nil {
		return 0, nil, err
	}
	g := c.Discord.AddGuild(spec, c.Bot.UserID)
	c.Discord.Events.Joined(g, c.Bot.UserID)
	return http.StatusCreated, g.Wire(), nil
}

// Delete is DELETE /guilds/{guild_id}, for the owner. On Discord bots own none any more (the answer
// is a guess).
func Delete(c *call.Call) (int, any, error) {
	g, err := c.Guild()
	if err != nil {
		return 0, nil, err
	}
	switch {
	case !c.Options.AllowGuilds:
		return 0, nil, call.ErrBotsCannot
	case g.OwnerID != c.Bot.UserID:
		return 0, nil, call.ErrPermissions
	}
	c.Discord.RemoveGuild(g)
	return http.StatusNoContent, nil, nil
}

// Get is GET /guilds/{guild_id}.
func Get(c *call.Call) (int, any, error) {
	g, err := c.Guild()
	if err != nil {
		return 0, nil, err
	}
	w := settings(c, c.Discord.ReadSettings(g, c.Stale))
	if c.Flag("with_counts") {
		w["approximate_member_count"], w["approximate_presence_count"] = len(g.Members), 1
	}
	return http.StatusOK, w, nil
}

// settings are a guild's as REST answers with them. A compatible server leaves the roles out.
func settings(c *call.Call, wire map[string]any) map[string]any {
	if c.Options.Compatible {
		delete(wire, "roles")
	}
	return wire
}
