// SPDX-License-Identifier: Apache-2.0

package login

import (
	"maps"
	"testing"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/dojotest"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
)

const forbidden = `secrets "tokyo-db" is forbidden: ` +
	`User "system:serviceaccount:tokyo:pg" cannot get resource "secrets"`

func TestUntilRetry(t *testing.T) {
	t.Parallel()
	no := cnpg.Report{Applied: ptr.To(false), Message: forbidden}
	cases := map[string]struct {
		reported  cnpg.Report
		last, now time.Duration // times since the creation; last is 0 without a retry
		want      time.Duration
		wantRetry bool
	}{
		"not reconciled yet": {cnpg.Report{}, 0, time.Minute, 0, false},
		"applied":            {cnpg.Report{Applied: ptr.To(true), Message: forbidden}, 0, time.Minute, 0, false},
		"another failure": {cnpg.Report{Applied: ptr.To(false), Message: `secrets "tokyo-db" not found`},
			0, time.Minute, 0, false},
		"before the first retry":               {no, 0, 200 * time.Millisecond, 800 * time.Millisecond, true},
		"the first retry is due":               {no, 0, time.Second, 0, true},
		"retried once":                         {no, time.Second, time.Second, time.Second, true},
		"retried twice":                        {no, 2 * time.Second, 3 * time.Second, time.Second, true},
		"retried after eight seconds":          {no, 8 * time.Second, 9 * time.Second, 7 * time.Second, true},
		"retried after 16 seconds":             {no, 16 * time.Second, 17 * time.Second, 15 * time.Second, false},
		"an old role, never retried":           {no, 0, time.Hour, -time.Hour + time.Second, true},
		"an unreadable time of the last retry": {no, -1, time.Second, 0, true},
		"the last retry before the creation":   {no, -time.Hour, time.Second, 0, true},
		"the last retry in the future":         {no, time.Hour, time.Second, 2*time.Hour - time.Second, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			role := &cnpgv1.DatabaseRole{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(dojotest.Noon)}}
			switch c.last {
			case 0:
			case -1:
				role.Annotations = map[string]string{RetryAnnotation: "never"}
			default:
				role.Annotations = map[string]string{RetryAnnotation: dojotest.Noon.Add(c.last).Format(time.RFC3339)}
			}
			wait, retry := untilRetry(role, c.reported, dojotest.Noon.Add(c.now))
			if wait != c.want || retry != c.wantRetry {
				t.Errorf("got %v, %v, want %v, %v", wait, retry, c.want, c.wantRetry)
			}
		})
	}
}

func TestTheOperatorsAnnotationsOfARoleStay(t *testing.T) {
	t.Parallel()
	live := &cnpgv1.DatabaseRole{}
	want := map[string]string{RetryAnnotation: "2026-01-02T12:00:00Z", ActsAnnotation: "uid of the Database"}
	live.Annotations = maps.Clone(want)
	live.Annotations["example.org/note"] = "x"
	if diff := cmp.Diff(want, For(dojotest.Dojo(inPG), cnpg.Second, true, live).GetAnnotations()); diff != "" {
		t.Error(diff)
	}
	if got := For(dojotest.Dojo(inPG), cnpg.Second, true, nil).GetAnnotations(); got != nil {
		t.Errorf("a new role has %v", got)
	}
}

func inPG(dojo *corev1api.Dojo) {
	dojo.Spec.Postgres = &corev1api.Postgres{ClusterRef: &corev1api.ClusterReference{Name: "pg"}}
}
