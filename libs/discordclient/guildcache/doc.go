// SPDX-License-Identifier: Apache-2.0

// Package guildcache keeps live views of a bot's guilds in memory, like an informer of client-go:
//
//	c, err := guildcache.New(guildcache.Options{Options: discordclient.Options{Token: token}, Metrics: metrics})
//	go c.Run(ctx)                          // on one replica: keeps the views up to date
//	view := c.Guild(guildID).Snapshot()    // no call: one consistent state of the guild, from memory
//
// [Client] makes the calls of [discordclient.Client] and updates the views with their responses.
// [Client.Guild] returns a guild's view: settings, roles, channels, the bot's permissions and, once
// listed, webhooks. [Client.Subscribe] reports changes by other clients. Without the Gateway, each
// polling period costs two GETs per guild, whatever the number of Kubernetes objects.
//
// # Correctness of a view
//
// Neither responses nor Gateway events have a version, and they may overtake each other. An own
// write is a write that this Client made.
//
//   - Pending writes (internal/pending): if a later own write already has its response, the event
//     of an earlier own write is dropped. If a write's event came first, its response is dropped.
//   - Lists (guild.go): the view applies a list, and then again the changes that came after the
//     request for the list.
//   - Invalidation (writes.go): if Discord does not find the channel of a call, the channel leaves
//     the view, and the guild is read again.
//   - Staleness: a view that may have missed a change is read again by REST. The view stays stale
//     until a reading begins so late that every backend of Discord shows the change. Meanwhile
//     [View.AsOf] returns a time up to which the view has all changes.
//   - Silence (guild.go): if the event of an own write does not come, the guild is polled until
//     an event comes.
//   - Resync (poller.go): a live view is read by REST about once an hour, in case an event was lost
//     without a gap in the events' sequence numbers.
//
// The Gateway sends the state of all guilds when a session starts. The Client keeps the state of a
// guild only if [Client.Guild] was called for the guild before, or if [Options].Keep returns true.
// If [Client.Guild] is called later in the session, the view follows the events from this call on,
// and the guild is read twice by REST.
//
// # Files
//
// client.go has the Client; calls.go the calls that update a view; poller.go polling and the
// Gateway; view.go the types for readers. internal/store has the state of the guilds, without I/O;
// internal/pending orders own writes and their events; internal/fanout sends events to subscribers.
package guildcache
