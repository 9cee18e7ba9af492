// SPDX-License-Identifier: Apache-2.0

// Package applytest is an API server in memory for tests. Its managedFields are real: it runs the
// API server's own code (apimachinery's managedfields) with the schemas of the built-in kinds and
// of the test's CustomResourceDefinitions.
//
// It behaves like the API server in:
//
//   - POST: defaults are set at decoding, before field management, so the creating manager owns
//     them by Update. Fields allocated later (a Service's clusterIP, a Job's selector) have no
//     manager.
//   - Server-side apply, merge and JSON patches and updates, of the object, its status and its
//     scale, each with conflicts and the UID and version as preconditions. A write without effect
//     changes neither the version nor the times in managedFields.
//   - Generations; deletion with finalizers and preconditions.
//   - A mutating admission policy ([Server.Admit]) runs after field management: rewritten fields
//     stay the manager's.
//
// It has no controllers, garbage collection or watches, and validates little. A custom resource
// without a CustomResourceDefinition has no defaults, and its lists are owned as a whole. For
// errors, wrap it with controller-runtime's interceptor.
package applytest
