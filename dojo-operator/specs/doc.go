// SPDX-License-Identifier: Apache-2.0

// Package specs tests the operator's binary against a real Kubernetes API server.
package specs
