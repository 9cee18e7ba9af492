// SPDX-License-Identifier: Apache-2.0

// Command chaos breaks everything around the operators, again and again, and checks that they never
// do what they must not: `make chaos`. What it does, what it checks and how to read a failure is in
// docs/chaos.md.
//
// Everything is real but the nodes, CloudNativePG and Discord: the API server, the controllers, and
// two processes of each operator with their own ServiceAccounts. Discord is simulated in this very
// process, and so what really happened there is known.
//
//	actions.go     what can happen, how often in comparison, and the sequence of it that follows from a seed: pure
//	kubernetes.go  what users do to objects; dojos.go the same for Dojos
//	tenant.go      what a tenant does who abuses the operators; check_tenant.go that it gets nothing by it
//	discord.go     what users do on Discord
//	faults.go      what fails: operators, API server, controllers, Discord
//	run.go         rounds of chaos, then calm, then the checks
//	observer.go    sees every version of every object through watches
//	world.go       reads what there is when all is calm
//	check_*.go     the invariants, pure functions of what was seen: nothing of the operators' own code is asked
//	stage.go       the environment with a guild; operators.go keeps two processes of each operator running
//	secrets.go     all secrets there ever were; report.go finds them, and writes what explains a violation
//
// To add an action, write a method of run and a line in the table of actions.go. To add an
// invariant, write a function and call it in check.go.
package main
