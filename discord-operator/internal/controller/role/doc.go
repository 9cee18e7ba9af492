// SPDX-License-Identifier: Apache-2.0

// Package role reconciles DiscordRole objects: the roles of a server, and their members. A bot may
// change only roles below its own highest role, so the operator reports higher roles. Discord sends
// events of members only to bots with a privileged intent, so the operator reads each user in the
// spec by one call per --live-resync-period, and absent users at least every ten minutes. The
// status records users before they get the role, and the operator takes the role only from recorded
// users: users who got it by hand keep it.
package role
