// SPDX-License-Identifier: Apache-2.0

// Package gateway simulates Discord's Gateway: websocket connections, sessions and their events.
//
// A connection (conn.go) sends HELLO, reads frames and writes them in order. IDENTIFY or RESUME
// (identify.go) gives it a session. A session (session.go) outlives its connection, selects its
// events (intents.go) and numbers them. faults.go has the faults, frame.go the opcodes. Changes of
// the state arrive through model.Events.
package gateway
