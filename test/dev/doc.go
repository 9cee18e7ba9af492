// SPDX-License-Identifier: Apache-2.0

// Command dev runs the operators on this machine against the cluster of the kubectl context (`make
// dev`), and installs or deletes CustomResourceDefinitions, roles and dependencies there (`make
// install`, `make uninstall`, `make dependencies`). See docs/learn/quickstart.md.
package main
