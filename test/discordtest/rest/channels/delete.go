// SPDX-License-Identifier: Apache-2.0

package channels

import (
	"net/http"

	"jutsu.com/operators/test/discordtest/internal/model"
	"jutsu.com/operators/test/discordtest/rest/call"
)

// Delete is DELETE /channels/{channel_id}; it returns the deleted channel.
func Delete(c *call.Call) (int, any, error) {
	g, ch, err := c.ChannelWith(model.PermManageChannels)
	if err != nil {
		return 0, nil, err
	}
	if g.Required(ch.ID) {
		return 0, nil, call.ErrCommunityNeeds
	}
	reason, err := c.Reason()
	if err != nil {
		return 0, nil, err
	}
	c.Discord.Log(g, model.AuditEntry{
		Action: model.AuditChannelDelete, UserID: c.Bot.UserID, TargetID: ch.ID, Reason: reason,
		Changes: []model.Change{{Key: "name", Old: ch.Name}, {Key: "type", Old: ch.Type}},
	})
	c.Discord.RemoveChannel(g, ch)
	return http.StatusOK, ch.Wire(), nil
}
