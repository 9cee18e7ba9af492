// SPDX-License-Identifier: Apache-2.0

// Package release tests a release. A real API server accepts its install.yaml. Each operator is
// upgraded and rolled back while the other one has its last release.
package release
