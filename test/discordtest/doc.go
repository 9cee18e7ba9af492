// SPDX-License-Identifier: Apache-2.0

// Package discordtest is a Discord in memory, like httptest for http: REST (API v10 and v9), the
// Gateway, and a page that shows servers, groups, channels and messages as a user sees them.
//
//	srv := discordtest.Run(t, discordtest.Options{})
//	bot := srv.AddBot(discordtest.Bot{Name: "operator"})
//	guild := srv.AddGuild(discordtest.GuildSpec{Name: "Jujutsu High"})
//	srv.AddMember(guild.ID, bot.UserID, discordtest.PermManageChannels|discordtest.PermViewChannel)
//	// point the client at srv.APIURL() with bot.Token
//
// A client that works with it should work with Discord. It enforces permissions, field rules, name
// normalisation, limits, rate limits (also the hidden one of names and topics), side effects of
// deletions and the delays of the audit log. Errors have Discord's codes, statuses and nested
// bodies. Comments mark rules that Discord does not document; Options makes the important ones
// configurable.
//
// Channels that a bot may not view are hidden, as on Discord since 16 November 2026
// (Options.ShowHidden shows them). The Gateway obfuscates them (flag 1<<17, name, one overwrite;
// id, type and position are real), the list omits them, and GET returns 403 with 50001 [D], PATCH
// and DELETE too [G]. Gaining access sends CHANNEL_UPDATE, also for the category [D]; losing it
// sends an obfuscated one [G]. The audit log names them, and quantities count them [G].
//
// [S] is Discord's OpenAPI description, [D] its reference, [C] reports of users and libraries, [G]
// a guess.
//
// # Options for stricter tests
//
//   - Options.Weakness: reads and edits that find the state before the last write, or nothing [C],
//     since Discord promises only eventual consistency [D]; the duration is a guess. 401 (4004 over
//     the Gateway), 403 and 5xx for no reason [C].
//   - The audit log forgets after 45 days [D]. FillAuditLog: others share it. AuditJitter: each
//     entry has its own delay [C]. IgnoreTargetID: the filter is in [S], not in [D].
//   - Limits.Sliding [G]. Limits.Buckets: routes share buckets [D], but the assignment is not
//     published. Limits.ChannelCreates and WebhookCreates: hidden limits exist [C], the figures are
//     guesses. StrictLimits has them all.
//   - Options.Altered: topics, slowmode of announcement channels, icons, and locale and description
//     outside Community guilds are stored differently or ignored. The documented types and guilds
//     are [D]; that others are ignored without an error, and that a new channel may lack its
//     category's overwrites, are guesses.
//   - Limits.GuildsPerSession: from 2,500 guilds on, GET /gateway/bot asks for shards, and the
//     Gateway closes a session without them with 4011 [D].
//   - Options.Compatible: the observed behaviour of a compatible server.
//
// # Known differences to Discord
//
// Missing:
//   - threads (also in forums: webhooks cannot post there), direct messages, reactions, files,
//     components, polls, invites;
//   - thousands of members, editing them over REST except for their roles, timeouts, bans;
//   - voice, stages, events, integrations, interactions, automatic moderation, follower webhooks;
//   - the Gateway's etf encoding and zstd-stream, presence, member chunks; a second shard gets only
//     its guilds.
//
// Simpler:
//   - A response and its events are one step, and all clients see the same state at once, unless
//     GatewayFaults.Delay, Miss and LoseOnWire, Weakness or Faults change that. On Discord events
//     may overtake responses, and the audit log both.
//   - GUILD_CREATE is never stale, nor are roles and members.
//   - By default, rate limits are fixed windows, and no routes share a bucket.
//   - A 5xx is JSON unless a fault changes that (BadGateway, Banned). Anti-abuse blocks are not
//     simulated.
//   - Unknown fields of requests are ignored, as on Discord; the package contract finds them.
//   - Images are checked and hashed; linked pictures are not fetched; text is not filtered.
//
// Guesses, each marked in the code:
//   - the normalisation of text channels' names in rare cases (Options.Normalise), and that double
//     white space in names of guilds stays;
//   - the time in which a session can be resumed (Options.SessionLife), the order of the events
//     when a role or channel is deleted or hidden, that an IDENTIFY without properties is refused
//     with 4002;
//   - whether changes of name and topic count together (Limits.NameAndTopicApart) and as shared;
//   - the order of a call's errors: permission, form, quantity;
//   - that an icon of more than 1024 by 1024 pixels, or an animated one without ANIMATED_ICON, is
//     refused, and the code; that the hash follows from the content;
//   - that an edit of a Community guild without COMMUNITY in its features leaves its two channels
//     unchanged without an error;
//   - that a Community guild without the verification level and the filter is refused instead of
//     given them, and the codes of the nested errors;
//   - HTTP statuses of several codes, some codes of nested errors, and the refusal of guilds since
//     bots cannot make any;
//   - the permissions that count for overwrites, and for creating in a category;
//   - positions of new channels, and that they stay when a category is deleted;
//   - that a new role shares position 1 with others, that positions of roles are stored as sent,
//     which moves of roles are refused, and what roles of bots, integrations and boosts refuse.
//
// One lock guards every decision, so a response and its events are one step. Time comes from a
// settable clock (Server.Advance).
//
// # Files
//
//   - server.go, options.go, setup.go, app.go, faults.go: the methods for tests. setup.go makes
//     bots, guilds, members and roles; app.go acts as a user of the Discord app; names.go has types
//     of other packages.
//   - rest/routes.go: the REST routes with their functions. rest/channels and its siblings: the
//     rules for callers; rest/call: forms, access, errors; rest/faults: failing calls.
//   - internal/model: the state, and the effects of its changes.
//   - gateway/: connections, sessions, events and their faults. page/: the live page.
//   - contract/: comparison with Discord's OpenAPI description. cmd/discordtest: the simulator as a
//     process.
package discordtest
