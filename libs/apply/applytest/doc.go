// SPDX-License-Identifier: Apache-2.0

// Package applytest is an API server in memory for tests. Its managedFields are real: it runs
// apimachinery's managedfields with the schemas of the built-in kinds and of the test's
// CustomResourceDefinitions. It behaves like the API server in:
//
//   - POST: defaulting precedes field management, so the manager that creates an object owns its defaults,
//     in an entry with the operation Update.
//     Fields allocated later (a Service's clusterIP, a Job's selector) have no manager.
//   - Server-side apply, patches and updates of the object, its status and its scale, with
//     conflicts and preconditions (UID, version). A write without effect changes no version and no
//     times.
//   - Generations; deletion with finalizers and preconditions.
//   - A mutating admission policy ([Server.Admit]) runs after field management: the manager still
//     owns the fields that the policy rewrites.
//
// The server has no controllers, garbage collection or watches, and validates little. Without a
// CustomResourceDefinition a custom resource has no defaults, and its lists are owned as a whole.
// To simulate errors, wrap the server with controller-runtime's interceptor.
package applytest
