// SPDX-License-Identifier: Apache-2.0

// Package login gives the application two Postgres roles: the owner, and a second login that acts
// as the owner. A rotation gives the unused login a new password, then retires the former login.
package login
