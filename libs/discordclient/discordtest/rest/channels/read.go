// SPDX-License-Identifier: Apache-2.0

package channels

import (
	"net/http"

	"jutsu.com/operators/libs/discordclient/discordtest/rest/call"
)

// List lists the channels that the bot may view; all of them with Options.ShowHidden.
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

// Get is one channel.
func Get(c *call.Call) (int, any, error) {
	_, ch, err := c.Channel()
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, ch.Wire(), nil
}
