// SPDX-License-Identifier: Apache-2.0

// Package observability proves what users watch the operators with: dashboards, alerts, GitOps
// health and what kubectl shows. It has tests only. environment_test.go has the one environment
// that those share which need live operators; the rest reads files.
package observability
