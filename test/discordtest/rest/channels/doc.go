// SPDX-License-Identifier: Apache-2.0

// Package channels has the routes of channels and their overwrites, and the rules for callers:
// fields and names (fields.go, names.go), limits (limits.go), permissions that a bot may grant
// (overwrites.go). The effects of a change are in internal/model/channel_changes.go.
package channels
