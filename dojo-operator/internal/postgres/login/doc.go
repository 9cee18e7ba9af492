// SPDX-License-Identifier: Apache-2.0

// Package login gives the application its login in Postgres: a role, the Secret with its password, and
// the rotation to another login.
//
// Postgres knows one password for a role. So a rotation prepares a second login, a member of the owner
// whose sessions act as the owner, and retires the former login once no pod has it any more. The
// application's credentials are copied from the Secret of the login that [Source] names.
package login
