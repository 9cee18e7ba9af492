// SPDX-License-Identifier: Apache-2.0

// Command dev installs on the cluster of the current kubectl context what the operators need, runs
// them on this machine against it, and removes what it has installed: `make install`, `make dev`,
// `make uninstall`, `make dependencies` (docs/quickstart.md).
//
//   - main.go: the command line;
//   - target.go: which cluster, and whether it is meant;
//   - install.go: what is installed, and removed;
//   - dependencies.go: CloudNativePG and prometheus-operator, of the versions that tools/ pins;
//   - checks.go: whether the operators can run from here, and nobody else runs them;
//   - run.go: the operators as processes of this machine.
package main
