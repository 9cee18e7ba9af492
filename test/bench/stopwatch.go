// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

type stopwatch struct {
	informer cache.Informer
	handle   toolscache.ResourceEventHandlerRegistration
	done     func(client.Object) bool
	want     int

	mu       sync.Mutex
	at       map[string]time.Time // the keys are names of objects
	complete chan struct{}
}

func newStopwatch(ctx context.Context, s *stage, kind client.Object, want int,
	done func(client.Object) bool) *stopwatch {
	informer := must(s.cache.GetInformer(ctx, kind))
	w := &stopwatch{informer: informer, done: done, want: want, at: map[string]time.Time{}, complete: make(chan struct{})}
	w.handle = must(informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { w.check(o.(client.Object)) },
		UpdateFunc: func(_, o any) { w.check(o.(client.Object)) },
	}))
	return w
}

func (w *stopwatch) check(o client.Object) {
	if o.GetNamespace() != namespace || !w.done(o) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.at[o.GetName()]; ok {
		return
	}
	w.at[o.GetName()] = time.Now()
	if len(w.at) == w.want {
		close(w.complete)
	}
}

func (w *stopwatch) await(ctx context.Context) map[string]time.Time {
	defer func() { _ = w.informer.RemoveEventHandler(w.handle) }()
	err := errors.New("the time limit has passed")
	select {
	case <-w.complete:
		return w.at
	case <-time.After(waitLimit + time.Duration(w.want)*waitMore):
	case <-ctx.Done():
		err = ctx.Err()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	panic(failure{fmt.Errorf("only %d of %d objects are in the expected state: %w", len(w.at), w.want, err)})
}

type spread struct{ p50, p99, total float64 }

// spreadOf's total is the time from the first start to the last end.
func spreadOf(began, done map[string]time.Time) spread {
	var took []float64
	var first, last time.Time
	for name, end := range done {
		start := began[name]
		took = append(took, end.Sub(start).Seconds())
		if first.IsZero() || start.Before(first) {
			first = start
		}
		if end.After(last) {
			last = end
		}
	}
	return spread{p50: quantile(took, 0.5), p99: quantile(took, 0.99), total: last.Sub(first).Seconds()}
}

// quantile returns the lowest value v such that at least the fraction q of the values is at most v.
// Without values, it returns 0.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}
