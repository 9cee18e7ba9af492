// SPDX-License-Identifier: Apache-2.0

// Package gateway is Discord's websocket side: connections, sessions and the events that they get.
//
// A connection (conn.go) says HELLO, reads frames and writes them in order; IDENTIFY or RESUME
// (identify.go) gives it a session. A session (session.go) outlives its connection, decides which
// events it gets (intents.go) and numbers them. faults.go has what tests make go wrong; frame.go
// the opcodes. What happens on Discord arrives through model.Events.
package gateway
