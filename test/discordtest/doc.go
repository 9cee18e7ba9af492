// SPDX-License-Identifier: Apache-2.0

// Package discordtest is a Discord in memory, as httptest is to http: REST (API v10 and v9), the
// Gateway, and a page that shows servers, groups, channels and messages as a user would see them.
//
//	srv := discordtest.Run(t, discordtest.Options{})
//	bot := srv.AddBot(discordtest.Bot{Name: "operator"})
//	guild := srv.AddGuild(discordtest.GuildSpec{Name: "Jujutsu High"})
//	srv.AddMember(guild.ID, bot.UserID, discordtest.PermManageChannels|discordtest.PermViewChannel)
//	// point the client at srv.APIURL() with bot.Token
//
// It is meant to be honest: what works against it should work against Discord. It enforces
// permissions, field rules, name normalisation, limits, rate limits (the hidden one for names and
// topics too), deletion side effects and the delays of the audit log, and answers errors with
// Discord's codes, statuses and nested bodies. Where Discord's behaviour is not documented the
// comment at the rule says so, and Options makes it configurable where it matters.
//
// Channels that a bot may not view are hidden since 16 November 2026, and so here (Options.ShowHidden
// ends it): obfuscated over the Gateway (flag 1<<17, name, one overwrite; id, type and position are
// real), omitted from the list, and 403 with 50001 to GET [D]; to PATCH and DELETE too [G]. Access
// gained sends CHANNEL_UPDATE, for the category too [D], access lost sends it obfuscated [G]. The
// audit log names them, quantities count them [G].
//
// Here and below, [S] is Discord's OpenAPI description, [D] its reference, [C] what users and
// libraries report, [G] a guess.
//
// # What is harder on clients, where a test asks for it
//
//   - Options.Weakness: reads and edits that find things as before the last write, or not at all [C],
//     as Discord promises no more than eventual consistency [D]; for how long is a guess. 401 (4004
//     over the Gateway), 403 and 5xx for no reason [C].
//   - The audit log forgets after 45 days [D]; FillAuditLog, for others share it. AuditJitter: each
//     entry is late by a time of its own [C]. IgnoreTargetID: the filter is in [S], not in [D].
//   - Limits.Sliding [G], Limits.Buckets: routes share buckets [D], which do is not published;
//     Limits.ChannelCreates and WebhookCreates: hidden limits exist [C], the figures are guesses.
//     StrictLimits has them all.
//   - Options.Altered: topics, slowmode of announcement channels, icons, locale and description outside
//     Community guilds are stored otherwise or ignored. The types and guilds for which they are
//     documented are [D]; that others are ignored without an error is a guess, as is that a new
//     channel may lack the overwrites of its category.
//   - Limits.GuildsPerSession: from 2,500 guilds on, GET /gateway/bot asks for shards and the Gateway
//     closes a session without them with 4011 [D].
//   - Options.Compatible: a server of other people's making, as one was seen to behave.
//
// # Known not to be like Discord
//
// Left out:
//   - threads (also in forums: webhooks cannot post there), direct messages, reactions, files,
//     components, polls, invites;
//   - members by the thousand, editing them over REST but for their roles, timeouts, bans;
//   - voice, stages, events, integrations, interactions, automatic moderation, follower webhooks;
//   - the Gateway's etf encoding and zstd-stream, presence, member chunks; a second shard gets its
//     guilds and no more.
//
// Simpler than there:
//   - an answer and its events are one step, and all clients see the same state at once, unless
//     GatewayFaults.Delay, Miss and LoseOnWire, Weakness or Faults say otherwise; on Discord events
//     may overtake answers and the audit log both;
//   - GUILD_CREATE is never stale, nor are roles and members;
//   - by default, rate limits are fixed windows, and no routes share a bucket;
//   - a 5xx is JSON unless a fault says otherwise (BadGateway, Banned); anti-abuse blocks are not
//     simulated;
//   - unknown fields of requests are ignored, as on Discord: the package contract sees them;
//   - images are checked and hashed; pictures behind links are not fetched; text is not filtered.
//
// Guesses, each marked where it is made:
//   - how text channels' names are normalised in the corners (Options.Normalise), and whether
//     double white space in names of guilds stays, as here;
//   - how long a session can be resumed (Options.SessionLife), the order of the events when a role
//     or channel is deleted or hidden, that an IDENTIFY without properties is refused with 4002;
//   - whether changes of name and topic count together (Limits.NameAndTopicApart) and as shared;
//   - which of several errors of a call is answered: permission before form, form before quantity,
//     as here;
//   - that an icon of more than 1024 by 1024 pixels, or an animated one without ANIMATED_ICON, is
//     refused, and with which code; that the hash follows from the content;
//   - that an edit of a Community guild without COMMUNITY among its features leaves its two channels as
//     they are, without an error;
//   - that a Community guild without the verification level and the filter is refused, and not
//     given them, and with which codes of nested errors;
//   - HTTP statuses of several codes, some codes of nested errors, and how guilds are refused since
//     bots cannot make any;
//   - which permissions count for overwrites, and for creating in a category;
//   - positions of new channels, and that they stay when a category goes;
//   - that a new role shares position 1 with others, that positions of roles stay as they were sent,
//     which moves of roles are refused, and what roles of bots, integrations and boosts refuse.
//
// Everything is decided under one lock, so an answer and the events that belong to it are one step.
// Time comes from a settable clock (Server.Advance).
//
// # Where things are
//
//   - server.go, options.go, setup.go, app.go, faults.go: what tests call. setup.go makes bots,
//     guilds, members and roles; app.go does what a user does in the Discord app; names.go has the
//     types of other packages that tests name.
//   - rest/routes.go: the REST routes, each with the function that answers it. rest/channels and
//     its neighbours: the rules for callers; rest/call: forms, access, errors; rest/faults: calls
//     that go wrong.
//   - internal/model: the state, and what follows from a change of it.
//   - gateway/: connections, sessions, events and their faults. page/: the live page.
//   - contract/: traffic held against Discord's OpenAPI description. cmd/discordtest: all of it as
//     a process.
package discordtest
