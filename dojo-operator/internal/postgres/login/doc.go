// SPDX-License-Identifier: Apache-2.0

// Package login gives the application its role and password in Postgres. A role has only one
// password. So a rotation prepares the other of two logins, and retires the former login later. The
// second login acts as the owner.
package login
