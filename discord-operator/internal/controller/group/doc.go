// SPDX-License-Identifier: Apache-2.0

// Package group reconciles DiscordGroup objects: the categories of a server.
//
// The package has the fields of a category, its state, plan, status and watches. Package lifecycle manages
// the category on Discord. A group that is being deleted waits for the channels that refer to it.
package group
