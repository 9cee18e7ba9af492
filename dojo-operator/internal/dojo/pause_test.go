// SPDX-License-Identifier: Apache-2.0

package dojo

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
)

func TestResume(t *testing.T) {
	t.Parallel()
	const command = "To resume: `kubectl annotate dojos.core.jutsu.com tokyo -n school core.jutsu.com/paused-`."
	const lost = "To keep the data: `kubectl patch dojos.core.jutsu.com tokyo -n school --type=merge -p " +
		`'{"spec":{"postgres":{"reclaimPolicy":"Retain"}}}'` + "`. To continue the deletion: " +
		"`kubectl annotate dojos.core.jutsu.com tokyo -n school core.jutsu.com/paused-`. Unless the reclaimPolicy is " +
		"Retain, the database is then deleted with its data."
	for name, c := range map[string]struct {
		policy  corev1api.ReclaimPolicy
		deleted bool
		want    string
	}{
		"not deleted":           {corev1api.ReclaimDelete, false, command},
		"deleted, data is kept": {corev1api.ReclaimRetain, true, command},
		"deleted with its data": {corev1api.ReclaimDelete, true, lost},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &corev1api.Dojo{ObjectMeta: metav1.ObjectMeta{Name: "tokyo", Namespace: "school"}}
			d.Spec.Postgres = &corev1api.Postgres{ReclaimPolicy: c.policy}
			if c.deleted {
				d.DeletionTimestamp = &metav1.Time{}
			}
			if got := resume(d); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
