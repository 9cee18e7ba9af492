// SPDX-License-Identifier: Apache-2.0

// Package node runs a real Kubernetes node on this machine, as root and without Docker: containerd,
// kubelet and kube-proxy, joined to a testcluster.Cluster.
//
// # How it leaves no trace
//
// The node lives in namespaces of its own (mounts, processes, network, host name). Its bridge, its
// iptables rules, its routes, its mounts and all its processes end with the first process in them,
// however that ends. It sees the machine's files, except that /run is empty, that what it writes to
// /var lands in its own folder, and that the few settings of the kernel that a kubelet changes are
// copies. What is left is removed by the keeper (files/keeper.sh), which outlives this process by a
// moment: cgroups and the folder.
//
// The machine and the node see each other over a pair of network devices: the machine is Gateway,
// the node nodeAddress. Pods and Services can be reached from the machine.
//
// What was needed to make this work is in docs/e2e.md.
package node
