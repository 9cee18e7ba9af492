// SPDX-License-Identifier: Apache-2.0

// Command bench measures the operators: `make bench`. It prints a table and writes
// out/bench/figures.json and profiles; nothing passes or fails on time, so that figures of
// different machines stay figures.
//
// Everything is real but the nodes and Discord: the API server (with its audit log, which is where
// the request counts come from), the controllers, and the operator's binary as a process of its own
// that acts as its own ServiceAccount. What is read of the operators (metrics, profiles) any client
// could read; nothing inside them is touched.
//
// What is measured, a file each:
//
//	load.go      many Dojos at once: seconds until all are Ready, and the requests meanwhile
//	one.go       one more Dojo beside all of them, and beside none
//	direct.go    beside it: the same children, created without any operator, until all of their pods are available
//	reference.go the same Dojos with another operator, as a column of load
//	idle.go      requests per minute when nothing happens
//	rotation.go  the database password of all Dojos changes at once
//	restart.go   the operator stops and starts again, and nothing has changed meanwhile
//	takeover.go  two operators, and the leader is asked to stop, or killed
//	memory.go    what Secrets that are none of the operator's business cost it
//	discord.go   many channels at once, in one guild or in many: calls, writes, idle traffic, correction of drift
//	outage.go    Discord is away for a while when half of the channels are there
//	lost.go      the answers to creates are lost in a guild whose audit log others fill
//	abuse.go     one tenant works while another does what it can to hinder it: attack.go
//	resync.go    without the Gateway: what reading costs instead, and how soon drift is repaired
//
// A scenario is a function that measures one thing on a stage (stage.go: a cluster, with operators
// on demand) and adds figures, and the least that they can be, to a sheet of the report (report.go;
// table.go draws it, fit.go says how figures grow). What it waits for it sees through watches
// (stopwatch.go); requests it counts from the audit log (audit.go); Discord is in simulated.go. To
// add one, write the function and add it to the parts in run.go.
package main
