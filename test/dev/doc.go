// SPDX-License-Identifier: Apache-2.0

// Command dev prepares the cluster of the current kubectl context, runs the operators on this
// machine against it, and cleans up: `make install`, `make dev`, `make uninstall`, `make
// dependencies` (docs/learn/quickstart.md).
//
//   - main.go: the command line;
//   - target.go: the cluster, and its confirmation;
//   - install.go: installed objects, and their removal;
//   - dependencies.go: CloudNativePG and prometheus-operator, of the versions that tools/ pins;
//   - checks.go: permissions, and operators that run elsewhere;
//   - run.go: the operators as processes of this machine.
package main
