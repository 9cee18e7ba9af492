// SPDX-License-Identifier: Apache-2.0

// Command mongo is a Dojo application with MongoDB and the paths of test/e2e/programs/dojo. It
// exits if the database of DB_URI and DB_NAME refuses the login. LISTEN is its address, by default
// :8080.
package main
