// SPDX-License-Identifier: Apache-2.0

// Package guilds has the routes of guilds: settings, members and the audit log.
package guilds

import (
	"net/http"

	"jutsu.com/operators/test/discordtest/rest/call"
)

// Delete is DELETE /guilds/{guild_id}. The response is a guess: bots can no longer own guilds.
func Delete(c *call.Call) (int, any, error) {
	g, err := c.Guild()
	if err != nil {
		return 0, nil, err
	}
	switch {
	case !c.Options.AllowGuildDeletion:
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

func settings(c *call.Call, wire map[string]any) map[string]any {
	if c.Options.Compatible {
		delete(wire, "roles")
	}
	return wire
}
