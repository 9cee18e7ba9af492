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
// A client that works with discordtest should work with Discord. The package enforces permissions,
// field rules, name normalisation, limits, and rate limits, including the hidden limit of names and
// topics. It simulates side effects of deletions and the delays of the audit log. Errors have
// Discord's codes, statuses and nested bodies. Comments mark rules that Discord does not document;
// Options makes the important rules configurable.
//
// Channels that a bot may not view are hidden, as on Discord since 16 November 2026
// (Options.ShowHidden shows them). The Gateway obfuscates them: it sets flag 1<<17, the name and
// one overwrite; only id, type and position are real [D]. The list of channels omits them, and GET
// returns 403 with 50001 [D], as do PATCH and DELETE [G]. A bot that gains access gets
// CHANNEL_UPDATE, also for the category [D]. A bot that loses access gets an obfuscated
// CHANNEL_UPDATE [G]. The audit log names hidden channels, and quantities count them [G].
//
// [S] marks Discord's OpenAPI description as the source, [D] Discord's reference, [C] reports of
// users and libraries, and [G] a guess.
//
// # Options for stricter tests
//
//   - Options.Weakness makes reads and edits find the state before the last write, or nothing [C]:
//     Discord promises only eventual consistency [D]. The duration is a guess. Weakness also causes
//     401 (4004 over the Gateway), 403 and 5xx for no reason [C].
//   - The audit log drops entries after 45 days [D]. FillAuditLog adds entries of other users.
//     AuditJitter gives each entry its own delay [C]. IgnoreTargetID ignores a filter that is in
//     [S] but not in [D].
//   - Limits.Sliding makes windows slide [G]. Limits.Buckets makes routes share buckets [D]; which
//     routes do is not published. Limits.ChannelCreates and WebhookCreates are hidden limits [C]
//     with guessed figures. StrictLimits has them all.
//   - Options.Altered stores values differently or ignores them: topics, slowmode of announcement
//     channels, icons, and locale and description outside Community guilds. [D] says for which
//     types and guilds they are valid. It is a guess that they are otherwise ignored without an
//     error, and that a new channel may lack its category's overwrites.
//   - Limits.GuildsPerSession requires shards from 2,500 guilds on: GET /gateway/bot asks for them,
//     and the Gateway closes a session without them with 4011 [D].
//   - Options.Compatible simulates a server with a Discord-compatible API, as one such server was
//     observed to behave.
//
// # Known differences to Discord
//
// Missing:
//   - threads (so webhooks cannot post in forums), direct messages, reactions, files, components,
//     polls, invites;
//   - thousands of members, edits of members over REST (except of their roles), timeouts, bans;
//   - voice, stages, events, integrations, interactions, automatic moderation, follower webhooks;
//   - the Gateway's etf encoding and zstd-stream, presence, member chunks; a second shard gets only
//     its guilds.
//
// Simpler:
//   - A response and its events are one step, and all clients see the same state at once, unless
//     GatewayFaults.Delay, Miss and LoseOnWire, Weakness or Faults change that. On Discord, events
//     may overtake responses, and audit log entries may overtake both.
//   - GUILD_CREATE, roles and members are never stale.
//   - By default, rate limits are fixed windows, and no routes share a bucket.
//   - A 5xx is JSON unless a fault changes that (BadGateway, Banned). Anti-abuse blocks are not
//     simulated.
//   - Unknown fields of requests are ignored, as on Discord; the package contract finds them.
//   - Images are checked and hashed; linked pictures are not fetched; text is not filtered.
//
// Guesses, each marked in the code:
//   - Rare names of text channels are normalised in a certain way (Options.Normalise). Double white
//     space in names of guilds stays.
//   - A session can be resumed for Options.SessionLife. The events come in a certain order when a
//     role or channel is deleted or hidden. An IDENTIFY without properties is refused with 4002.
//   - Changes of name and topic count together (Limits.NameAndTopicApart), with scope shared.
//   - The errors of a call come in this order: permission, form, quantity.
//   - An icon of more than 1024 by 1024 pixels, or an animated one without ANIMATED_ICON, is
//     refused with a certain code. The hash of an icon depends on its content.
//   - An edit of a Community guild without COMMUNITY in its features leaves its two channels
//     unchanged without an error.
//   - A Community guild without the verification level and the filter is refused; Discord does not
//     set them. The nested errors have certain codes.
//   - Several codes have certain HTTP statuses, some nested errors certain codes. Creating a guild
//     is refused, because bots can no longer create any.
//   - Certain permissions count for overwrites, and for a create in a category.
//   - New channels have certain positions. Positions stay when a category is deleted.
//   - A new role shares position 1 with others. Positions of roles are stored as sent. Certain
//     moves of roles are refused, and certain changes of roles of bots, integrations and boosts.
//
// One lock guards every decision, so a response and its events are one step. Tests move the clock
// with Server.Advance.
//
// # Files
//
//   - server.go, options.go, setup.go, app.go, faults.go: the methods for tests. setup.go makes
//     bots, guilds, members and roles; app.go acts as a user of the Discord app; names.go has types
//     of other packages.
//   - rest/routes.go: the REST routes with their functions. rest/channels and its siblings: the
//     rules for each route; rest/call: forms, access, errors; rest/faults: failing calls.
//   - internal/model: the state, and the effects of its changes.
//   - gateway/: connections, sessions, events and their faults. page/: the live page.
//   - contract/: comparison with Discord's OpenAPI description. cmd/discordtest: the simulator as a
//     process.
package discordtest
