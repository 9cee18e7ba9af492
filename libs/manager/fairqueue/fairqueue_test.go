// SPDX-License-Identifier: Apache-2.0

package fairqueue

import (
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func request(namespace, name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

func newQueue(t *testing.T) priorityqueue.PriorityQueue[reconcile.Request] {
	t.Helper()
	limit := workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Second, time.Minute)
	q := New(t.Name(), limit).(priorityqueue.PriorityQueue[reconcile.Request])
	t.Cleanup(q.ShutDown)
	return q
}

func drain(q priorityqueue.PriorityQueue[reconcile.Request]) (all []string) {
	for q.Len() > 0 {
		item, priority, _ := q.GetWithPriority()
		name := item.String()
		if priority != 0 {
			name += ":" + strconv.Itoa(priority)
		}
		all = append(all, name)
		q.Done(item)
	}
	return all
}

func TestNamespacesTakeTurns(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	for i := range 10_000 {
		q.Add(request("a", strconv.Itoa(i)))
	}
	q.Add(request("b", "0"))
	q.Add(request("b", "1"))
	q.Add(request("c", "0"))
	got := drain(q)
	if diff := cmp.Diff([]string{"a/0", "b/0", "c/0", "a/1", "b/1", "a/2", "a/3"}, got[:7]); diff != "" {
		t.Error(diff)
	}
	if len(got) != 10_003 {
		t.Errorf("%d items", len(got))
	}
}

func TestANamespaceReturnsToTheEndOfTheRotation(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	for _, name := range []string{"0", "1", "2"} {
		q.Add(request("b", name))
	}
	var got []string
	for range 6 {
		q.Add(request("a", "busy"))
		item, _, _ := q.GetWithPriority()
		got = append(got, item.String())
		q.Done(item)
	}
	if diff := cmp.Diff([]string{"b/0", "a/busy", "b/1", "a/busy", "b/2", "a/busy"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestPrioritiesComeBeforeTheRotation(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	add := func(priority int, items ...reconcile.Request) {
		q.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, items...)
	}
	add(-100, request("a", "low"), request("b", "low"), request("a", "rises"), request("a", "rises-too"))
	add(0, request("a", "0"))
	add(1, request("a", "first"), request("a", "first-too"), request("b", "first"))
	add(0, request("a", "rises"))
	add(1, request("a", "rises-too"))
	add(-100, request("a", "0")) // the item keeps its higher priority
	want := []string{
		"a/first:1", "b/first:1", "a/first-too:1", "a/rises-too:1", "a/0", "a/rises", "a/low:-100", "b/low:-100",
	}
	if diff := cmp.Diff(want, drain(q)); diff != "" {
		t.Error(diff)
	}
	add(-100, request("a", "rises"))
	if diff := cmp.Diff([]string{"a/rises:-100"}, drain(q)); diff != "" {
		t.Errorf("an item keeps the priority of its former turn: %s", diff)
	}
}

func TestOneWorkerForAnItem(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	q.Add(request("a", "x"))
	item, _, _ := q.GetWithPriority()
	q.AddWithOpts(priorityqueue.AddOpts{Priority: new(2)}, item, item)
	if q.Len() != 0 {
		t.Error("the queue hands out an item that has a worker")
	}
	q.Done(item)
	if diff := cmp.Diff([]string{"a/x:2"}, drain(q)); diff != "" {
		t.Error(diff)
	}
}

func TestDelays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		item := request("a", "x")
		start := time.Now()
		next := func() (time.Duration, int) {
			got, priority, _ := q.GetWithPriority()
			q.Done(got)
			return time.Since(start).Round(time.Second), priority
		}
		for _, c := range []struct {
			add      priorityqueue.AddOpts
			due      time.Duration
			priority int
		}{
			{priorityqueue.AddOpts{After: time.Minute, Priority: new(-100)}, time.Minute, -100},
			{priorityqueue.AddOpts{RateLimited: true}, time.Second, 0},
			{priorityqueue.AddOpts{RateLimited: true, Priority: new(3)}, 2 * time.Second, 3},
			{priorityqueue.AddOpts{RateLimited: true, After: time.Second}, time.Second, 0},
		} {
			start = time.Now()
			q.AddWithOpts(c.add, item)
			if due, priority := next(); due != c.due || priority != c.priority {
				t.Errorf("%+v: due after %s with priority %d", c.add, due, priority)
			}
		}
		q.Forget(item)
		if q.NumRequeues(item) != 0 {
			t.Error("the back-off is not forgotten")
		}
		q.ShutDown()
		if _, _, shutdown := q.GetWithPriority(); !shutdown {
			t.Error("the queue hands out items after ShutDown")
		}
	})
}

// As in controller-runtime, a delayed add of a ready item raises the item's priority until a worker
// receives the item, and has no other effect.
func TestDelayedAddOfAReadyItem(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	q.Add(request("a", "x"))
	q.Add(request("a", "y"))
	q.AddWithOpts(priorityqueue.AddOpts{After: time.Hour, Priority: new(3)}, request("a", "y"))
	if diff := cmp.Diff([]string{"a/y:3", "a/x"}, drain(q)); diff != "" {
		t.Error(diff)
	}
	q.Add(request("a", "y"))
	if diff := cmp.Diff([]string{"a/y"}, drain(q)); diff != "" {
		t.Errorf("the next turn: %s", diff)
	}
}

func TestNoItemComesTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, item, start := newQueue(t), request("a", "x"), time.Now()
		next := func() time.Duration {
			got, _, _ := q.GetWithPriority()
			q.Done(got)
			return time.Since(start).Round(time.Second)
		}
		q.AddAfter(item, time.Minute)
		q.AddRateLimited(item)
		if due := next(); due != time.Second {
			t.Errorf("the item is due after %s, want the earlier of two times", due)
		}
		q.AddAfter(item, time.Hour)
		if due := next(); due != time.Hour+time.Second {
			t.Errorf("the item comes after %s, which is a former delay", due)
		}
		q.AddAfter(item, time.Minute)
		q.Add(item)
		next()
		<-time.After(time.Hour)
		synctest.Wait()
		if q.Len() != 0 {
			t.Error("the queue hands out the item twice")
		}
	})
}

// client-go's delaying queue blocks for good if it sends more than 1,000 items to itself.
func TestManyFormerDelaysEndAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const items = 1100
		q := newQueue(t)
		for i := range items {
			item := request("a", strconv.Itoa(i))
			q.AddAfter(item, time.Minute)
			q.Add(item)
			got, _, _ := q.GetWithPriority()
			q.Done(got)
			q.AddAfter(item, time.Hour)
		}
		<-time.After(2 * time.Hour)
		synctest.Wait()
		if q.Len() != items {
			t.Errorf("%d items of %d are due", q.Len(), items)
		}
	})
}

func TestConcurrency(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	var mu sync.Mutex
	working, last, done := map[string]bool{}, map[string]int{}, map[string]int{}
	var workers, sources sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for {
				item, _, shutdown := q.GetWithPriority()
				if shutdown {
					return
				}
				name := item.String()
				mu.Lock()
				if working[name] {
					t.Errorf("%s has two workers", name)
				}
				working[name], done[name] = true, last[name]
				mu.Unlock()
				mu.Lock()
				working[name] = false
				mu.Unlock()
				q.Done(item)
			}
		})
	}
	for s := range 8 {
		sources.Go(func() {
			for i := range 2000 {
				item := request(strconv.Itoa(i%7), strconv.Itoa(i%53))
				mu.Lock()
				last[item.String()]++
				mu.Unlock()
				q.AddWithOpts(priorityqueue.AddOpts{Priority: new((s + i) % 3)}, item)
			}
		})
	}
	sources.Wait()
	for deadline := time.Now().Add(20 * time.Second); ; {
		mu.Lock()
		idle := q.Len() == 0 && !slices.Contains(slices.Collect(maps.Values(working)), true)
		equal := cmp.Equal(last, done)
		mu.Unlock()
		if idle && equal {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("left: %s", cmp.Diff(last, done))
		}
	}
	q.ShutDown()
	workers.Wait()
}
