// SPDX-License-Identifier: Apache-2.0

// Command mongo is a Dojo application that uses MongoDB. It has the same paths as
// test/e2e/programs/dojo. It reads DB_URI and DB_NAME at its start, and exits if the database
// refuses the login. LISTEN is the address (host:port) at which it serves; default :8080.
package main
