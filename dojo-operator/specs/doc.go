// SPDX-License-Identifier: Apache-2.0

// Package specs runs the real binary on a real Kubernetes API.
package specs
