// SPDX-License-Identifier: Apache-2.0

// Package release tests a release. A real API server must accept its install.yaml. A test upgrades
// the operators from the former release one after the other, and then rolls them back.
package release
