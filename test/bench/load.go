package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/conditions"
)

const (
	// sourceSecret holds the credentials of all Dojos.
	sourceSecret = "dojo-app"
	// creators is how many objects are created at the same time.
	creators = 32
)

// load creates all Dojos at once, with one replica each, and returns what the operator has made of them.
func (b *bench) load(ctx context.Context, s *stage) ([]children, error) {
	if err := s.admin.Create(ctx, credentials("first")); err != nil {
		return nil, err
	}
	process, err := s.startOperator(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.awaitLeader(ctx, ""); err != nil {
		return nil, err
	}
	if err := s.awaitQuiet(ctx, time.Second); err != nil {
		return nil, err
	}

	b.say("load: creating %d Dojos", b.dojos)
	watch, err := newStopwatch(ctx, s, &corev1api.Dojo{}, b.dojos, ready)
	if err != nil {
		return nil, err
	}
	moment, cpu, apiServer := time.Now(), cpuSeconds(process.PID()), cpuSeconds(s.apiServerPID())
	began, err := createAll(ctx, b.dojos, func(ctx context.Context, i int) (string, error) {
		d := dojo(i)
		return d.Name, s.admin.Create(ctx, d)
	})
	if err != nil {
		return nil, err
	}
	done, err := watch.await(ctx)
	if err != nil {
		return nil, err
	}
	b.report.addSpread("load", "created to Ready", spreadOf(began, done))
	b.report.add("load", "API server's CPU time", cpuSeconds(s.apiServerPID())-apiServer, "s")
	if err := s.awaitQuiet(ctx, b.quiet); err != nil {
		return nil, err
	}
	if err := b.addLastChild(s, moment); err != nil {
		return nil, err
	}
	b.report.add("load", "operator's CPU time", cpuSeconds(process.PID())-cpu, "s")
	b.addMemory("load", process)
	if err := b.addRequests(s, "load", moment, b.dojos, "per Dojo"); err != nil {
		return nil, err
	}
	return childrenOf(ctx, s, slices.Sorted(maps.Keys(done)))
}

// addLastChild reports how long the operator took to write the children: from then on it is the cluster that has to work.
func (b *bench) addLastChild(s *stage, moment time.Time) error {
	requests, err := s.audit.since(moment)
	if err != nil {
		return err
	}
	last := moment
	for _, r := range requests {
		if r.class() == classChild && r.Received.After(last) {
			last = r.Received
		}
	}
	b.report.add("load", "first created to last child written", last.Sub(moment).Seconds(), "s")
	return nil
}

// addRequests reports what the operator has asked for since the moment, leader election apart, for each of n things.
func (b *bench) addRequests(s *stage, scenario string, moment time.Time, n int, unit string) error {
	requests, err := s.audit.since(moment)
	if err != nil {
		return err
	}
	t := count(requests)
	each := func(name string, times int) { b.report.add(scenario, name, float64(times)/float64(n), unit) }
	each("status writes", t.byClass[classStatus])
	each("child writes", t.byClass[classChild])
	b.report.add(scenario, "writes that change nothing", float64(t.noops), "in all")
	b.report.add(scenario, "writes that are refused", float64(t.refused), "in all")
	for _, name := range slices.Sorted(maps.Keys(t.byRequest)) {
		if !strings.HasSuffix(name, " leases") { // their number is that of the seconds
			each("requests: "+name, t.byRequest[name])
		}
	}
	return nil
}

// createAll calls create for 0 to n-1, many at a time, and returns when each call began, by the name that it returns.
func createAll(ctx context.Context, n int, create func(ctx context.Context, i int) (string, error)) (map[string]time.Time, error) {
	began := make(map[string]time.Time, n)
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(creators)
	for i := range n {
		group.Go(func() error {
			start := time.Now()
			name, err := create(ctx, i)
			mu.Lock()
			defer mu.Unlock()
			began[name] = start
			return err
		})
	}
	return began, group.Wait()
}

func dojo(i int) *corev1api.Dojo {
	return &corev1api.Dojo{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("dojo-%05d", i)},
		Spec: corev1api.DojoSpec{
			AccountID: "bench", Title: "Bench",
			CredentialsRef: &corev1api.SecretReference{Name: sourceSecret},
		},
	}
}

// credentials are a Secret as CloudNativePG writes it.
func credentials(password string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: sourceSecret},
		StringData: map[string]string{"host": "dojo-rw", "port": "5432", "dbname": "app", "user": "app", "password": password},
	}
}

// ready reports whether a Dojo is Ready as its spec is now.
func ready(o client.Object) bool {
	d := o.(*corev1api.Dojo)
	return d.Status.ObservedGeneration == d.Generation && meta.IsStatusConditionTrue(d.Status.Conditions, conditions.Ready)
}
