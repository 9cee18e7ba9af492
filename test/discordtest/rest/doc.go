// SPDX-License-Identifier: Apache-2.0

// Package rest answers Discord's REST API. routes.go has the table of routes. Their functions are
// in the packages channels, guilds, users, webhooks, roles and messages.
//
// handler.go processes a call in this order: record it, pick a fault, check the caller and the rate
// limits (ratelimit.go), call the route's function, send the response. A route checks in Discord's
// order: access, permissions, fields of the body, quantity limits. Then it changes the state
// (package model), which sends events and writes audit log entries.
package rest
