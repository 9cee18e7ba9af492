// SPDX-License-Identifier: Apache-2.0

// Package fanout sends values to subscribers. A slow subscriber does not block the sender.
package fanout

import (
	"context"
	"sync"
)

// Fanout sends each value to all subscribers. The zero value is ready to use.
type Fanout[T comparable] struct {
	mu   sync.Mutex
	subs map[*queue[T]]struct{}
}

// queue has each distinct unread value once, which bounds it without losing a value.
type queue[T comparable] struct {
	mu     sync.Mutex
	list   []T
	queued map[T]struct{}
	wake   chan struct{}
}

// Subscribe returns a channel with the values sent from now on. The channel is closed when the
// context ends.
func (f *Fanout[T]) Subscribe(ctx context.Context) <-chan T {
	q := &queue[T]{queued: map[T]struct{}{}, wake: make(chan struct{}, 1)}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.subs == nil {
		f.subs = map[*queue[T]]struct{}{}
	}
	f.subs[q] = struct{}{}
	out := make(chan T)
	go func() {
		defer close(out)
		defer func() { f.mu.Lock(); delete(f.subs, q); f.mu.Unlock() }()
		q.deliver(ctx, out)
	}()
	return out
}

// Send queues a value for all subscribers without blocking.
func (f *Fanout[T]) Send(v T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for q := range f.subs {
		q.put(v)
	}
}

func (q *queue[T]) deliver(ctx context.Context, out chan<- T) {
	for {
		v, ok := q.take()
		if !ok {
			select {
			case <-ctx.Done():
				return
			case <-q.wake:
			}
			continue
		}
		select {
		case <-ctx.Done():
			return
		case out <- v:
		}
	}
}

func (q *queue[T]) take() (v T, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.list) == 0 {
		return v, false
	}
	v = q.list[0]
	q.list = q.list[1:]
	delete(q.queued, v)
	return v, true
}

func (q *queue[T]) put(v T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, ok := q.queued[v]; ok {
		return
	}
	q.queued[v] = struct{}{}
	q.list = append(q.list, v)
	select {
	case q.wake <- struct{}{}:
	default:
	}
}
