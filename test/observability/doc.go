// SPDX-License-Identifier: Apache-2.0

// Package observability tests dashboards, alerts, GitOps health and the output of kubectl. Only
// TestLive needs running operators.
package observability
