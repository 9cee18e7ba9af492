// SPDX-License-Identifier: Apache-2.0

// Package call gives a route what it needs for one REST call: the caller (call.go), access
// (access.go), the fields of the body and their errors (form.go), and Discord's errors (errors.go).
package call
