// SPDX-License-Identifier: Apache-2.0

// Package rest answers Discord's REST API.
//
// routes.go is the table of routes: each names the function that answers it, in the package of what
// it is about (channels, guilds, users, webhooks, messages). handler.go takes a call through:
// record it, find the fault that hits it, check who calls and how often (ratelimit.go), let the
// route answer, deliver. Package call is what every route works with: access, forms, errors.
// Package faults has what tests make go wrong.
//
// A route asks in Discord's order: access, permission, form, quantity. Then it changes the state
// (package model), which brings events and audit log entries.
package rest
