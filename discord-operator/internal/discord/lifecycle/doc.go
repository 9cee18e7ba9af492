// SPDX-License-Identifier: Apache-2.0

// Package lifecycle binds, creates, edits, orders and deletes the resources on Discord that objects
// describe. To bind means to find the resource that belongs to an object. The package knows no
// field of a resource: each kind plans its fields with package resource.
//
// A reconcile calls Bind after it has observed Discord and before it plans. Discord's creates have
// no idempotency key. If a response is lost, or the operator dies before it has stored the new id,
// a channel may exist that no status names. The operator stores the finalizer before the create, so
// a finalizer shows that a create may have been sent. If an object has a finalizer but no id, Bind
// searches the live channels and the audit log before anything is created. The audit log has the
// object's UID in the reason of each create.
//
// Records make this search unnecessary if the process knows the results of its creates. Records are
// only a cache: without them, Bind searches.
//
// A Plan only describes calls, and Apply sends them. Apply departs from the plan in three cases. It
// sorts siblings by a fresh snapshot, in one reconcile at a time. After a create, it sends the
// fields that the create has not set. If Discord refuses some fields of an edit, or if Discord's
// limit for names and topics delays the edit, Apply sends the edit again without these fields.
package lifecycle
