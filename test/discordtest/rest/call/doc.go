// SPDX-License-Identifier: Apache-2.0

// Package call is one REST call as its route gets it: who calls (call.go), what the bot may reach
// (access.go), the fields of the body and all that is wrong with them (form.go), and how Discord
// refuses (errors.go).
package call
