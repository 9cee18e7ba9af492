package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"jutsu.com/operators/test/internal/operator"
)

const (
	// secretSize is the size of one Secret that has nothing to do with Dojos.
	secretSize = 10 << 10
	kib, mib   = 1 << 10, 1 << 20
)

// memory measures what the operator needs on a cluster without Dojos, with no other Secrets and with many.
func (b *bench) memory(ctx context.Context, s *stage) error {
	without, err := b.footprint(ctx, s)
	if err != nil {
		return err
	}
	b.say("memory: creating %d Secrets of 10 KiB", b.secrets)
	if _, err := createAll(ctx, b.secrets, func(ctx context.Context, i int) (string, error) {
		data := make([]byte, secretSize)
		_, _ = rand.Read(data) // it never fails
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("unrelated-%05d", i)},
			Data:       map[string][]byte{"data": data},
		}
		return secret.Name, s.admin.Create(ctx, secret)
	}); err != nil {
		return err
	}
	with, err := b.footprint(ctx, s)
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		of   func(usage) float64
	}{{"RSS", usage.rss}, {"peak RSS", usage.peak}, {"live heap", usage.heap}} {
		a, z := f.of(without), f.of(with)
		b.report.add("memory", f.name+" with 0 Secrets", a/mib, "MiB")
		b.report.add("memory", fmt.Sprintf("%s with %d Secrets of 10 KiB", f.name, b.secrets), z/mib, "MiB")
		b.report.add("memory", f.name+" that a Secret adds", (z-a)/kib/float64(b.secrets), "KiB")
	}
	return nil
}

// footprint starts the operator several times and returns the medians of what it needs once it is quiet.
func (b *bench) footprint(ctx context.Context, s *stage) (usage, error) {
	var rss, peak, heap []float64
	for range b.repeat {
		b.say("memory: starting the operator")
		u, err := s.footprint(ctx, b.quiet)
		if err != nil {
			return usage{}, err
		}
		rss, peak, heap = append(rss, u.rssBytes), append(peak, u.peakBytes), append(heap, u.heapBytes)
	}
	return usage{rssBytes: quantile(rss, 0.5), peakBytes: quantile(peak, 0.5), heapBytes: quantile(heap, 0.5)}, nil
}

// footprint is what one run of the operator needs, some seconds after it has started.
func (s *stage) footprint(ctx context.Context, quiet time.Duration) (usage, error) {
	before, err := s.holder(ctx)
	if err != nil {
		return usage{}, err
	}
	process, err := s.startOperator(ctx)
	if err != nil {
		return usage{}, err
	}
	if err := s.awaitLeader(ctx, before); err != nil {
		return usage{}, err
	}
	if err := s.awaitQuiet(ctx, quiet); err != nil {
		return usage{}, err
	}
	u, err := s.usage(ctx, process)
	if err != nil {
		return usage{}, err
	}
	return u, process.Stop(grace)
}

// addMemory reports what the process needs now.
func (b *bench) addMemory(scenario string, p *operator.Process) {
	rss, peak := residentBytes(p.PID())
	b.report.add(scenario, "operator's RSS", rss/mib, "MiB")
	b.report.add(scenario, "operator's peak RSS", peak/mib, "MiB")
}
