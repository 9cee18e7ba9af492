// SPDX-License-Identifier: Apache-2.0

// Package e2e proves the product where its users run it: on a real node, with real containers,
// CloudNativePG, Postgres, Prometheus and Alertmanager, and both operators in pods as deploy/ has
// them. Nothing is simulated but Discord. `make e2e` runs it; docs/e2e.md says how to look into a
// run that failed.
package e2e
