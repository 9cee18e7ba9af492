// SPDX-License-Identifier: Apache-2.0

// Package pods reads what pods report of themselves: why one is not ready, and what one said when
// it ended; and it places pods as the spec says.
package pods
