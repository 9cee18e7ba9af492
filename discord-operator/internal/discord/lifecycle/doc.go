// SPDX-License-Identifier: Apache-2.0

// Package lifecycle binds, creates, edits, orders and deletes the resources on Discord that objects
// describe. It knows no field of a resource: each kind plans its fields with package resource.
//
// Bind comes between observe and plan. Discord's creates have no idempotency key. If a response is
// lost, or the operator dies before it has stored the new id, a channel may exist that no status
// names. The finalizer is stored before the create, so it records that a create may have been sent.
// If an object has a finalizer but no id, Bind searches the live channels and the audit log before
// anything is created. The audit log has the object's UID in the reason of each create.
//
// Records make this search unnecessary if the process knows the results of its creates. They are a
// cache: without them, Bind searches.
//
// A Plan is a value. Applying it reads Discord again in two cases. The order of siblings comes from
// a fresh snapshot, in one reconcile at a time. An edit that the limit of names and topics delays
// is repeated without them.
package lifecycle
