// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"testing"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	"k8s.io/utils/ptr"

	"github.com/google/go-cmp/cmp"

	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/dojo-operator/internal/postgres/login"
)

const forbidden = `secrets "tokyo-db" is forbidden: ` +
	`User "system:serviceaccount:tokyo:pg" cannot get resource "secrets"`

func TestRoleIsRetried(t *testing.T) {
	t.Parallel()
	type result struct {
		Writes  []string
		Record  string
		Requeue time.Duration
	}
	const record = "2026-01-02T12:00:00Z"
	cases := map[string]struct {
		message string
		age     time.Duration
		before  string
		want    result
	}{
		"before the first retry is due": {forbidden, 400 * time.Millisecond, "", result{Requeue: 600 * time.Millisecond}},
		"the first retry is due":        {forbidden, time.Second, "", result{[]string{"DatabaseRole"}, record, 89 * time.Second}},
		"the second retry is due": {forbidden, 3 * time.Second, "2026-01-02T11:59:58Z",
			result{[]string{"DatabaseRole"}, record, 87 * time.Second}},
		"refused for another reason": {"wrong username", time.Second, "", result{Requeue: 89 * time.Second}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dojo := tokyo(inPG)
			w := inSync(t, dojo)
			if c.before != "" {
				w.Login.Logins[owner].Role.Annotations = map[string]string{login.RetryAnnotation: c.before}
				w.Login.Logins[owner].Role = stored(w, w.Login.Logins[owner].Role, cnpg.Sync(cnpg.Input{}, nilRole, login.For(dojo, owner, true, w.Login.Logins[owner].Role)))
				w.play()
			}
			w.Login.Logins[owner].Role.Status.Applied, w.Login.Logins[owner].Role.Status.Message = ptr.To(false), c.message
			w.unwrittenFor(c.age)
			db := w.plan(dojo)
			got := result{Writes: kinds(db.Plan), Requeue: db.Plan.Issues[0].RequeueAfter}
			for _, o := range db.Plan.Apply {
				got.Record = o.Desired.GetAnnotations()[login.RetryAnnotation]
				if o.Drift {
					t.Error("the retry counts as drift")
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if worst(db.Plan) != "Progressing/CreatingRole" || usable(db) != "not usable" {
				t.Errorf("%s, %s", worst(db.Plan), usable(db))
			}
		})
	}
}

var nilRole *cnpgv1.DatabaseRole
