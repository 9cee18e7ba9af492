// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
)

// one creates single Dojos, one after the other, beside those that there are, and returns the median of the
// seconds until each is Ready.
func (b *bench) one(ctx context.Context, s *stage, beside int) float64 {
	b.say("%s: creating %d Dojos one after the other, beside %d", s.scenario, b.repeat, beside)
	var took []float64
	for i := range b.repeat {
		d, name := dojo(0), fmt.Sprintf("one-%d", i)
		d.Name = name // the create writes to the object while the stopwatch compares
		s.awaitQuiet(ctx, b.quiet)
		watch := newStopwatch(ctx, s, &corev1api.Dojo{}, 1,
			func(o client.Object) bool { return o.GetName() == name && ready(o) })
		moment := time.Now()
		check(s.Admin.Create(ctx, d))
		took = append(took, watch.await(ctx)[name].Sub(moment).Seconds())
		check(s.Admin.Delete(ctx, d))
	}
	s.awaitQuiet(ctx, b.quiet)
	return quantile(took, 0.5)
}

// oneBeside is about one more Dojo beside all the others: at least as long as beside none.
func (b *bench) oneBeside(ctx context.Context, s *stage, at sheet) {
	at.addAgainst(s.alone, "one more Dojo: created to Ready", b.one(ctx, s, at.n), "s")
}
