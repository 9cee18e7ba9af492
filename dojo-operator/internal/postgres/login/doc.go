// SPDX-License-Identifier: Apache-2.0

// Package login gives the application a role and a password in Postgres. A role has only one
// password, so the application has two roles, the owner and the second login. A rotation gives the
// unused login a new password, and later retires the former login. The second login acts as the
// owner.
package login
