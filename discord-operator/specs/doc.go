// SPDX-License-Identifier: Apache-2.0

// Package specs tests the binary of discord-operator with a real Kubernetes API server and a
// simulated Discord.
package specs
