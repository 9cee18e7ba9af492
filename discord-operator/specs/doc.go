// SPDX-License-Identifier: Apache-2.0

// Package specs is the specification of discord-operator as a whole: it runs the real binary on a
// real Kubernetes API and a simulated Discord. The tests of the operator's parts are in internal/.
package specs
