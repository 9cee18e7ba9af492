// Package discordtest is a Discord in memory, as httptest is to http: REST (API v10 and v9), the Gateway, and a page
// that shows servers, groups, channels and messages as a person would see them.
//
//	srv := discordtest.Run(t, discordtest.Options{})
//	bot := srv.AddBot(discordtest.Bot{Name: "operator"})
//	guild := srv.AddGuild(discordtest.GuildSpec{Name: "Jujutsu High"})
//	srv.AddMember(guild.ID, bot.UserID, discordtest.PermManageChannels|discordtest.PermViewChannel)
//	// point the client at srv.APIURL() with bot.Token
//
// It is meant to be honest: what passes against it should work against Discord. It enforces permissions, field rules,
// name normalisation, limits, rate limits (the hidden one for names and topics too), deletion side effects and the
// delays of the audit log, and answers errors with Discord's codes, statuses and nested bodies. Where Discord's
// behaviour is not documented the comment at the rule says so, and Options makes it configurable where it matters.
//
// Everything is decided under one lock, so an answer and the events that belong to it are one step. Time comes from a
// settable clock (Server.Advance), faults are switched on through Server.Faults and Server.Gateway.
//
// Files: one per question. rest.go is the way of a request; routes.go the table of routes; channels_*.go, guilds.go,
// webhooks.go, messages.go, overwrites.go and users.go the rules; gateway_*.go the websocket; byhand.go what a person
// does in the Discord app; page.go the live page.
package discordtest
