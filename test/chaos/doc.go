// SPDX-License-Identifier: Apache-2.0

// Command chaos injects faults around the operators and checks invariants: `make chaos`.
// docs/contribute/chaos.md describes the actions, the invariants and how to read a failure.
//
// The API server, the controllers and two processes of each operator are real. Nodes, CloudNativePG
// and Discord are simulated. The simulated Discord runs in this process, so the checks know its
// true state.
//
//	actions.go     all actions, their frequency, and the sequence that a seed determines
//	kubernetes.go  users of Kubernetes; also dojos.go, releases.go, data.go, minors.go and roles.go
//	tenant.go      a tenant without grants; check_tenant.go its invariants
//	guests.go      a tenant with a grant; check_guests.go its invariants
//	discord.go     users of Discord
//	faults.go      faults of operators, API server, controllers and Discord
//	run.go         rounds: each has actions, then the end of all faults, then the checks
//	observer.go    watches every version of every object
//	world.go       reads the state of Kubernetes and Discord after a round
//	check_*.go     the invariants: pure functions of that state, without code of the operators
//	stage.go       the environment with a guild; operators.go restarts the operators' processes
//	secrets.go     all secrets that a run has used
//	report.go      finds secrets in texts, and writes the files that explain a violation
//
// To add an action, write a method of run and a line in the table of actions.go. To add an
// invariant, write a function and call it in check.go.
package main
