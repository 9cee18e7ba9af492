// SPDX-License-Identifier: Apache-2.0

// Package cluster runs a Kubernetes cluster with real containers on this machine: the control plane
// of test/testcluster, one node, DNS, a storage class and a registry. It requires Linux and root.
// Programs that it does not build from source come from Debian packages.
package cluster
