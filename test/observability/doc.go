// SPDX-License-Identifier: Apache-2.0

// Package observability tests dashboards, alerts, GitOps health and the output of kubectl. Some
// tests need running operators (environment_test.go). The other tests only read files.
package observability
