// Command playground shows the operators at work, on a real Kubernetes API that it starts on this machine: `make run`.
//
// It installs what deploy/ renders, runs the operator's real binary with the operator's own permissions, applies the samples
// of deploy/samples, shows how they come up, says what to try next, and stays until Ctrl-C. With --once it
// leaves as soon as all is settled, which makes it a smoke test of the whole.
//
// run.go is the story from start to end; environment.go has the processes; table.go decides what is shown, screen.go shows it;
// hints.go is what to try next.
package main
