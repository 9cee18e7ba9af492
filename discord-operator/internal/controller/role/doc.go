// SPDX-License-Identifier: Apache-2.0

// Package role reconciles DiscordRole objects: the roles of a server, and their members. Package
// lifecycle manages the role on Discord. A bot may write only roles below its highest one, so a
// role above that is reported and left alone.
//
// Bots without a privilege get no events of members. So members are read by one call per user of
// the spec, and read again after a while. The status records a user before the role is given. The
// role is taken only from recorded users.
package role
