// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/apply/applytest"
)

func BenchmarkInSync(b *testing.B) {
	w := newWorld(b)
	names := make([]string, 10)
	for i := range names {
		names[i] = fmt.Sprintf("DB_SETTING_%d", i)
	}
	desired := deployment(wanted{new(int32(3)), "dojo:1", names, true})
	w.run(plan(w, &appsv1.Deployment{}, desired))
	live := applytest.Get(b, w.server, school, tokyo, &appsv1.Deployment{})
	b.ReportAllocs()
	for b.Loop() {
		if !apply.InSync(us, live, desired) {
			b.Fatal("not in sync")
		}
	}
}
