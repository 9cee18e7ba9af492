// SPDX-License-Identifier: Apache-2.0

// Package call has the common code of REST routes: calls, access checks, form fields and errors.
package call
