// SPDX-License-Identifier: Apache-2.0

// Package node runs a Kubernetes node on this machine, as root and without Docker: containerd,
// kubelet and kube-proxy. Its mounts, processes and network are in namespaces, which the kernel
// removes when their first process ends. /run is empty, writes to /var go to the node's folder, and
// a kubelet changes only copies of kernel settings. files/keeper.sh, which outlives the Go program,
// removes the node's cgroups and folder. For known pitfalls, see docs/contribute/e2e.md.
package node
