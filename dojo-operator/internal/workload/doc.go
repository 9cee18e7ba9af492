// SPDX-License-Identifier: Apache-2.0

// Package workload runs a Dojo's application and reports the health of its rollout.
package workload
