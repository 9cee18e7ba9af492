// SPDX-License-Identifier: Apache-2.0

// Package release tests a release: a real API server accepts its install.yaml, and each operator
// is upgraded beside the other one's last release, and back.
package release
