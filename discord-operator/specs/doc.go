// SPDX-License-Identifier: Apache-2.0

// Package specs is the specification of discord-operator as a whole: it runs the real binary on a
// real Kubernetes API and a simulated Discord. Its parts have their tests in internal/.
package specs
