// SPDX-License-Identifier: Apache-2.0

// Package environment puts up what the playground, the benchmark, chaos, observability and the
// specs of both operators run on: a Kubernetes API (test/testcluster), CloudNativePG's stand-in,
// a simulated Discord, and the operators as processes of their own, each as its ServiceAccount.
//
//	env, err := environment.Start(ctx, environment.Options{Operators: environment.All})
//	if err != nil { ... }
//	defer env.Stop()
//	process, err := env.StartOperator(ctx, environment.Dojo, "dojo-operator.log")
//
// What a program adds (samples, measurements, faults) stays with it. Package spec is the same for
// ginkgo suites.
//
// It is a module of its own, without requirements beyond the test cluster's, because the specs of
// the operators depend on it: those of module test (a container registry, gin, Flux) would take
// part in choosing the versions that the operators are built with. For the same reason it names no
// type of discordtest: a Discord is anything with a URL that can be shut down.
package environment
