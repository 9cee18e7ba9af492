// SPDX-License-Identifier: Apache-2.0

// Package apply brings objects of the cluster into a desired state. It knows no kind of ours.
//
// The pure functions of an operator return a [Plan]: objects to write and delete, and known issues.
// [Applier.Run] carries the plan out and returns [Results]. It never changes the plan.
//
// # When an object is in sync
//
// [InSync] compares the live object with the desired state, which names exactly our fields. By
// managedFields, an object is in sync if we own all desired fields, with our values, and nothing
// else. Defaults, sidecars and foreign annotations do not matter. A foreign change of our field
// does, since that client takes its ownership. An object in sync costs no request. No schema is
// needed: managedFields say which lists are merged by key. Fields owned as a whole must be equal.
//
// # How an object is written
//
// A missing object is created by POST: a foreign object of that name is never adopted, and a POST
// costs the API server less than an apply. An existing one is applied (server-side apply, forced),
// pinned to the observed UID.
//
// A POST leaves an Update entry in managedFields, which also owns the API server's defaults. It
// does not show which fields were desired. [ShapeAnnotation] records them: once the desired fields
// shrink, the entry is turned into one of Apply (csaupgrade), so that the next apply removes the
// obsolete fields.
//
// If a write does not bring an object into sync (an admission policy rewrites it, say), the object
// counts as in sync until it or its desired state changes.
//
// What the API server refuses is retried after 15 seconds, then after as long again as it has been
// refused, up to 10 minutes, with jitter; an object that depends on one that could not be written
// waits.
package apply
