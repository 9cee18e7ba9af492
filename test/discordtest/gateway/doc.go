// SPDX-License-Identifier: Apache-2.0

// Package gateway simulates Discord's Gateway: websocket connections, sessions and their events.
//
// A connection (conn.go) sends HELLO, and reads and writes frames in order. IDENTIFY starts a
// session on the connection, and RESUME continues a session (identify.go). A session (session.go)
// outlives its connection. It selects events by the client's intents (intents.go) and numbers them.
// faults.go has the faults, frame.go the opcodes. Package model reports changes of the state
// through the interface model.Events, which [Gateway] implements.
package gateway
