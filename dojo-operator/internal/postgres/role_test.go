// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"maps"
	"testing"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/google/go-cmp/cmp"
)

const forbidden = `secrets "tokyo-db" is forbidden: ` +
	`User "system:serviceaccount:tokyo:pg" cannot get resource "secrets"`

// CloudNativePG is made to look again a second after the role was created, then after twice the
// time each, and no more once its own retry is due.
func TestUntilRetry(t *testing.T) {
	t.Parallel()
	no := observed{applied: ptr.To(false), message: forbidden}
	cases := map[string]struct {
		says      observed
		last, now time.Duration // since the role was created; last 0 for never
		want      time.Duration
		wantRetry bool
	}{
		"not looked at": {observed{}, 0, time.Minute, 0, false},
		"applied":       {observed{applied: ptr.To(true), message: forbidden}, 0, time.Minute, 0, false},
		"another failure": {observed{applied: ptr.To(false), message: `secrets "tokyo-db" not found`},
			0, time.Minute, 0, false},
		"just now":               {no, 0, 200 * time.Millisecond, 800 * time.Millisecond, true},
		"after a second":         {no, 0, time.Second, 0, true},
		"retried once":           {no, time.Second, time.Second, time.Second, true},
		"retried twice":          {no, 2 * time.Second, 3 * time.Second, time.Second, true},
		"retried after eight":    {no, 8 * time.Second, 9 * time.Second, 7 * time.Second, true},
		"retried often enough":   {no, 16 * time.Second, 17 * time.Second, 15 * time.Second, false},
		"an old one, not once":   {no, 0, time.Hour, -time.Hour + time.Second, true},
		"an unreadable record":   {no, -1, time.Second, 0, true},
		"a record from before":   {no, -time.Hour, time.Second, 0, true},
		"a record in the future": {no, time.Hour, time.Second, 2*time.Hour - time.Second, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			role := &cnpgv1.DatabaseRole{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(noon)}}
			switch c.last {
			case 0:
			case -1:
				role.Annotations = map[string]string{retryAnnotation: "never"}
			default:
				role.Annotations = map[string]string{retryAnnotation: noon.Add(c.last).Format(time.RFC3339)}
			}
			wait, retry := untilRetry(role, c.says, noon.Add(c.now))
			if wait != c.want || retry != c.wantRetry {
				t.Errorf("got %v, %v, want %v, %v", wait, retry, c.want, c.wantRetry)
			}
		})
	}
}

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
		"just refused":   {forbidden, 400 * time.Millisecond, "", result{Requeue: 600 * time.Millisecond}},
		"a second later": {forbidden, time.Second, "", result{[]string{"DatabaseRole"}, record, 89 * time.Second}},
		"for another time": {forbidden, 3 * time.Second, "2026-01-02T11:59:58Z",
			result{[]string{"DatabaseRole"}, record, 87 * time.Second}},
		"refused for good": {"wrong username", time.Second, "", result{Requeue: 89 * time.Second}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := tokyo(inPG)
			w := inSync(t, d)
			if c.before != "" {
				w.Logins[owner].Role.Annotations = map[string]string{retryAnnotation: c.before}
				w.Logins[owner].Role = stored(w, w.Logins[owner].Role, sync(w.State, nilRole, roleFor(d, owner, true, w.Logins[owner].Role)))
				w.play()
			}
			w.Logins[owner].Role.Status.Applied, w.Logins[owner].Role.Status.Message = ptr.To(false), c.message
			w.unwrittenFor(c.age)
			db := w.plan(d)
			got := result{Writes: kinds(db.Plan), Requeue: db.Plan.Issues[0].RequeueAfter}
			for _, o := range db.Plan.Apply {
				got.Record = o.Desired.GetAnnotations()[retryAnnotation]
				if o.Drift {
					t.Error("it counts as drift")
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

// What a role records stays when the role is written for another reason.
func TestRecordsOfARoleStay(t *testing.T) {
	t.Parallel()
	live := &cnpgv1.DatabaseRole{}
	want := map[string]string{retryAnnotation: "2026-01-02T12:00:00Z", actsAnnotation: "uid of the Database"}
	live.Annotations = maps.Clone(want)
	live.Annotations["example.org/note"] = "x"
	if diff := cmp.Diff(want, roleFor(tokyo(inPG), second, true, live).GetAnnotations()); diff != "" {
		t.Error(diff)
	}
	if got := roleFor(tokyo(inPG), second, true, nil).GetAnnotations(); got != nil {
		t.Errorf("a new role has %v", got)
	}
}
