// SPDX-License-Identifier: Apache-2.0

// Package login gives the application its role and password in Postgres. A role has one password,
// so a rotation prepares a second login that acts as the owner, and retires the former one later.
package login
