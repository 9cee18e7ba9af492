// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/url"

	"jutsu.com/operators/test/discordtest"
)

func simulate(o discordtest.Options) (*discordtest.Server, target, error) {
	d := discordtest.New(o)
	if err := d.Start(); err != nil {
		return nil, target{}, err
	}
	bot := d.AddBot(discordtest.Bot{Name: "operator"})
	guild := d.AddGuild(discordtest.GuildSpec{Name: "Jujutsu High"})
	d.AddMember(guild.ID, bot.UserID, discordtest.Permissions(needed))
	api, err := url.Parse(d.APIURL())
	return d, target{name: "discordtest", api: api, token: bot.Token, guild: guild.ID}, err
}
