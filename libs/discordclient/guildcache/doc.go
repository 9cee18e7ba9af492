// SPDX-License-Identifier: Apache-2.0

// Package guildcache keeps live views of a bot's guilds in memory, like an informer of client-go:
//
//	c, err := guildcache.New(guildcache.Options{Options: discordclient.Options{Token: token}, Metrics: metrics})
//	go c.Run(ctx)                          // on one replica: keeps the views up to date
//	view := c.Guild(guildID).Snapshot()    // no call: one consistent state of the guild, from memory
//
// [Client] makes the calls of [discordclient.Client] and updates the views with their responses.
// [Client.Guild] returns the view of a guild: settings, roles, channels, the bot's permissions and,
// once listed, webhooks. The Gateway's GUILD_CREATE fills it; events and own writes update it.
// [Client.Subscribe] reports changes by others. Without the Gateway, each period costs one GET of
// the guild and one of its channels, whatever the number of objects.
//
// # What keeps a view correct
//
// Neither responses nor events have a version, and they may overtake each other.
//
//   - Pending writes (internal/pending): an event that equals an own write other than the last is
//     older than the view and is dropped. A response whose event already came is not applied.
//   - Lists (guild.go): changes since a list was requested are applied on top of it.
//   - Invalidation (writes.go): a channel that a call did not find leaves the view, and the guild
//     is read again.
//   - Staleness: a view that may have missed something is read again, immediately or once Discord
//     is consistent. Until then [View.AsOf] returns its age.
//   - Silence (guild.go): if no event of an own write comes, the guild is polled until an event
//     comes.
//   - Resync (poller.go): a live view is read about once an hour, in case an event was lost without
//     a gap.
//
// The state of a guild that the Gateway sends is kept if [Client.Guild] was called or
// [Options].Keep allows it. A guild requested later is read twice and followed from then on.
//
// # Files
//
// client.go has the Client and its options; calls.go the calls that update a view; poller.go
// polling and the Gateway; auditlog.go the audit log; metrics.go Prometheus; view.go the types for
// readers. internal/store has the state of the guilds, without I/O; internal/pending orders own
// writes and events; internal/fanout sends events to subscribers.
package guildcache
