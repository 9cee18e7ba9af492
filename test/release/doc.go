// SPDX-License-Identifier: Apache-2.0

// Package release tests a release. A real API server accepts its install.yaml. The operators are
// upgraded from the former release one after the other, and then rolled back.
package release
