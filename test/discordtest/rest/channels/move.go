// SPDX-License-Identifier: Apache-2.0

package channels

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"

	"jutsu.com/operators/test/discordtest/internal/model"
	"jutsu.com/operators/test/discordtest/rest/call"
)

func mayMove(c *call.Call, g *model.GuildState, ch, after *model.Channel) error {
	if after.ParentID == ch.ParentID || after.ParentID == "" {
		return nil
	}
	if !g.PermissionsIn(g.Channels[after.ParentID], c.Bot.UserID).Has(model.PermManageChannels | model.PermViewChannel) {
		return call.ErrMissingAccess
	}
	return roomIn(c, g, after.ParentID)
}

// move is the change of one channel. If lock is true, the channel gets its category's overwrites.
type move struct {
	ch    *model.Channel
	after model.Channel
	lock  bool
}

// Move is PATCH /guilds/{guild_id}/channels. If one change is refused, Move changes nothing.
func Move(c *call.Call) (int, any, error) {
	g, err := c.Guild()
	if err != nil {
		return 0, nil, err
	}
	var list []json.RawMessage
	if !json.Valid(c.Body) {
		return 0, nil, call.ErrJSON
	}
	if json.Unmarshal(c.Body, &list) != nil {
		return 0, nil, call.Invalid("_", "LIST_TYPE_CONVERT", "Only iterables may be used in a ListType")
	}
	moves, parents, err := readMoves(g, list)
	if err != nil {
		return 0, nil, err
	}
	if parents > 1 {
		return 0, nil, call.ErrTwoParents
	}
	for _, m := range moves {
		if err := mayBulkMove(c, g, m); err != nil {
			return 0, nil, err
		}
	}
	for _, m := range moves {
		if m.lock && m.after.ParentID != "" {
			m.after.Overwrites = g.Channels[m.after.ParentID].Clone().Overwrites
		}
		if m.after.Position == m.ch.Position && m.after.ParentID == m.ch.ParentID &&
			model.SameOverwrites(m.after.Overwrites, m.ch.Overwrites) {
			continue
		}
		// Discord does not document X-Audit-Log-Reason for this route.
		c.Discord.LogUpdate(g, c.Bot.UserID, m.ch, &m.after, "")
		c.Discord.ReplaceChannel(g, m.ch, m.after)
	}
	return http.StatusNoContent, nil, nil
}

func readMoves(g *model.GuildState, list []json.RawMessage) (moves []move, parents int, err error) {
	top := call.NewForm()
	for i, raw := range list {
		f := top.Sub(strconv.Itoa(i), raw)
		id := ""
		f.Require("id")
		f.ID("id", &id)
		if top.Err() != nil {
			continue
		}
		ch := g.Channels[id]
		if ch == nil {
			return nil, 0, call.ErrUnknownChannel
		}
		m := move{ch: ch, after: ch.Clone()}
		f.Integer("position", 0, math.MaxInt32, ch.Position, &m.after.Position)
		readParent(f, g, &m.after)
		f.Boolean("lock_permissions", &m.lock)
		if m.after.ParentID != ch.ParentID {
			parents++
		}
		moves = append(moves, m)
	}
	return moves, parents, top.Err()
}

func mayBulkMove(c *call.Call, g *model.GuildState, m move) error {
	base := g.GuildPermissions(c.Bot.UserID)
	if p := g.Channels[m.ch.ParentID]; p != nil {
		base |= g.PermissionsIn(p, c.Bot.UserID)
	}
	if err := c.May(g, base, model.PermManageChannels); err != nil {
		return err
	}
	if m.after.ParentID != m.ch.ParentID {
		if !g.PermissionsIn(m.ch, c.Bot.UserID).Has(model.PermManageChannels | model.PermViewChannel) {
			return call.ErrMissingAccess
		}
		if err := mayMove(c, g, m.ch, &m.after); err != nil {
			return err
		}
	}
	if m.lock {
		return c.May(g, g.PermissionsIn(m.ch, c.Bot.UserID), model.PermManageRoles)
	}
	return nil
}
