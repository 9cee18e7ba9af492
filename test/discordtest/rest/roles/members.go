// SPDX-License-Identifier: Apache-2.0

package roles

import (
	"net/http"

	"jutsu.com/operators/test/discordtest/internal/model"
	"jutsu.com/operators/test/discordtest/rest/call"
)

// Give is PUT /guilds/{guild_id}/members/{user_id}/roles/{role_id}.
func Give(c *call.Call) (int, any, error) { return change(c, "$add", c.Discord.GiveRole) }

// Take is DELETE /guilds/{guild_id}/members/{user_id}/roles/{role_id}.
func Take(c *call.Call) (int, any, error) { return change(c, "$remove", c.Discord.TakeRole) }

func change(
	c *call.Call, key string, do func(g *model.GuildState, m *model.Member, role string),
) (int, any, error) {
	g, r, err := ordinary(c)
	if err != nil {
		return 0, nil, err
	}
	m := g.Members[c.Path("user_id")]
	switch {
	case c.Discord.Users[c.Path("user_id")] == nil:
		return 0, nil, call.ErrUnknownUser
	case m == nil:
		return 0, nil, call.ErrUnknownMember
	}
	reason, err := c.Reason()
	if err != nil {
		return 0, nil, err
	}
	before := len(m.Roles)
	do(g, m, r.ID)
	if len(m.Roles) != before {
		c.Discord.Log(g, model.AuditEntry{
			Action: model.AuditMemberRoles, UserID: c.Bot.UserID, TargetID: m.UserID, Reason: reason,
			Changes: []model.Change{{Key: key, New: []any{map[string]any{"id": r.ID, "name": r.Name}}}},
		})
	}
	return http.StatusNoContent, nil, nil
}
