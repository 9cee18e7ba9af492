package discordtest

import (
	"net/http"
	"slices"
)

// deleteChannel is DELETE /channels/{channel_id}; it answers with what was deleted.
func (c *call) deleteChannel() (int, any, error) {
	g, ch, err := c.channelWith(PermManageChannels)
	if err != nil {
		return 0, nil, err
	}
	if g.required(ch.ID) {
		return 0, nil, errCommunityNeeds
	}
	reason, err := c.reason()
	if err != nil {
		return 0, nil, err
	}
	c.srv.log(g, AuditEntry{Action: auditChannelDelete, UserID: c.bot.UserID, TargetID: ch.ID, Reason: reason, Changes: []Change{
		{Key: "name", Old: ch.Name}, {Key: "type", Old: ch.Type}}})
	c.srv.removeChannel(g, ch)
	return http.StatusOK, ch.wire(), nil
}

// required says whether a Community guild cannot do without the channel.
func (g *guild) required(id string) bool {
	return g.feature("COMMUNITY") && (id == g.RulesChannelID || id == g.PublicUpdatesChannelID)
}

// removeChannel takes a channel away with all that hangs on it: children of a category lose their parent, one
// CHANNEL_UPDATE each; webhooks and messages go; settings of the guild that name it become null (GUILD_UPDATE). Positions
// stay.
func (s *Server) removeChannel(g *guild, ch *Channel) {
	delete(g.channels, ch.ID)
	s.emit(g, "CHANNEL_DELETE", ch.wire())
	for _, child := range g.children(ch.ID) {
		child.ParentID = ""
		s.emit(g, "CHANNEL_UPDATE", child.wire())
	}
	had := len(g.webhooks)
	for id, w := range g.webhooks {
		if w.ChannelID == ch.ID {
			delete(g.webhooks, id)
		}
	}
	if len(g.webhooks) != had {
		s.emit(g, "WEBHOOKS_UPDATE", map[string]any{"guild_id": g.ID, "channel_id": ch.ID})
	}
	delete(g.messages, ch.ID)
	named := []*string{&g.SystemChannelID, &g.AFKChannelID, &g.WidgetChannelID, &g.SafetyAlertsChannelID, &g.RulesChannelID, &g.PublicUpdatesChannelID}
	if slices.ContainsFunc(named, func(id *string) bool { return *id == ch.ID }) {
		for _, id := range named {
			if *id == ch.ID {
				*id = ""
			}
		}
		s.emit(g, "GUILD_UPDATE", g.wire())
	}
	s.changed()
}
