// SPDX-License-Identifier: Apache-2.0

// Package release holds the tests of what a release promises: its install.yaml is taken by a real
// API server, and each operator works beside the other one's last release.
package release
