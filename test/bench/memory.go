// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"jutsu.com/operators/test/environment"
)

const secretSize = 10 << 10

func (b *bench) memory(ctx context.Context, s *stage, at sheet) {
	without := b.footprint(ctx, s)
	b.say("%s: creating %d Secrets of 10 KiB", at.scenario, at.n)
	createAll(ctx, at.n, func(ctx context.Context, i int) (string, error) {
		data := make([]byte, secretSize)
		_, _ = rand.Read(data) // rand.Read never fails
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("unrelated-%05d", i)},
			Data:       map[string][]byte{"data": data},
		}
		return secret.Name, s.Admin.Create(ctx, secret)
	})
	with := b.footprint(ctx, s)
	empty := sheet{report: at.report, scenario: at.scenario}
	for _, f := range []struct {
		name string
		of   func(usage) float64
	}{
		{"RSS", func(u usage) float64 { return u.rss }},
		{"peak RSS", func(u usage) float64 { return u.peak }},
		{"live heap", func(u usage) float64 { return u.heap }},
	} {
		a, z := f.of(without), f.of(with)
		empty.add(f.name, a/mib, "MiB")
		at.add(f.name, z/mib, "MiB")
		at.add(f.name+" that a Secret adds", (z-a)/kib/float64(at.n), "KiB")
	}
}

type usage struct{ rss, peak, heap float64 }

func (b *bench) footprint(ctx context.Context, s *stage) usage {
	var rss, peak, heap []float64
	for range b.repeat {
		b.say("memory: starting the operator")
		p := s.startLeader(ctx)
		s.awaitQuiet(ctx, b.quiet)
		now, most := residentBytes(p.PID()) // before liveHeap, which itself uses memory
		live := p.liveHeap(ctx)
		check(p.Stop(environment.Grace))
		rss, peak, heap = append(rss, now), append(peak, most), append(heap, live)
	}
	return usage{rss: quantile(rss, 0.5), peak: quantile(peak, 0.5), heap: quantile(heap, 0.5)}
}
