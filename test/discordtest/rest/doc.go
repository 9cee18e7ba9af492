// SPDX-License-Identifier: Apache-2.0

// Package rest answers Discord's REST API.
//
// routes.go is the table of routes. The functions of the routes are in the packages channels,
// guilds, users, webhooks, roles and messages. handler.go processes a call: it records the call,
// finds a fault, checks the caller and the limits (ratelimit.go), lets the route answer, and sends
// the response. Package call has access checks, forms and errors for all routes. Package faults
// makes calls fail.
//
// A route checks in Discord's order: access, permission, form, quantity. Then it changes the state
// (package model), which emits events and adds audit log entries.
package rest
