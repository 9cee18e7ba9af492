// SPDX-License-Identifier: Apache-2.0

// Command playground shows the operators at work on a Kubernetes API that it starts: `make run`.
//
// It installs the manifests of deploy/ and runs the operators with their own permissions and a
// simulated Discord. It applies deploy/samples and shows their progress. It writes a file with
// commands for users to try, and stays until Ctrl-C. With --once it ends when all samples are
// Ready, as a smoke test. With a real Discord, it finally deletes the objects that it has created
// there.
//
// run.go has the sequence, and sandbox.go the processes. discord.go chooses a Discord, and leave.go
// deletes the run's objects there. table*.go and screen.go have the display, and hints*.go the
// commands for users.
package main
