// SPDX-License-Identifier: Apache-2.0

// Package dojo reconciles Dojos.
//
// plan.go has a whole Dojo on one page. Each part is a package with a State, Observe and a pure
// function Plan. No part imports another: this package passes values between them.
package dojo
