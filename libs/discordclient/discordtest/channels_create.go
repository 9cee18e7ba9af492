package discordtest

import (
	"net/http"
	"slices"
)

// getChannels lists all channels, also those that the bot cannot see, as Discord does today (Options.HideUnseen).
func (c *call) getChannels() (int, any, error) {
	g, err := c.guild()
	if err != nil {
		return 0, nil, err
	}
	out := []any{}
	for _, ch := range c.srv.listed(g, c.bot.UserID) {
		out = append(out, ch.wire())
	}
	return http.StatusOK, out, nil
}

// getChannel is one channel.
func (c *call) getChannel() (int, any, error) {
	_, ch, err := c.channel()
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, ch.wire(), nil
}

// createChannel is POST /guilds/{guild_id}/channels. It cannot be repeated: each call makes another channel, also with
// the same name.
func (c *call) createChannel() (int, any, error) {
	g, err := c.guild()
	if err != nil {
		return 0, nil, err
	}
	f, err := c.object()
	if err != nil {
		return 0, nil, err
	}
	ch := &Channel{GuildID: g.ID}
	wrong := c.readChannel(f, g, ch, true)
	if err := c.mayCreateIn(g, ch.ParentID); err != nil { // who may not create is not told what is wrong with the form
		return 0, nil, err
	}
	if wrong != nil {
		return 0, nil, wrong
	}
	if err := c.readOverwrites(f, g, ch, g.guildPermissions(c.bot.UserID)); err != nil {
		return 0, nil, err
	}
	if err := c.srv.room(g, ch); err != nil {
		return 0, nil, err
	}
	reason, err := c.reason()
	if err != nil {
		return 0, nil, err
	}
	if !f.given("permission_overwrites") && ch.ParentID != "" {
		ch.Overwrites = slices.Clone(g.channels[ch.ParentID].Overwrites) // synced with its category from the start
	}
	if !f.given("position") {
		ch.Position = g.bottom(ch)
	}
	c.srv.insertChannel(g, ch)
	c.srv.log(g, AuditEntry{Action: auditChannelCreate, UserID: c.bot.UserID, TargetID: ch.ID, Reason: reason, Changes: []Change{
		{Key: "name", New: ch.Name}, {Key: "type", New: ch.Type}, {Key: "permission_overwrites", New: ch.Overwrites}, {Key: "nsfw", New: ch.NSFW},
	}})
	return http.StatusCreated, ch.wire(), nil
}

// mayCreateIn asks for MANAGE_CHANNELS, in the category when there is one (whether Discord looks at the category too
// is not documented; the stricter answer is assumed).
func (c *call) mayCreateIn(g *guild, parent string) error {
	if parent == "" {
		return c.may(g, g.guildPermissions(c.bot.UserID), PermManageChannels)
	}
	have := g.permissionsIn(g.channels[parent], c.bot.UserID)
	if !have.Has(PermViewChannel) {
		return errMissingAccess
	}
	return c.may(g, have, PermManageChannels)
}

// room checks the limits of quantity for one more channel.
func (s *Server) room(g *guild, ch *Channel) error {
	l := s.opts.Limits
	if len(g.channels) >= l.Channels+l.ChannelSlack {
		return limitReached(30013, "guild channels", l.Channels)
	}
	if ch.Type == TypeCategory {
		n := 0
		for _, other := range g.channels {
			if other.Type == TypeCategory {
				n++
			}
		}
		if n >= l.Categories {
			return limitReached(30013, "guild channels", l.Categories)
		}
	}
	return s.roomIn(g, ch.ParentID)
}

// roomIn checks the limit of a category for one more child.
func (s *Server) roomIn(g *guild, parent string) error {
	if parent == "" || len(g.children(parent)) < s.opts.Limits.ChannelsPerCategory {
		return nil
	}
	return invalidForm(fieldError{"parent_id", "CHANNEL_PARENT_MAX_CHANNELS", "Maximum number of channels in category reached (50)"})
}

// bottom is the position that Discord gives a new channel: below its kin (observed; not documented).
func (g *guild) bottom(ch *Channel) int {
	at := 0
	for _, other := range g.children(ch.ParentID) {
		if displayRank(other) == displayRank(ch) {
			at = max(at, other.Position+1)
		}
	}
	return at
}

// insertChannel gives the channel its id and tells everybody.
func (s *Server) insertChannel(g *guild, ch *Channel) {
	ch.ID = s.newID()
	g.channels[ch.ID] = ch
	s.emit(g, "CHANNEL_CREATE", ch.wire())
	s.changed()
}

// creatable are the types that a guild may have; announcement channels need the feature NEWS, stages and forums COMMUNITY.
func creatable(g *guild) []int {
	out := []int{TypeText, TypeVoice, TypeCategory}
	if g.feature("NEWS") {
		out = append(out, TypeAnnouncement)
	}
	if g.feature("COMMUNITY") {
		out = append(out, TypeStage, TypeForum)
	}
	return out
}

// feature says whether a guild has one.
func (g *guild) feature(name string) bool { return slices.Contains(g.Features, name) }
