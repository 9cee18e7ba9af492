// SPDX-License-Identifier: Apache-2.0

// Package dojo reconciles Dojos.
//
// A reconcile observes, plans, applies and updates the status (controller.go). What a Dojo is reads
// on one page in plan.go; each part of it is a package: its State is what there is, Observe reads
// that, and Plan is a pure function that says what has to be written and what is wrong. No part
// knows another one; what passes between them is handed over here.
//
//	dojo ── postgres ──── pods ── ownership
//	     ├─ credentials ───────── ownership
//	     ├─ workload ──── pods ── ownership
//	     └─ monitoring ────────── ownership
//
// Deletion is a plan too (deletion.go). The status is a pure function of the Dojo, its state, the
// plan and its results (status.go).
package dojo
