// SPDX-License-Identifier: Apache-2.0

// Package testcluster starts a real Kubernetes API on this machine, without Docker: etcd and
// kube-apiserver, and on request kube-controller-manager, kube-scheduler and fake nodes
// (https://kwok.sigs.k8s.io). It is for tests, benchmarks and `make run`. It runs on Linux, as root
// or not.
//
//	cluster, err := testcluster.Start(ctx, testcluster.Options{ControllerManager: true, Nodes: 3})
//	if err != nil { ... }
//	defer cluster.Stop()
//	client, err := client.New(cluster.Config(), client.Options{})
//
// # What is real and what is not
//
// The API server, the controllers and the scheduler are real, and with them validation, admission,
// RBAC, server-side apply, watches and quota. Nodes are fake: no container runs. A scheduled pod is
// reported as running and ready at once, unless its image is from a registry under the domain
// .invalid: then it stays in ImagePullBackOff. There are no pod logs, no exec, no cluster DNS and
// no metrics-server. A HorizontalPodAutoscaler only keeps its minimum and maximum. kwok.yaml
// configures nodes and pods.
//
// A cluster without a client writes nothing: there are no leases and no heartbeats. The audit log
// therefore shows only the program under test and the controllers that react to it.
//
// # Binaries
//
// Package binaries downloads or builds the binaries in the versions of tools/kubernetes, tools/etcd
// and tools/kwok, once per user and version, into the user's cache folder. The first time takes
// seconds or minutes and reports progress on stderr; `make testcluster` does it ahead of time. A
// folder with ready-made binaries (JUTSU_TESTCLUSTER_ASSETS or KUBEBUILDER_ASSETS) has precedence.
//
// # Real nodes
//
// With Options.Address a real node can join the control plane, as in test/e2e. Package binaries
// also provides the programs of real nodes and of their workloads.
//
// # Cleanup
//
// The reaper is a small shell process that reads from a pipe. The pipe closes after Stop, and also
// when this process ends in any way: return, os.Exit, panic, Ctrl-C, SIGKILL. The reaper then kills
// all components and removes the cluster's folder in the system's temporary folder.
//
// # Files
//
//   - cluster.go starts and stops a cluster; component.go runs one component.
//   - components.go has each component's flags and readiness check.
//   - binaries/ provides the programs; process/ runs programs and cleans up.
//   - modules.go finds CustomResourceDefinitions and manifests of other projects.
package testcluster
