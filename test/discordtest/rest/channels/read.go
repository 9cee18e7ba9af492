// SPDX-License-Identifier: Apache-2.0

package channels

import (
	"net/http"

	"jutsu.com/operators/test/discordtest/internal/model"
	"jutsu.com/operators/test/discordtest/rest/call"
)

// List is GET /guilds/{guild_id}/channels, without hidden channels unless Options.ShowHidden.
func List(c *call.Call) (int, any, error) {
	g, err := c.Guild()
	if err != nil {
		return 0, nil, err
	}
	out := []any{}
	for _, ch := range c.Discord.ListChannels(g, c.Bot.UserID, c.Stale) {
		out = append(out, ch.Wire())
	}
	return http.StatusOK, out, nil
}

// Get is GET /channels/{channel_id}.
func Get(c *call.Call) (int, any, error) {
	_, ch, err := c.Channel()
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, answer(c, ch), nil
}

func answer(c *call.Call, ch *model.Channel) map[string]any {
	w := ch.Wire()
	if c.Options.Compatible {
		delete(w, "position")
	}
	return w
}
