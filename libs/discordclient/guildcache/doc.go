// SPDX-License-Identifier: Apache-2.0

// Package guildcache keeps a live view of the guilds of a bot in memory, as an informer of
// client-go does of objects:
//
//	c, err := guildcache.New(guildcache.Options{Options: discordclient.Options{Token: token}, Metrics: metrics})
//	go c.Run(ctx)                          // on one replica: keeps the views up to date
//	view := c.Guild(guildID).Snapshot()    // no call: one consistent state of the guild, from memory
//
// [Client] makes the calls of [discordclient.Client] and brings their answers into the views at
// once. [Client.Guild] returns the view of a guild: settings, roles, channels, the bot's
// permissions and, once listed, webhooks. The Gateway's GUILD_CREATE fills it, events and own
// writes keep it up to date, and [Client.Subscribe] reports what others changed. Without the
// Gateway it is polled, with one GET of the guild and one of its channels per period, whatever the
// number of objects.
//
// # What keeps a view correct
//
// Discord gives neither answers nor events a version, and the two come on different ways.
//
//   - Pending writes (internal/pending): an event that equals an own write but the last one is older
//     than it and is dropped; an answer whose event already came is not applied.
//   - Lists (guild.go): changes that came after a list was asked for are put on top of it.
//   - Invalidation (writes.go): a channel that a call did not find leaves the view, and the guild is
//     read again.
//   - Staleness: where a view may have missed something, it is read again, at once or after a delay
//     in which Discord becomes consistent, and [View.AsOf] says until then how old it is.
//   - Silence (guild.go): where no event of an own write comes, the guild is polled until one does.
//   - Resync (poller.go): a live view is read about once an hour, in case an event was lost without a
//     gap.
//
// Of the guilds that the Gateway sends, those are kept that were asked for, or that Options.Named
// knows. One that is asked for later is read, twice, and followed from then on.
//
// # Files
//
// client.go is the Client and its options; calls.go the calls whose answers change a view;
// poller.go polling and the Gateway; auditlog.go what was read of the audit log; metrics.go
// Prometheus; view.go what readers get. internal/store is the state of the guilds, without I/O;
// internal/pending orders own writes and events; internal/fanout hands events to subscribers.
package guildcache
