// SPDX-License-Identifier: Apache-2.0

// Package e2e tests both operators on a real node with real containers, CloudNativePG, Postgres,
// Prometheus and Alertmanager. Discord is simulated. `make e2e` runs the package. For the analysis
// of failures, see docs/contribute/e2e.md.
package e2e
