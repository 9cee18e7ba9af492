// SPDX-License-Identifier: Apache-2.0

// Package apply brings objects of the cluster into a desired state, of any kind.
//
// The pure functions of an operator return a [Plan]: objects to write and delete, and known issues.
// [Applier.Run] carries the plan out and returns [Results].
//
// # In sync
//
// [InSync] compares the live object with the desired state, which has exactly our fields. An object
// is in sync if, by managedFields, we own all desired fields with our values, and nothing else.
// Defaults, sidecars and foreign annotations do not matter. A foreign change of our field matters,
// because it takes the ownership. An object in sync costs no request. No schema is needed:
// managedFields distinguish lists merged by key from fields owned as a whole.
//
// # Writes
//
// A missing object is created by POST: a foreign object of that name is never adopted, and a POST
// is cheaper than an apply. An existing one is applied (server-side apply, forced), pinned to the
// observed UID.
//
// A POST's Update entry in managedFields also owns the API server's defaults. [ShapeAnnotation]
// records the desired fields: once they shrink, the entry is turned into one of Apply (csaupgrade),
// and the next apply removes the obsolete fields.
//
// If a write does not bring an object into sync (an admission policy rewrites it), the object
// counts as in sync until it or its desired state changes.
//
// A refused write is retried after 15 seconds. Each later pause is as long as the time since the
// first refusal, up to 10 minutes, with jitter. An object waits while an object that it depends on
// could not be written.
package apply
