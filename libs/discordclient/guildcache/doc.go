// SPDX-License-Identifier: Apache-2.0

// Package guildcache keeps live views of a bot's guilds in memory, like an informer of client-go:
//
//	c, err := guildcache.New(guildcache.Options{Options: discordclient.Options{Token: token}, Metrics: metrics})
//	go c.Run(ctx)                          // on one replica: keeps the views up to date
//	view := c.Guild(guildID).Snapshot()    // no call: one consistent state of the guild, from memory
//
// [Client] makes the calls of [discordclient.Client] and updates the views with their responses.
// [Client.Guild] returns a guild's view: settings, roles, channels, the bot's permissions and, once
// listed, webhooks. [Client.Subscribe] reports changes by others. Without the Gateway, each period
// costs two GETs per guild, whatever the number of objects.
//
// # Correctness of a view
//
// Neither responses nor events have a version, and they may overtake each other.
//
//   - Pending writes (internal/pending): an event of an own write is dropped after a later own
//     write, and a response is dropped after its event.
//   - Lists (guild.go): changes since a list was requested are applied on top of it.
//   - Invalidation (writes.go): a channel that a call did not find leaves the view, and the guild
//     is read again.
//   - Staleness: a view that may have missed something is read again once Discord is consistent.
//     Until then [View.AsOf] returns its age.
//   - Silence (guild.go): without the event of an own write, the guild is polled until an event
//     comes.
//   - Resync (poller.go): a live view is read about once an hour, in case an event was lost without
//     a gap.
//
// The Gateway sends the state of all guilds. A view exists after [Client.Guild], or if
// [Options].Keep allows it. A guild requested later is read twice and followed from then on.
//
// # Files
//
// client.go has the Client; calls.go the calls that update a view; poller.go polling and the
// Gateway; view.go the types for readers. internal/store has the state of the guilds, without I/O;
// internal/pending orders own writes and events; internal/fanout sends events to subscribers.
package guildcache
