// SPDX-License-Identifier: Apache-2.0

// Command dojo simulates the Dojo application. It exits if the database of DB_ENDPOINT, DB_PORT,
// DB_NAME, DB_USER and DB_PASS refuses the login. Port 8080 serves /, /probe/liveness,
// /probe/readiness, /metrics and /weapon: GET lists the table weapons, POST {"id","name"} adds a
// row. The table must exist. "dojo release NAME DURATION" is a release step that adds the
// rows "NAME begun" and, after DURATION, "NAME completed".
package main
