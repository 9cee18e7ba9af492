// SPDX-License-Identifier: Apache-2.0

// Package rest answers Discord's REST API.
//
// routes.go is the table of routes with their functions in the packages channels, guilds, users,
// webhooks and messages. handler.go processes a call: record it, find its fault, check the caller
// and the limits (ratelimit.go), let the route answer, deliver. Package call has access, forms and
// errors for all routes, package faults the faults.
//
// A route checks in Discord's order: access, permission, form, quantity. Then it changes the state
// (package model), which causes events and audit log entries.
package rest
