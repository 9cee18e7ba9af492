// Package group reconciles DiscordGroup objects: the categories of a server.
//
// It is the channel's reconciler without what a category does not have. A group that is being deleted waits for the channels that refer to it.
package group
