// SPDX-License-Identifier: Apache-2.0

// Command dojo stands in for the Dojo application, which is not part of this project: the same
// environment, the same paths and the same metrics, on a real Postgres. What an operator may expect
// of the application is what this program does, and nothing else:
//
//   - It reads DB_ENDPOINT, DB_PORT, DB_NAME, DB_USER, DB_PASS once, at its start, and ends when
//     the database does not let it in.
//   - It serves HTTP on port 8080: GET / (title and owner, out of DOJO_TITLE and DOJO_ACCOUNT_ID),
//     /probe/liveness, /probe/readiness (503 while the database does not answer), /metrics, and
//     /weapon: GET lists the table weapons, POST {"id","name"} adds to it.
//   - It writes traces.json to its working folder. It does not create the table.
package main
