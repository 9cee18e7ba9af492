// SPDX-License-Identifier: Apache-2.0

// Package call has the common code of all REST routes: the call (call.go), access (access.go), the
// fields of the body (form.go), and Discord's errors (errors.go).
package call
