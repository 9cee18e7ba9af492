// SPDX-License-Identifier: Apache-2.0

// Package channels answers the routes of channels and their overwrites, and has the rules for
// callers: which fields a channel takes and how names are stored (fields.go, names.go), how many
// there may be and how often they change (limits.go), which permissions a bot may grant
// (overwrites.go). What follows from a change is in internal/model/channel_changes.go.
package channels
