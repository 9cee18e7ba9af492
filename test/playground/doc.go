// SPDX-License-Identifier: Apache-2.0

// Command playground shows the operators at work, on a real Kubernetes API that it starts on this
// machine: `make run`.
//
// It installs what deploy/ renders, runs the operators' real binaries with the operators' own
// permissions, beside a simulated Discord with a page to look at, applies the samples of
// deploy/samples, shows how they come up, writes what to try next to a file, and stays until Ctrl-C.
// With --once it ends as soon as all is Ready, which makes it a smoke test of the whole. It can use the
// real Discord instead of the simulated one, and then deletes there at its end what it has created.
//
// run.go is the story from start to end; sandbox.go has the processes, discord.go which Discord
// they use and leave.go how a real one is left; table.go decides what is shown, with
// table_discord.go for what is on Discord, and screen.go shows it; hints.go and hints_discord.go
// are what to try next.
package main
