// SPDX-License-Identifier: Apache-2.0

// Package group reconciles DiscordGroup objects: the categories of a server.
//
// It is only what a category differs in: what is observed of a group, its plan, its status and its
// watches. The life of the category is package lifecycle's. A group that is being deleted waits for
// the channels that refer to it.
package group
