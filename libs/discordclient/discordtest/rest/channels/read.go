// SPDX-License-Identifier: Apache-2.0

package channels

import (
	"net/http"

	"jutsu.com/operators/libs/discordclient/discordtest/rest/call"
)

// List lists all channels, also those that the bot cannot see, as Discord does today
// (Options.HideUnseen).
func List(c *call.Call) (int, any, error) {
	g, err := c.Guild()
	if err != nil {
		return 0, nil, err
	}
	out := []any{}
	for _, ch := range c.Discord.Shown(g, c.Bot.UserID) {
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
