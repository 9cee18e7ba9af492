// SPDX-License-Identifier: Apache-2.0

// Package cluster is a whole Kubernetes cluster on this machine in which containers really run: the
// control plane of test/testcluster, one node, cluster DNS, a storage class and a registry that
// stands in for all registries. It takes Linux and root, and Debian for what is not built from
// source.
package cluster
