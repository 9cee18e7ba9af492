// SPDX-License-Identifier: Apache-2.0

// Package rest answers Discord's REST API.
//
// routes.go is the table of routes. Their functions are in the packages channels, guilds, users,
// webhooks and messages. handler.go processes a call: it records the call, finds a fault for it,
// checks the caller and the limits (ratelimit.go), lets the route answer, and sends the response.
// Package call has access, forms and errors for all routes. Package faults has the faults.
//
// A route checks in Discord's order: access, permission, form, quantity. Then it changes the state
// (package model), which causes events and audit log entries.
package rest
