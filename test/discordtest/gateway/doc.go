// SPDX-License-Identifier: Apache-2.0

// Package gateway is Discord's websocket side: connections, sessions and their events.
//
// A connection (conn.go) sends HELLO, reads frames and writes them in order. IDENTIFY or RESUME
// (identify.go) gives it a session. A session (session.go) outlives its connection, selects its
// events (intents.go) and numbers them. faults.go has the faults, frame.go the opcodes. Discord's
// changes arrive through model.Events.
package gateway
