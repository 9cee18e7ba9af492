// SPDX-License-Identifier: Apache-2.0

// Package apply brings the cluster's objects, of any kind, into a desired state.
//
// The pure functions of an operator return a [Plan]: objects to write and delete, and known issues.
// [Applier.Run] carries the plan out and returns [Results].
//
// # In sync
//
// [InSync] compares the live object with the desired state, which has exactly our fields. An object
// is in sync if, by managedFields, we own all desired fields with our values, and no obsolete
// fields. Defaults, sidecars and foreign annotations do not matter. If another client changes our
// field, that client owns the field from then on, so the object is out of sync. An object in sync
// costs no request. No schema is needed: managedFields distinguish lists merged by key from fields
// owned as a whole.
//
// # Writes
//
// A missing object is created by POST: a POST never adopts a foreign object of that name, and is
// cheaper than an apply. An existing object is written by a forced server-side apply, which fails
// if the object no longer has the observed UID.
//
// After a POST, managedFields have an Update entry, which also owns the API server's defaults.
// [ShapeAnnotation] records the fields that were desired at the POST. Once other fields are
// desired, the applier turns the Update entry into an Apply entry (as csaupgrade does), so the next
// apply removes the obsolete fields.
//
// An admission policy may rewrite an object, so that a write does not bring it into sync. The
// object then counts as in sync until the live object or the desired state changes. The applier may
// forget this, for example at a restart, and then writes the object once more.
//
// A refused write is retried after 15 seconds. Each later pause is as long as the time since the
// first refusal, up to 10 minutes, with jitter. An object waits while an object that it depends on
// could not be written.
package apply
