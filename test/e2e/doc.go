// SPDX-License-Identifier: Apache-2.0

// Package e2e tests both operators as users run them: on a real node with real containers,
// CloudNativePG, Postgres, Prometheus and Alertmanager. Only Discord is simulated. `make e2e` runs
// it; docs/contribute/e2e.md explains how to analyse a failed run.
package e2e
