// SPDX-License-Identifier: Apache-2.0

// Package observability tests dashboards, alerts, GitOps health and the output of kubectl. Some
// tests need running operators, in the environment of environment_test.go. The other tests read
// files.
package observability
