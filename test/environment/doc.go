// SPDX-License-Identifier: Apache-2.0

// Package environment starts the environment of the playground, the benchmark and the tests: a
// Kubernetes API, a simulated CloudNativePG, a simulated Discord, and the operators as processes
// with their ServiceAccounts. It has its own go.mod and does not import discordtest, so that the
// requirements of module test do not change the versions of the operators' dependencies.
package environment
