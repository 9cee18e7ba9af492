// Command bench measures the operators: `make bench`. It prints a table and writes out/bench/dojo.json; nothing passes or
// fails on time, so that figures of different machines stay figures.
//
// Everything is real but the nodes: the API server (with its audit log, which is where the request counts come from), the
// controllers, and the operator's binary as a process of its own that acts as its own ServiceAccount. Nothing inside the
// operator is touched or asked.
//
// What is measured, a file each:
//
//	load.go      many Dojos at once: seconds until all are Ready, and what the operator asked the API server for meanwhile
//	direct.go    beside it: the same children, created without any operator, until all of their pods are available
//	idle.go      requests per minute when nothing happens
//	rotation.go  the database password of all Dojos changes at once
//	restart.go   the operator stops and starts again, and nothing has changed meanwhile
//	takeover.go  two operators, and the leader is asked to stop, or killed
//	discord.go   many channels at once: calls to Discord and writes per channel, idle traffic, how soon drift is repaired
//	memory.go    what Secrets that are none of the operator's business cost it
//
// A scenario is a function that measures one thing on a stage (stage.go: a cluster, with operators on demand) and adds figures
// to the report (report.go). What it waits for it sees through watches (stopwatch.go); requests it counts from the audit log
// (audit.go). To add one, write the function and call it in run.go.
package main
