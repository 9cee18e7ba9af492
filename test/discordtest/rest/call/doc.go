// SPDX-License-Identifier: Apache-2.0

// Package call is one REST call for its route: the caller (call.go), access (access.go), the fields
// of the body and their errors (form.go), and Discord's refusals (errors.go).
package call
