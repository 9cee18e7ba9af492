// SPDX-License-Identifier: Apache-2.0

// Package applytest is an API server in memory, for tests of what is applied. Its managedFields are
// the real ones: they are made by the code that the API server itself runs for that (apimachinery's
// managedfields), with the schemas of the built-in kinds and of the CustomResourceDefinitions that
// a test gives.
//
// What it does as the API server does:
//   - POST: defaults are set when the request is decoded, before field management. So the creating
//     manager owns them, by Update. What the server allocates after that (a Service's clusterIP, a
//     Job's selector) has no manager.
//   - Server-side apply, merge and JSON patches, updates, of the object, its status and its scale;
//     each with conflicts, the UID and the version as preconditions. A write that changes nothing
//     leaves the version, and the times in managedFields.
//   - Generations; deletion, with finalizers and preconditions.
//   - A mutating admission policy ([Server.Admit]) runs after field management: what it rewrites
//     stays the manager's.
//
// It runs no controllers and collects no garbage, validates little, and has no watches. A kind of
// custom resources that no CustomResourceDefinition was given for has no defaults, and its lists
// are owned as a whole. For errors, wrap it with controller-runtime's interceptor.
package applytest
