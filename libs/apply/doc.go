// SPDX-License-Identifier: Apache-2.0

// Package apply brings objects of the cluster into a desired state. It knows no kind of ours.
//
// A part of an operator decides, by a pure function, on a [Plan]: which objects to write, which to
// delete, and which issues it knows of already. [Applier.Run] carries the plan out and returns
// [Results]; it never writes into the plan.
//
// # When an object is in sync
//
// [InSync] compares the live object with the desired state, which names the fields that we own and
// no others. It reads managedFields: an object is in sync when it holds all desired fields with our
// values, we own them, and we own nothing else. Defaults, sidecars and annotations of others are
// invisible to that; a change of our field by another client is not, since that client takes its
// ownership. An object in sync costs no request. The schema is not needed: managedFields
// say which lists are merged by key and which are owned as a whole, and what is owned as a whole
// has to be equal.
//
// # How an object is written
//
// What does not exist is created by POST: a foreign object of that name is never adopted, and the
// API server works less than for an apply. What exists is applied (server-side apply, forced),
// pinned to the UID that was observed.
//
// A POST leaves an Update entry in managedFields, which owns the API server's defaults too. Whether
// a field in it was desired once or is a default cannot be seen there; [ShapeAnnotation] records
// what was desired, and when that shrinks the entry is turned into one of Apply once (csaupgrade),
// so that the apply after it removes what is no longer desired.
//
// A write that does not bring an object into sync, as when an admission policy rewrites what we
// apply, is remembered: the object counts as in sync until it or the desired state changes.
//
// What the API server refuses is retried after 15 seconds, then after as long again as it has been
// refused, up to 10 minutes, with jitter; an object that depends on one that could not be written
// waits.
package apply
