// SPDX-License-Identifier: Apache-2.0

// Package role reconciles DiscordRole objects: the roles of a server, and who has them.
//
// The package has the fields of a role, its state, plan, members, status and watches. Package lifecycle
// manages the role on Discord. Discord lets a bot write the roles below its own highest one, so a role that
// was dragged above that is reported and left alone.
//
// Discord sends bots no events of members without a privilege. So who has a role is read by one call
// for each user of the spec, remembered for a while, and read again then. A user is noted in the status
// before the role is given, and the role is taken only from users who are noted.
package role
