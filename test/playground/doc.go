// SPDX-License-Identifier: Apache-2.0

// Command playground starts a Kubernetes API server and shows the operators at work: `make run`.
//
// It installs the manifests of deploy/, and runs the operators with the permissions of these
// manifests and with a simulated Discord. It applies deploy/samples and shows their progress. It
// writes a file with commands for users to try, and stays until Ctrl-C. With --once, it ends when
// all samples are Ready, as a smoke test. With a real Discord, it finally deletes the objects that
// it has created there.
//
// run.go has the sequence, and sandbox.go the processes. discord.go chooses a Discord, and leave.go
// deletes the created objects there. table*.go and screen.go have the display, and hints*.go the
// commands for users.
package main
