// SPDX-License-Identifier: Apache-2.0

// Command dev prepares the cluster of the current kubectl context, runs the operators on this
// machine against the cluster, and cleans up: `make install`, `make dev`, `make uninstall`, `make
// dependencies` (docs/learn/quickstart.md).
//
//   - main.go: the command line;
//   - target.go: the cluster, and the user's confirmation of it;
//   - install.go: the installation of objects, and their removal;
//   - dependencies.go: CloudNativePG and prometheus-operator, in the versions that tools/ pins;
//   - checks.go: checks of permissions, and of operators that already run;
//   - run.go: the operators as processes of this machine.
package main
