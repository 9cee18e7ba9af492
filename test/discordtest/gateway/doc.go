// SPDX-License-Identifier: Apache-2.0

// Package gateway simulates Discord's Gateway: websocket connections, sessions and their events.
// IDENTIFY starts a session on a connection, and RESUME continues a session on a new connection. A
// session numbers the events that the client's intents select. Package model reports changes
// through the interface model.Events, which [Gateway] implements.
package gateway
