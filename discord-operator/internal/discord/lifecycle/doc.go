// SPDX-License-Identifier: Apache-2.0

// Package lifecycle binds, creates, edits, orders and deletes the resources on Discord that objects stand for. A
// resource is planned by its kind; this package knows no field of it (see package resource).
//
// Bind is the step between observe and plan. Discord's creates have no idempotency key: when a
// response is lost, or the operator dies before it has stored the new id, a channel may exist that
// no status names. So the finalizer is stored before the create; it records that a create may have
// been sent. An object with a finalizer and without an id is looked for before anything is created:
// among the live channels, and in the audit log, where every create of ours has a reason with the
// object's UID.
//
// Records spare this search where the process itself knows what came of its creates. They are no
// state: without them, the search is made.
//
// A plan says what to create or what to edit, which place among the siblings, or what becomes of
// the resource of a deleted object. Applying it looks again at two places: the order of siblings
// comes from a fresh snapshot, by one reconcile at a time, and an edit that is held back by the
// limit of names and topics is repeated without them.
package lifecycle
