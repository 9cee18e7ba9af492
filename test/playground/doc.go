// SPDX-License-Identifier: Apache-2.0

// Command playground (`make run`) starts a Kubernetes API, a simulated Discord and the operators.
// It applies deploy/samples, shows their progress, and prints commands for users to try. It runs
// until Ctrl-C or, with --once, until all samples are Ready. With a real Discord, it finally
// deletes the objects that it has created there.
package main
