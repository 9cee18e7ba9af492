// Package discordclient is Discord as an operator needs it: it never sleeps, never creates twice, reads from memory and
// tells no secret.
//
//	c, err := discordclient.New(discordclient.Options{Token: discordclient.NewSecret(token), Metrics: metrics})
//	go c.Run(ctx)                          // on one replica: keeps the views true
//	view := c.Guild(guildID).Snapshot()    // no call: one consistent state of the guild, from memory
//	ch, err := c.CreateChannel(ctx, guildID, discordclient.ChannelCreate{Name: "alarms"}, "uid-of-the-object")
//	switch discordclient.ClassOf(err) {
//	case discordclient.ClassRateLimited:   // *RateLimited says how long to wait; nothing here has waited
//	case discordclient.ClassUnknown:       // it may exist: RecoverChannel, never create again blindly
//	}
//
// # What holds for every call
//
// One method is one HTTP request (REST.ListMemberships: one per page). It is answered at once when a rate limit stands
// in its way. It is not repeated, not by this package, not by discordgo, and by net/http only when that does no harm: a
// create or an edit when nothing of it was begun, a read or a delete once more when the connection failed under it. It
// goes to the configured host and no other; redirects are not followed. Its error has one of eight classes, see [Class],
// and names the field that Discord complains about. No error, log line, metric or printed value contains the bot's token
// or a webhook's URL; [Secret.Reveal] is the only way to them. After the token was refused once, no further call is made
// with it.
//
// # The view
//
// [Client.Guild] returns the live view of a guild: settings, roles, channels, the bot's permissions and, once listed,
// webhooks. The Gateway's GUILD_CREATE fills it, events and the answers of the Client's own writes keep it true, and
// [Client.Subscribe] tells what others changed. Without the Gateway it is polled, with one GET of the guild and one of its
// channels per period, whatever the number of objects. What may have been missed is read again, and [View.AsOf] tells how
// old the view is until then. What makes it right under concurrency is in echo.go (answers against events) and
// hub_guild.go (lists against both).
//
// # What is used of discordgo, and what is not
//
// Used (v0.29.0): its endpoints and its request plumbing through Session.RequestWithLockedBucket with a bucket of its
// own per call, so that its limiter is never asked. Below lies our transport (transport.go), which knows rate limits,
// turns API v9 into v10, pins the host, adds the token (discordgo never holds it) and lets nothing but success through, so
// that none of discordgo's own handling of failures starts: it would sleep, repeat a POST on 502, and put tokens into
// errors. Bodies are our own, since discordgo's cannot clear fields, and so is what answers are read into (wire.go), since
// discordgo's types fail by a change of fields that nobody here reads.
//
// Not used: its Gateway session. It deadlocks when op 7 or op 11 comes before READY, has no deadline for HELLO, tries fatal
// close codes for ever, takes five missed heartbeats to notice a dead connection, and holds its lock while it opens; a
// supervisor around it could only leak such sessions. gateway/ does the same over github.com/coder/websocket in
// two files. It does not RESUME: each connection is a fresh session and so ends in a complete state of every guild, which
// RESUME does not promise. That costs one IDENTIFY of 1000 a day; the supervisor asks before each one how many are left.
//
// # Files
//
// client.go the interfaces; options.go what can be configured; rest*.go the calls; transport.go what all calls share;
// errors.go and errorbody.go what failures become; hub*.go, echo.go, snapshot.go and poller.go the view; recover.go lost
// creates; metrics.go and instrument.go Prometheus; permissions/ names and bits; internal/ratelimit the account of limits;
// gateway/ the connection; discordtest/ a Discord to test against.
package discordclient
