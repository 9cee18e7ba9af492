// SPDX-License-Identifier: Apache-2.0

package roles

import (
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strconv"

	"jutsu.com/operators/test/discordtest/internal/model"
	"jutsu.com/operators/test/discordtest/rest/call"
)

// Move is PATCH /guilds/{guild_id}/roles. It is a guess that Discord refuses to reorder roles that
// the bot may not change. A move may include such roles in their old order, because libraries send
// all roles.
func Move(c *call.Call) (int, any, error) {
	g, err := c.GuildWith(model.PermManageRoles)
	if err != nil {
		return 0, nil, err
	}
	after, err := readMoves(c.Body, g)
	if err != nil {
		return 0, nil, err
	}
	if !slices.Equal(outOfReach(g, g.Roles, c.Bot.UserID), outOfReach(g, after, c.Bot.UserID)) {
		return 0, nil, call.ErrPermissions
	}
	reason, err := c.Reason()
	if err != nil {
		return 0, nil, err
	}
	for _, r := range after {
		c.Discord.ReplaceRole(g, r, c.Bot.UserID, reason)
	}
	return http.StatusOK, g.Wire()["roles"], nil
}

func readMoves(body []byte, g *model.GuildState) ([]model.Role, error) {
	var list []json.RawMessage
	if !json.Valid(body) {
		return nil, call.ErrJSON
	}
	if json.Unmarshal(body, &list) != nil {
		return nil, call.Invalid("_", "LIST_TYPE_CONVERT", "Only iterables may be used in a ListType")
	}
	after, top := slices.Clone(g.Roles), call.NewForm()
	for i, raw := range list {
		f, id := top.Sub(strconv.Itoa(i), raw), ""
		f.Require("id")
		f.ID("id", &id)
		if top.Err() != nil {
			continue
		}
		at := slices.IndexFunc(after, func(r model.Role) bool { return r.ID == id })
		switch {
		case at < 0:
			return nil, call.ErrUnknownRole
		case id == g.ID: // @everyone is always the lowest role, so its position is ignored
		default:
			f.Integer("position", 1, math.MaxInt32, after[at].Position, &after[at].Position)
		}
	}
	return after, top.Err()
}

// outOfReach returns the lowest role that a member may not change, and all higher roles.
func outOfReach(g *model.GuildState, roles []model.Role, user string) (ids []string) {
	for _, r := range (&model.Guild{Roles: roles}).RankedRoles() {
		if len(ids) > 0 || r.ID != g.ID && !g.OutranksRole(user, r.ID) {
			ids = append(ids, r.ID)
		}
	}
	return ids
}
