// SPDX-License-Identifier: Apache-2.0

// Package channels has the routes of channels and overwrites, and their rules.
package channels
