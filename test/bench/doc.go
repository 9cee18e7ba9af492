// SPDX-License-Identifier: Apache-2.0

// Command bench measures the operators: `make bench`. It prints a table, and writes profiles and
// out/bench/figures.json. The API server, the controllers and the operator are real; nodes and
// Discord are simulated. Each scenario has a file, such as load.go, and measures one thing in a
// test cluster (stage.go). A new scenario needs a line in run.go.
package main
