// SPDX-License-Identifier: Apache-2.0

// Package deploy tests the manifests of deploy/, and the docs pages about them, against a real API
// server.
package deploy
