// SPDX-License-Identifier: Apache-2.0

package database

import (
	"testing"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
)

func TestFailure(t *testing.T) {
	t.Parallel()
	const message = "database object reconciliation failed"
	for want, extensions := range map[string][]cnpgv1.DatabaseObjectStatus{
		message: {{Name: "pg_trgm", Applied: true}},
		"the extension nope of spec.postgres.cluster.extensions: it is not available": {
			{Name: "pg_trgm", Applied: true}, {Name: "nope", Message: "it is not available."}, {Name: "never", Message: "no"},
		},
	} {
		db := &cnpgv1.Database{Status: cnpgv1.DatabaseStatus{Message: message, Extensions: extensions}}
		if got := failure(db); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
