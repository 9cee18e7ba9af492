// SPDX-License-Identifier: Apache-2.0

// Package environment starts the common environment of the playground, the benchmark, chaos,
// observability and both operators' specs: a Kubernetes API (test/testcluster), a simulated
// CloudNativePG, a simulated Discord, and the operators as processes with their ServiceAccounts.
//
//	env, err := environment.Start(ctx, environment.Options{Operators: environment.All})
//	if err != nil { ... }
//	defer env.Stop()
//	process, err := env.StartOperator(ctx, environment.Dojo, "dojo-operator.log")
//
// Samples, measurements and faults are in the programs, not here. Package spec is for ginkgo
// suites.
//
// It is a module of its own because the specs of the operators depend on it: the requirements of
// module test (a container registry, gin, Flux) would affect the versions of the operators'
// dependencies. For the same reason it names no type of discordtest.
package environment
