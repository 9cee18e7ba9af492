// SPDX-License-Identifier: Apache-2.0

// Command playground shows the operators at work on a Kubernetes API that it starts: `make run`.
//
// It installs the manifests of deploy/, runs the operators with their own permissions beside a
// simulated Discord, applies deploy/samples, shows their progress, writes things to try to a file,
// and stays until Ctrl-C. With --once it ends as soon as all samples are Ready: a smoke test. With
// a real Discord it deletes the created objects there at its end.
//
// run.go has the sequence, sandbox.go the processes, discord.go and leave.go the choice and the
// clean-up of Discord, table*.go and screen.go the display, hints*.go the things to try.
package main
