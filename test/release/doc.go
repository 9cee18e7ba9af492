// SPDX-License-Identifier: Apache-2.0

// Package release tests that an API server accepts install.yaml, and that the operators can be
// upgraded one after the other and rolled back.
package release
