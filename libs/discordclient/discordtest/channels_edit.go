package discordtest

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
)

// editChannel is PATCH /channels/{channel_id}.
func (c *call) editChannel() (int, any, error) {
	g, ch, err := c.channelWith(PermManageChannels)
	if err != nil {
		return 0, nil, err
	}
	f, err := c.object()
	if err != nil {
		return 0, nil, err
	}
	after := ch.clone()
	if err := c.readChannel(f, g, &after, false); err != nil {
		return 0, nil, err
	}
	have := g.permissionsIn(ch, c.bot.UserID)
	if f.has("permission_overwrites") {
		if err := c.may(g, have, PermManageRoles); err != nil {
			return 0, nil, err
		}
		if err := c.readOverwrites(f, g, &after, have|g.guildPermissions(c.bot.UserID)); err != nil {
			return 0, nil, err
		}
	}
	if err := c.mayMove(g, ch, &after); err != nil {
		return 0, nil, err
	}
	if err := g.mayRetype(ch, &after); err != nil {
		return 0, nil, err
	}
	reason, err := c.reason()
	if err != nil {
		return 0, nil, err
	}
	if err := c.hiddenLimit(ch, &after); err != nil {
		return 0, nil, err
	}
	c.srv.logUpdate(g, c.bot.UserID, ch, &after, reason)
	c.srv.replaceChannel(g, ch, after)
	return http.StatusOK, ch.wire(), nil
}

// mayMove asks for what a change of parent needs.
func (c *call) mayMove(g *guild, ch, after *Channel) error {
	if after.ParentID == ch.ParentID || after.ParentID == "" {
		return nil
	}
	if !g.permissionsIn(g.channels[after.ParentID], c.bot.UserID).Has(PermManageChannels | PermViewChannel) {
		return errMissingAccess
	}
	return c.srv.roomIn(g, after.ParentID)
}

// mayRetype keeps the channels that Community guilds need text channels.
func (g *guild) mayRetype(ch, after *Channel) error {
	if after.Type != ch.Type && g.required(ch.ID) {
		return errCommunityText
	}
	return nil
}

// hiddenLimit is the limit on changes of names and topics: a window per channel that no header shows, or two
// (Limits.NameAndTopicApart). A change of both counts once in each; nothing is taken when either is full. A report of 2023
// shows its 429 with scope "shared".
func (c *call) hiddenLimit(ch, after *Channel) error {
	rate, l := c.srv.opts.Limits.NameTopic, c.srv.limits
	var keys []string
	if after.Name != ch.Name {
		keys = append(keys, "name/"+ch.ID)
	}
	if after.Topic != ch.Topic {
		keys = append(keys, "topic/"+ch.ID)
	}
	if len(keys) > 0 && !c.srv.opts.Limits.NameAndTopicApart {
		keys = []string{"name or topic/" + ch.ID}
	}
	for _, key := range keys {
		if wait := l.full(key, rate, c.now); wait > 0 {
			return &tooMany{after: wait, scope: "shared"}
		}
	}
	for _, key := range keys {
		l.take(key, rate, c.now)
	}
	return nil
}

// replaceChannel puts the new state in place and tells everybody. The children of a category that had the very same
// overwrites ("synced") follow it.
func (s *Server) replaceChannel(g *guild, ch *Channel, after Channel) {
	before := ch.clone()
	*ch = after
	s.emit(g, "CHANNEL_UPDATE", ch.wire())
	if ch.Type == TypeCategory && !sameOverwrites(before.Overwrites, ch.Overwrites) {
		for _, child := range g.children(ch.ID) {
			if sameOverwrites(child.Overwrites, before.Overwrites) {
				child.Overwrites = after.clone().Overwrites
				s.emit(g, "CHANNEL_UPDATE", child.wire())
			}
		}
	}
	s.changed()
}

// move is one element of a bulk move.
type move struct {
	ch    *Channel
	after Channel
	lock  bool
}

// moveChannels is PATCH /guilds/{guild_id}/channels: positions of many, a new parent for at most one. All or nothing.
func (c *call) moveChannels() (int, any, error) {
	g, err := c.guild()
	if err != nil {
		return 0, nil, err
	}
	var list []json.RawMessage
	if !json.Valid(c.body) {
		return 0, nil, errJSON
	}
	if json.Unmarshal(c.body, &list) != nil {
		return 0, nil, invalidForm(fieldError{"_", "LIST_TYPE_CONVERT", "Only iterables may be used in a ListType"})
	}
	moves, parents, err := c.readMoves(g, list)
	if err != nil {
		return 0, nil, err
	}
	if parents > 1 {
		return 0, nil, errTwoParents
	}
	for _, m := range moves {
		if err := c.mayBulkMove(g, m); err != nil {
			return 0, nil, err
		}
	}
	for _, m := range moves {
		if m.lock && m.after.ParentID != "" {
			m.after.Overwrites = g.channels[m.after.ParentID].clone().Overwrites
		}
		if m.after.Position == m.ch.Position && m.after.ParentID == m.ch.ParentID && sameOverwrites(m.after.Overwrites, m.ch.Overwrites) {
			continue
		}
		c.srv.logUpdate(g, c.bot.UserID, m.ch, &m.after, "") // the reason header is not documented here
		c.srv.replaceChannel(g, m.ch, m.after)
	}
	return http.StatusNoContent, nil, nil
}

// readMoves reads the list and counts the changes of parents.
func (c *call) readMoves(g *guild, list []json.RawMessage) (moves []move, parents int, err error) {
	top := &form{errs: &[]fieldError{}}
	for i, raw := range list {
		f := top.sub(strconv.Itoa(i), raw)
		id := ""
		f.require("id")
		f.id("id", &id)
		if top.err() != nil {
			continue
		}
		ch := g.channels[id]
		if ch == nil {
			return nil, 0, errUnknownChannel
		}
		m := move{ch: ch, after: ch.clone()}
		f.integer("position", 0, math.MaxInt32, ch.Position, &m.after.Position)
		readParent(f, g, &m.after)
		f.boolean("lock_permissions", &m.lock)
		if m.after.ParentID != ch.ParentID {
			parents++
		}
		moves = append(moves, m)
	}
	return moves, parents, top.err()
}

// mayBulkMove asks for MANAGE_CHANNELS in the guild or the present parent (the bot need not see the channel); a new
// parent asks for it, and for sight, in the channel and the destination; lock_permissions for MANAGE_ROLES too.
func (c *call) mayBulkMove(g *guild, m move) error {
	base := g.guildPermissions(c.bot.UserID)
	if p := g.channels[m.ch.ParentID]; p != nil {
		base |= g.permissionsIn(p, c.bot.UserID)
	}
	if err := c.may(g, base, PermManageChannels); err != nil {
		return err
	}
	if m.after.ParentID != m.ch.ParentID {
		if !g.permissionsIn(m.ch, c.bot.UserID).Has(PermManageChannels | PermViewChannel) {
			return errMissingAccess
		}
		if err := c.mayMove(g, m.ch, &m.after); err != nil {
			return err
		}
	}
	if m.lock {
		return c.may(g, g.permissionsIn(m.ch, c.bot.UserID), PermManageRoles)
	}
	return nil
}
