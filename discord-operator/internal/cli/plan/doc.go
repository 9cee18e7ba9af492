// SPDX-License-Identifier: Apache-2.0

// Package plan prints what an apply of manifests would change on a Discord server: `kubectl discord
// plan`. It writes nothing, neither to Discord nor to Kubernetes, and needs no cluster.
//
// Manifests pass the schemas of their kinds (package schema), and then the pure planning functions
// of the reconcilers. Their input differs: objects come from files, and the guild is read once.
// Removals are planned first and are taken out of the snapshot. Creates are added to it, so that
// references to them can be planned. An object binds by the status in its manifest, by spec.adopt, or by its
// name.
//
// Only plan.go (the command), manifests.go (files) and live.go (Discord) do I/O. objects.go is the
// cache of manifests, bind.go binds, removals.go and world.go plan, report.go
// prints the report.
package plan
