// SPDX-License-Identifier: Apache-2.0

// Package deploy holds the tests of what deploy/ renders, against a real API server.
package deploy
