// SPDX-License-Identifier: Apache-2.0

// Package role reconciles DiscordRole objects: the roles of a server, and their members. Package
// lifecycle manages the role on Discord. A bot may change only roles below its own highest role, so
// the operator reports a higher role and does not change it.
//
// Discord sends events of members only to bots with a privileged intent. So the operator reads each
// user in the spec by one call, and again after --live-resync-period. It records a user in the
// status before it gives the user the role, and it takes the role only from recorded users.
package role
