// SPDX-License-Identifier: Apache-2.0

// Command dojo simulates the Dojo application, which is not part of this project. It has the same
// environment, paths and metrics, on a real Postgres. An operator may rely only on this:
//
//   - It reads DB_ENDPOINT, DB_PORT, DB_NAME, DB_USER, DB_PASS once, at its start, and exits if the
//     database refuses the login.
//   - It serves HTTP on port 8080: GET / (title and owner, from DOJO_TITLE and DOJO_ACCOUNT_ID),
//     /probe/liveness, /probe/readiness (503 while the database does not answer), /metrics, and
//     /weapon: GET lists the table weapons, POST {"id","name"} adds a row.
//   - It writes traces.json to its working directory. It does not create the table.
//
// As a release step, "dojo release NAME DURATION" adds the weapon "NAME begun" to the table at its
// start, and "NAME completed" after DURATION. It fails if DURATION is not a duration.
package main
