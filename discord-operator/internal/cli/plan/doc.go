// SPDX-License-Identifier: Apache-2.0

// Package plan prints what an apply of manifests would change on a Discord server: `kubectl discord
// plan`. It writes neither to Discord nor to Kubernetes, and needs no cluster.
//
// Manifests are checked by the schemas of their kinds (package schema), and then planned by the
// reconcilers' own planning functions. Only the input differs: objects come from files, and the
// guild is read once. Deletions are planned first, and their resources are removed from the
// snapshot. Creates are added to the snapshot, so that other objects can refer to them. The
// resource of an object is found by the id in the status of the manifest, by spec.adopt, or by its
// name.
//
// Only plan.go (the command), manifests.go (files) and live.go (Discord) do I/O. objects.go is the
// cache of manifests, bind.go finds the resources of objects, removals.go and world.go plan, and
// report.go prints the report.
package plan
