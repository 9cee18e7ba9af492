package discordtest

import (
	"maps"
	"slices"
)

// guild finds the guild of the path. For a bot that is no member it does not exist.
func (c *call) guild() (*guild, error) {
	g := c.srv.guilds[c.r.PathValue("guild_id")]
	switch {
	case !isSnowflake(c.r.PathValue("guild_id")):
		return nil, invalidForm(fieldError{"guild_id", "NUMBER_TYPE_COERCE", "Value \"" + c.r.PathValue("guild_id") + "\" is not snowflake."})
	case g == nil || g.members[c.bot.UserID] == nil:
		return nil, errUnknownGuild
	}
	return g, nil
}

// guildWith is guild for those who need permissions in it.
func (c *call) guildWith(p Permissions) (*guild, error) {
	g, err := c.guild()
	if err != nil {
		return nil, err
	}
	return g, c.may(g, g.guildPermissions(c.bot.UserID), p)
}

// channel finds the channel of the path. A channel that the bot cannot see exists (50001): denied is not gone.
func (c *call) channel() (*guild, *Channel, error) {
	id := c.r.PathValue("channel_id")
	if !isSnowflake(id) {
		return nil, nil, invalidForm(fieldError{"channel_id", "NUMBER_TYPE_COERCE", "Value \"" + id + "\" is not snowflake."})
	}
	g, ch := c.srv.findChannel(id)
	switch {
	case ch == nil:
		return nil, nil, errUnknownChannel
	case !g.permissionsIn(ch, c.bot.UserID).Has(PermViewChannel):
		return nil, nil, errMissingAccess
	}
	return g, ch, nil
}

// channelWith is channel for those who need permissions in it.
func (c *call) channelWith(p Permissions) (*guild, *Channel, error) {
	g, ch, err := c.channel()
	if err != nil {
		return nil, nil, err
	}
	return g, ch, c.may(g, g.permissionsIn(ch, c.bot.UserID), p)
}

// may refuses what is not permitted, and what is permitted only with two-factor authentication.
func (c *call) may(g *guild, have, want Permissions) error {
	if !have.Has(want) {
		return errPermissions
	}
	if want&permElevated != 0 && g.MFALevel == 1 && c.bot.OwnerWithout2FA {
		return errTwoFactor
	}
	return nil
}

// sortedGuilds are the guilds by age.
func (s *Server) sortedGuilds() []*guild {
	return slices.SortedFunc(maps.Values(s.guilds), func(a, b *guild) int { return compareIDs(a.ID, b.ID) })
}

// guildsOf is how many guilds a user is in.
func (s *Server) guildsOf(user string) int {
	n := 0
	for _, g := range s.guilds {
		if g.members[user] != nil {
			n++
		}
	}
	return n
}

// findChannel looks through all guilds.
func (s *Server) findChannel(id string) (*guild, *Channel) {
	for _, g := range s.guilds {
		if ch := g.channels[id]; ch != nil {
			return g, ch
		}
	}
	return nil, nil
}

// findWebhook looks through all guilds.
func (s *Server) findWebhook(id string) (*guild, *Webhook) {
	for _, g := range s.guilds {
		if w := g.webhooks[id]; w != nil {
			return g, w
		}
	}
	return nil, nil
}
