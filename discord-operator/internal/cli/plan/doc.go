// SPDX-License-Identifier: Apache-2.0

// Package plan prints what an apply of manifests would do on a Discord server: `kubectl discord plan`. It
// writes nothing, neither to Discord nor to Kubernetes, and needs no cluster.
//
// The manifests go through the schemas of their kinds (package schema), and then through the very functions
// that plan in the reconcilers, which are pure. What these are given differs: objects come from files, the
// guild is read once, and what would be created is added to that state, so that what refers to it can be
// planned too; what is removed is planned first and taken out of it. Which channel is an object's, the status
// says where a manifest has one, else spec.adopt, else the name.
//
// plan.go is the command; manifests.go reads files, objects.go has them as a cache would; live.go reads
// Discord; bind.go finds what objects have there, removals.go and world.go plan; report.go writes. Only plan.go,
// manifests.go and live.go do I/O.
package plan
