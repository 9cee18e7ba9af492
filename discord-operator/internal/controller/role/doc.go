// SPDX-License-Identifier: Apache-2.0

// Package role reconciles DiscordRole objects: the roles of a server, and their members. Package
// lifecycle manages the role on Discord. A bot may change only roles below its own highest role, so
// the operator reports a higher role and does not change it.
//
// Discord sends events of members only to bots with a privileged intent. So the operator reads each
// user in the spec by one call, and again after --live-resync-period. The status records a user
// before the user gets the role, and the operator takes the role only from recorded users. So users
// who got the role by hand keep it.
package role
