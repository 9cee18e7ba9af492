// SPDX-License-Identifier: Apache-2.0

// Package lifecycle binds, creates, edits, orders and deletes the resources on Discord that objects
// stand for. It knows no field of them: their kinds plan them with package resource.
//
// Bind comes between observe and plan. Discord's creates have no idempotency key: when a response
// is lost, or the operator dies before it has stored the new id, a channel may exist that no status
// names. The finalizer is stored before the create, so it records that a create may have been sent.
// For an object with a finalizer and without an id, Bind searches the live channels and the audit
// log before anything is created. The audit log has the object's UID in the reason of each create.
//
// Records spare this search if the process knows the results of its creates. They are a cache:
// without them, Bind searches.
//
// A Plan is a value. Applying it reads Discord again at two places: the order of siblings comes
// from a fresh snapshot, by one reconcile at a time, and an edit that the limit of names and topics
// delays is repeated without them.
package lifecycle
