// SPDX-License-Identifier: Apache-2.0

// Package specs is the specification of dojo-operator as a whole: it runs the real binary on a real
// Kubernetes API. Its parts are tested beside their code, in internal/.
package specs
