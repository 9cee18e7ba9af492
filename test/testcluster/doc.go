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
// The API server is the one that production runs: validation, admission, RBAC, server-side apply,
// watches, quota. So are the controllers and the scheduler. Nodes are not: nothing runs, and a pod
// that is scheduled to one is reported running and ready at once, unless its image comes from a
// registry under the domain .invalid, which stays in ImagePullBackOff. There are no pod logs, no
// exec, no cluster DNS and no metrics-server: a HorizontalPodAutoscaler keeps to its minimum and
// maximum, and that is all. kwok.yaml says what nodes and pods do.
//
// A cluster without a client writes nothing: no leases, no heartbeats. So what the audit log shows
// is the work of the program under test, and of the controllers that react to it.
//
// # Where the binaries come from
//
// Package binaries downloads or builds them, in the versions that tools/kubernetes, tools/etcd and
// tools/kwok pin, once per user and version, into the user's cache folder. The first time takes
// seconds or minutes and reports progress on stderr; `make testcluster` does it ahead of time. A
// folder with ready-made binaries, named in JUTSU_TESTCLUSTER_ASSETS or KUBEBUILDER_ASSETS, goes
// before the cache.
//
// # For a real node
//
// Options.Address makes the control plane one that a real node can join, and package binaries has
// the programs of such a node and its workloads. test/e2e is built on that.
//
// # How it goes away
//
// A small shell process, the reaper, holds the read end of a pipe. When the pipe closes, because
// Stop was called or because this process ended in whatever way (return, os.Exit, panic, Ctrl-C,
// SIGKILL), it kills all components and removes the cluster's folder in the system's temporary
// folder. There is nothing to clean up by hand.
//
// # Where to look in the code
//
// cluster.go is the life of a cluster; components.go has each component's flags and what makes it
// ready; component.go runs one; binaries/ provides what is run; process/ runs programs and cleans up;
// modules.go finds CustomResourceDefinitions and manifests of others; certs.go, files.go,
// kubeconfig.go and port.go have what their names say.
package testcluster
