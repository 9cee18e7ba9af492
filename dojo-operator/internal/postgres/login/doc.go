// SPDX-License-Identifier: Apache-2.0

// Package login gives the application a role and a password in Postgres. A role has only one
// password, so the application has two logins. A rotation gives the unused login a new password,
// and retires the former login later. The second login acts as the owner.
package login
