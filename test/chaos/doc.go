// SPDX-License-Identifier: Apache-2.0

// Command chaos injects random faults around the operators and checks invariants. The API server,
// the controllers and the operators are real; nodes, CloudNativePG and Discord are simulated.
// actions.go has the actions, run.go the rounds, check_*.go the invariants. For all actions and
// invariants, and the analysis of a failure, see docs/contribute/chaos.md. `make chaos` starts it.
package main
