// SPDX-License-Identifier: Apache-2.0

// Package specs is the specification of discord-operator as a whole. Its tests run the real binary
// on a real Kubernetes API and a simulated Discord. Tests of single packages are in internal/.
package specs
