// SPDX-License-Identifier: Apache-2.0

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
	sourceSecret = "dojo-app"
	creators     = 32

	// A Dojo needs two status writes (Progressing, Ready) and three children (Secret, Deployment,
	// Service).
	leastStatusWrites = 2
	leastChildWrites  = 3

	createdToReady = "created to Ready"
	apiServerCPU   = "API server's CPU time"
)

func (b *bench) load(ctx context.Context, s *stage, at sheet) {
	check(s.Admin.Create(ctx, credentials("first")))
	p := s.startLeader(ctx)
	if b.wants(scenarioOne) {
		s.alone = b.one(ctx, s, 0)
	}
	before := p.liveHeap(ctx)
	moment := time.Now()
	b.apiServerProfiled(ctx, s, b.profile("kube-apiserver-%d", at.n), func() {
		p.profiled(ctx, b.profile("dojo-operator-%d", at.n), func() { b.createDojos(ctx, s, at) })
	})
	addLastChild(s, at, moment)
	addRequests(s, at, moment, requiredWrites{status: leastStatusWrites, child: leastChildWrites})
	addMemory(ctx, at, p, before, "Dojo")
	check(p.keepHeap(ctx, b.profile("dojo-operator-%d", at.n)))
	now := s.scrape(ctx, p)
	at.add("reconciles", now.total(metricReconciles, "controller", "dojo")/float64(at.n), "per Dojo")
}

func (b *bench) createDojos(ctx context.Context, s *stage, at sheet) {
	b.say("%s: creating %d Dojos", at.scenario, at.n)
	watch := newStopwatch(ctx, s, &corev1api.Dojo{}, at.n, ready)
	cpu, apiServer := cpuSeconds(s.current().PID()), cpuSeconds(s.apiServerPID())
	began := createAll(ctx, at.n, func(ctx context.Context, i int) (string, error) {
		d := dojo(i)
		return d.Name, s.Admin.Create(ctx, d)
	})
	at.addSpread(createdToReady, spreadOf(began, watch.await(ctx)))
	at.add(apiServerCPU, cpuSeconds(s.apiServerPID())-apiServer, "s")
	s.awaitQuiet(ctx, b.quiet)
	at.add("operator's CPU time", cpuSeconds(s.current().PID())-cpu, "s")
}

// addLastChild adds the time until the last child is written. From then on, the time until Ready
// depends mainly on the cluster.
func addLastChild(s *stage, at sheet, moment time.Time) {
	requests := must(s.audit.since(moment))
	last := moment
	for _, r := range requests {
		if r.class() == classChild && r.Received.After(last) {
			last = r.Received
		}
	}
	at.add("first created to last child written", last.Sub(moment).Seconds(), "s")
}

type requiredWrites struct{ status, child float64 }

func addRequests(s *stage, at sheet, moment time.Time, least requiredWrites) {
	requests := must(s.audit.since(moment))
	t := count(requests)
	each := func(times int) float64 { return float64(times) / float64(at.n) }
	at.addAgainst(least.status, "status writes", each(t.byClass[classStatus]), "per Dojo")
	at.addAgainst(least.child, "child writes", each(t.byClass[classChild]), "per Dojo")
	addWasted(at, t)
	for _, name := range slices.Sorted(maps.Keys(t.byRequest)) {
		if !strings.HasSuffix(name, " leases") { // leader election's requests depend on time, not on Dojos
			at.add("requests: "+name, each(t.byRequest[name]), "per Dojo")
		}
	}
}

func addWasted(at sheet, t tally) {
	at.addAgainst(0, "writes that change nothing", float64(t.noops), "in all")
	at.addAgainst(0, "writes that are refused", float64(t.refused), "in all")
}

func addMemory(ctx context.Context, at sheet, p *process, before float64, thing string) {
	addResident(at, p)
	after := p.liveHeap(ctx)
	at.add("live heap that a "+thing+" adds", (after-before)/kib/float64(at.n), "KiB")
}

func addResident(at sheet, p *process) {
	rss, peak := residentBytes(p.PID())
	at.add("operator's RSS", rss/mib, "MiB")
	at.add("operator's peak RSS", peak/mib, "MiB")
}

func createAll(ctx context.Context, n int, create func(context.Context, int) (string, error)) map[string]time.Time {
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
	check(group.Wait())
	return began
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

func credentials(password string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: sourceSecret},
		StringData: map[string]string{"host": "dojo-rw", "port": "5432", "dbname": "app", "user": "app",
			"password": password},
	}
}

func ready(o client.Object) bool {
	d := o.(*corev1api.Dojo)
	return d.Status.ObservedGeneration == d.Generation &&
		meta.IsStatusConditionTrue(d.Status.Conditions, conditions.TypeReady)
}
