// SPDX-License-Identifier: Apache-2.0

// Package discordclient makes calls of Discord's REST API as an operator needs them: it never
// sleeps, never repeats a create and shows no secret.
//
//	c, err := discordclient.New(discordclient.Options{Token: discordclient.NewSecret(token)})
//	ch, err := c.CreateChannel(ctx, guildID, discordclient.ChannelCreate{Name: "alerts"}, "uid-of-the-object")
//	switch discordclient.ClassOf(err) {
//	case discordclient.ClassRateLimited:   // *RateLimited says how long to wait; nothing here has waited
//	case discordclient.ClassUnknown:       // it may exist: recovery.Channel, never create again blindly
//	}
//
// One method is one HTTP request, and the package keeps no state of
// guilds: that is package guildcache, which most callers use instead. Package recovery finds out
// what came of a create whose answer was lost, package gateway holds one connection, package
// discordtest is a Discord to test against.
//
// # What holds for every call
//
// It is answered at once when a rate limit stands in its way. It is not repeated, not by this
// package, and by net/http only when that does no harm: a create or an edit when nothing of it was
// begun, a read or a delete once more when the connection failed under it. It goes to the
// configured host and no other; redirects are not followed. Its error has one of eight classes, see
// [Class], and names the field that Discord complains about. No error, log line, metric or printed
// value contains the bot's token or a webhook's URL; [Secret.Reveal] is the only way to them. After
// the token was refused once, no further call is made with it.
//
// # What is used of discordgo (v0.29.0), what is not and why
//
// Used: its endpoints, channel, overwrite, webhook and audit log types, error codes, permission
// bits, Gateway intents and GatewayBotResponse. Not used: its request plumbing, which sleeps on a
// rate limit, repeats a POST on 502 and puts tokens into errors; transport.go sends with net/http.
// Nor its Gateway session: deadlines could be set through Session.Dialer, but it retries fatal
// close codes for ever, deadlocks on op 7 or op 11 before READY, and takes five missed heartbeats
// to notice a dead connection.
//
// Its entities have every field that there is: reading a whole list fails when a field changes that
// is not used here (last_pin_timestamp, say), and a channel differs with each message. And each
// cannot hold something: Channel default_auto_archive_duration, Role its tags, Guild
// safety_alerts_channel_id, Webhook a token that does not print itself, AuditLogEntry options of
// another form, PermissionOverwrite and UserGuild bits with names, an edit a field that it clears.
// So types.go and edits.go have them, with the fields in use.
package discordclient
