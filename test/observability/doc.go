// SPDX-License-Identifier: Apache-2.0

// Package observability tests dashboards, alerts, GitOps health and the output of kubectl.
// environment_test.go has the environment of the tests that need live operators; the others read
// files.
package observability
