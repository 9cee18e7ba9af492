// SPDX-License-Identifier: Apache-2.0

package guilds

import (
	"net/http"

	"jutsu.com/operators/test/discordtest/rest/call"
)

// Member is GET /guilds/{guild_id}/members/{user_id}.
func Member(c *call.Call) (int, any, error) {
	g, err := c.Guild()
	if err != nil {
		return 0, nil, err
	}
	m, u := g.Members[c.Path("user_id")], c.Discord.Users[c.Path("user_id")]
	switch {
	case u == nil:
		return 0, nil, call.ErrUnknownUser
	case m == nil:
		return 0, nil, call.ErrUnknownMember
	}
	return http.StatusOK, m.Wire(u), nil
}
