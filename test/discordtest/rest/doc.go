// SPDX-License-Identifier: Apache-2.0

// Package rest answers Discord's REST API. For each call, handler.go picks a fault, checks the bot
// and the rate limits, and runs the function of the route (routes.go). A route checks access,
// permissions, fields of the body and quantity limits, in this order (a guess). Then it changes the
// state in package model, which sends events and writes audit log entries.
package rest
