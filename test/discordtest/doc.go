// SPDX-License-Identifier: Apache-2.0

// Package discordtest simulates Discord in memory, for tests: REST (API v10 and v9), the Gateway,
// and a web page that shows guilds, categories, channels and messages as a user sees them.
//
//	srv := discordtest.Run(t, discordtest.Options{})
//	bot := srv.AddBot(discordtest.Bot{Name: "operator"})
//	guild := srv.AddGuild(discordtest.GuildSpec{Name: "Jujutsu High"})
//	srv.AddMember(guild.ID, bot.UserID, discordtest.PermManageChannels|discordtest.PermViewChannel)
//	// point the client at srv.APIURL() with bot.Token
//
// A client that works with discordtest should work with Discord. The package enforces permissions,
// rules for fields, name normalisation, quantity limits and rate limits, including the limit of
// name and topic changes, which no header shows. It simulates the side effects of deletions and the
// delays of the audit log. Errors have Discord's codes, statuses and nested bodies. Comments mark
// rules that Discord does not document. Options makes the important rules configurable.
//
// In this comment, [S] marks Discord's OpenAPI description as the source of a rule, [D] Discord's
// reference, [C] reports of users and libraries, and [G] a guess.
//
// Channels that a bot may not view are hidden, as on Discord since 16 November 2026. With
// Options.ShowHidden, they are not. The Gateway obfuscates a hidden channel: flag 1<<17 is set, the
// name and the only overwrite are placeholders, and only id, type and position are real [D]. The
// list of channels omits it. GET returns 403 with 50001 [D], as do PATCH and DELETE [G]. A bot that
// gains access gets CHANNEL_UPDATE, also for the category [D]. A bot that loses access gets an
// obfuscated CHANNEL_UPDATE [G]. The audit log has entries about hidden channels, and quantity
// limits count them [G].
//
// # Options for stricter tests
//
//   - Options.Weakness makes some reads return an object's state before the last write, and some
//     reads and edits find no object [C], because Discord promises only eventual consistency [D].
//     The duration of these faults is a guess. Weakness also causes 401 (4004 over the Gateway),
//     403 and 5xx without a reason [C].
//   - The audit log drops entries after 45 days [D]. FillAuditLog adds entries of another user.
//     AuditJitter gives each entry its own delay [C]. IgnoreTargetID ignores the query parameter
//     target_id, which is in [S] but not in [D].
//   - Limits.Sliding makes time windows slide [G]. Limits.Buckets makes several routes share a rate
//     limit bucket [D], but Discord does not publish which routes. Limits.ChannelCreates and
//     WebhookCreates are rate limits that no header shows [C], with guessed figures. StrictLimits
//     returns limits with all of these.
//   - Options.Altered ignores or changes sent values: topics, slowmode of announcement channels,
//     icons, and locale and description outside Community guilds. [D] names the types and guilds
//     for which these fields are valid. It is a guess that Discord ignores the fields, without an
//     error, for other types and guilds, and that a new channel may lack its category's
//     overwrites.
//   - A bot in Limits.GuildsPerSession guilds (default 2,500) or more needs shards: GET
//     /gateway/bot recommends several shards, and the Gateway closes a session with too many guilds
//     (4011) [D].
//   - Options.Compatible simulates the observed behaviour of a server with a Discord-compatible
//     API.
//
// # Known differences from Discord
//
// Missing:
//   - threads (so webhooks cannot post in forums), direct messages, reactions, files, components,
//     polls, invites;
//   - thousands of members, edits of members over REST (except of their roles), timeouts, bans;
//   - voice, stages, events, integrations, interactions, automatic moderation, follower webhooks;
//   - the Gateway's etf encoding and zstd-stream, presence, member chunks. A session gets
//     only the guilds of its shard.
//
// Simpler:
//   - A response and its events are one step, and all clients see the same state at once, unless
//     Faults, Weakness or GatewayFaults (Delay, Miss, LoseOnWire) change that. Only audit log
//     entries and their events come later (AuditDelay). On Discord, events may overtake responses,
//     and audit log entries may overtake both.
//   - GUILD_CREATE is never stale, nor are the responses to calls for roles and members.
//   - By default, rate limits have fixed windows, and no routes share a bucket.
//   - A 5xx is JSON unless a fault changes that (BadGateway). Anti-abuse blocks are not simulated.
//   - Unknown fields of requests are ignored, as on Discord. The package contract finds them.
//   - Images are checked and hashed, but linked pictures are not fetched. Text is not filtered.
//
// Guesses, each marked in the code:
//   - The normalisation of rare names of text channels (Options.Normalise). Double white space in
//     names of guilds stays.
//   - The time for which a session can be resumed (Options.SessionLife). The order of the events
//     when a role or channel is deleted or hidden. The close code 4002 for an IDENTIFY without
//     properties.
//   - Changes of name and topic share one rate limit (unless Limits.NameAndTopicApart is set), and
//     the 429 of this limit has scope shared.
//   - The order of the checks of a call: permissions, fields of the body, quantity limits.
//   - The code for an icon of more than 1024 by 1024 pixels, and for an animated icon without
//     ANIMATED_ICON. The hash of an icon depends on its content.
//   - If an edit of a Community guild does not send COMMUNITY in features, the rules and updates
//     channel stay unchanged without an error.
//   - If the verification level or the filter of a Community guild is below the minimum, Discord
//     refuses the edit, instead of raising them. The error codes of this refusal.
//   - The HTTP statuses of several error codes, and the codes of some nested errors. POST /guilds
//     is refused, because bots can no longer create guilds.
//   - Which permissions a bot needs to change overwrites, and to create a channel in a category.
//   - The positions of new channels. Channels keep their positions when their category is deleted.
//   - A new role shares position 1 with others. Positions of roles are stored as sent. Which moves
//     of roles are refused, and which changes of roles of bots, integrations and boosts.
//
// One lock guards the whole state, so a response and its events are one step. Tests move the clock
// with Server.Advance.
//
// # Files
//
//   - server.go, options.go, setup.go, app.go, faults.go: the methods for tests. setup.go makes
//     bots, guilds, members and roles. app.go acts as a user of the Discord app. names.go exports
//     types of the other packages.
//   - rest/routes.go: the table of REST routes. rest/channels and its siblings: the rules for each
//     route. rest/call: forms, access checks and errors. rest/faults: failing calls.
//   - internal/model: the state, and the effects of its changes.
//   - gateway/: connections, sessions, events and their faults. page/: the web page.
//   - contract/: comparison with Discord's OpenAPI description. cmd/discordtest: the simulator as a
//     process.
package discordtest
