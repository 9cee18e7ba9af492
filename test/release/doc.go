// SPDX-License-Identifier: Apache-2.0

// Package release tests a release: a real API server accepts its install.yaml, and each operator
// works beside the other one's last release.
package release
