// SPDX-License-Identifier: Apache-2.0

// Command bench measures the operators: `make bench`. It prints a table, and writes profiles and
// out/bench/figures.json. It fails only on errors, whatever the values of the figures are.
//
// The API server (whose audit log counts requests), the controllers and the operator's binary are
// real; nodes and Discord are simulated. Metrics and profiles come from the operator's own
// endpoints.
//
// One file per scenario:
//
//	load.go      many Dojos at once: seconds to Ready, and requests
//	one.go       one more Dojo, in a cluster with many and in an empty one
//	direct.go    the children of many Dojos, created without an operator
//	idle.go      requests per minute at rest
//	rotation.go  the database password of all Dojos changes at once
//	restart.go   the operator restarts without a change
//	takeover.go  two operators: the leader stops, or is killed
//	memory.go    memory for Secrets that the operator does not manage
//	discord.go   many channels at once, in one guild or in many: calls, writes, idle traffic, drift
//	outage.go    an outage of Discord when half of the channels exist
//	lost.go      the answers to creates are lost in a guild with a long audit log
//	abuse.go     one tenant works while another attacks (attack.go, granted.go)
//	roles.go     many roles at once: calls, and their order
//	resync.go    polling without the Gateway: calls, and the delay of drift correction
//
// A scenario measures one thing in a test cluster (stage.go). It adds figures with their lower
// bounds to the report (report.go, table.go). It waits for objects with watches (stopwatch.go), and
// counts requests in the audit log (audit.go). To add a scenario, write its function and add the
// function to the parts of a run in run.go.
package main
