// SPDX-License-Identifier: Apache-2.0

// Package node runs a real Kubernetes node on this machine, as root and without Docker: containerd,
// kubelet and kube-proxy, joined to a testcluster.Cluster.
//
// # How it leaves no trace
//
// The node runs in its own namespaces (mounts, processes, network, host name). When the first
// process in these namespaces ends, the kernel removes the node's bridge, iptables rules, routes,
// mounts and processes. The node sees the machine's files with three exceptions: /run is empty,
// writes to /var go to the node's folder, and the kernel settings that a kubelet changes are
// copies. The keeper (files/keeper.sh) outlives the Go program by a moment, and removes the rest:
// cgroups and the folder.
//
// A pair of network devices links the machine (Gateway) to the node (nodeAddress). The machine can
// reach pods and Services.
//
// docs/contribute/e2e.md lists the known pitfalls.
package node
