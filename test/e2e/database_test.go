// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
)

const maxOutage = 30 * time.Second

var _ = Describe("A database of three instances with one synchronous standby",
	Label("database"), Ordered, Serial, func() {
		var w *world
		const naha = `
apiVersion: core.jutsu.com/v1
kind: Dojo
metadata: {name: naha}
spec:
  accountId: Utahime Iori
  title: Naha Branch
  replicas: 2
  postgres:
    cluster:
      instances: 3
      synchronous: {number: 1}
      storage: {size: 1Gi}
    reclaimPolicy: Delete
`
		BeforeAll(func(ctx SpecContext) {
			w = newWorld(ctx, "database")
			began := time.Now()
			w.apply(ctx, naha)
			w.awaitReady(ctx, "naha")
			measured("three instances are ready after %s", time.Since(began))
		}, NodeTimeout(10*time.Minute))

		failover := func(ctx context.Context, how string, fail func(primary string)) {
			GinkgoHelper()
			primary := w.primary(ctx, "naha-db")
			writer := w.write("naha", how)
			Eventually(ctx, writer.added).Should(BeNumerically(">", 10))
			seen := w.watchAvailable(ctx, "naha")
			fail(primary)
			Eventually(ctx, w.primary).WithArguments("naha-db").WithTimeout(eventually).
				Should(And(Not(BeEmpty()), Not(Equal(primary)), Not(Equal("pending"))), "another instance takes over")
			before := writer.added()
			Eventually(ctx, writer.added).WithTimeout(eventually).Should(BeNumerically(">", before+20), "writes should continue")
			acknowledged, outage := writer.stop()
			measured("%s: writes waited for %s, %d were acknowledged", how, outage, len(acknowledged))
			Expect(outage).To(BeNumerically("<", maxOutage))
			Eventually(ctx, seen).Should(ContainElement(corev1api.ReasonDatabaseUnreachable), "the Dojo reports the outage")
			w.awaitReady(ctx, "naha")
			weapons, err := w.weapons(ctx, "naha")
			Expect(err).NotTo(HaveOccurred())
			ids := map[string]bool{}
			for _, weapon := range weapons {
				ids[weapon.ID] = true
			}
			for _, id := range acknowledged {
				Expect(ids).To(HaveKey(id), "an acknowledged write is lost")
			}
		}

		It("loses no acknowledged write when the primary's pod is deleted", func(ctx SpecContext) {
			failover(ctx, "deleted", func(primary string) {
				Expect(w.runDocumented(ctx, "failover.md", "How do I rehearse a failover?", "naha")).
					To(ContainSubstring(`pod "%s" deleted`, primary))
			})
		}, SpecTimeout(10*time.Minute))

		It("loses no acknowledged write when the primary's pod is deleted without a grace period", func(ctx SpecContext) {
			failover(ctx, "killed", func(primary string) {
				w.kill(ctx, client.MatchingLabels{"cnpg.io/instanceName": primary})
			})
		}, SpecTimeout(10*time.Minute))

		It("rotates its password under load without a failed request", func(ctx SpecContext) {
			w.visit(ctx, "naha")
			d, err := w.dojo(ctx, "naha")
			Expect(err).NotTo(HaveOccurred())
			ofOwner := d.Status.Database.Name
			ofSecond := "dojo2" + strings.TrimPrefix(ofOwner, "dojo")
			for _, login := range []string{ofSecond, ofOwner, ofSecond} {
				before := w.podNames(ctx, "naha")
				began := time.Now()
				w.runDocumented(ctx, "rotate.md", "Rotate the password of a database", "naha")
				Eventually(ctx, w.dojo).WithArguments("naha").WithTimeout(eventually).
					Should(HaveField("Status.Database", HaveValue(HaveField("Login", login))))
				w.awaitReady(ctx, "naha")
				Expect(w.podsOf(ctx, "naha")).To(And(HaveLen(2), Not(ContainElement(BeElementOf(before)))), "all pods are new")
				Expect(w.dojo(ctx, "naha")).To(HaveField("Status.Database", HaveValue(HaveField("FormerLogin", BeEmpty()))))
				Expect(w.addWeapon(ctx, "naha", "as "+login+began.String(), "Cursed Tool")).To(Succeed())
				visits, err := w.visits(ctx, "naha")
				Expect(err).NotTo(HaveOccurred())
				measured("rotation to %s: the former login is gone after %s, %d of %d requests failed, "+
					"the longest time without an answer was %d ms", login, time.Since(began),
					visits.Failures, visits.Failures+visits.Answers, visits.LongestMS)
				Expect(visits).To(HaveField("Failures", 0), "the field Last has the last failure")
			}
		}, SpecTimeout(15*time.Minute))

		It("grows its volumes", func(ctx SpecContext) {
			began := time.Now()
			w.runDocumented(ctx, "database.md", "How do I give a database more space?", "naha")
			Eventually(ctx, w.volumes).WithArguments("naha-db").WithTimeout(eventually).
				Should(And(HaveLen(3), HaveEach("2Gi")), "every volume has grown")
			w.awaitReady(ctx, "naha")
			measured("growth of three volumes: %s", time.Since(began))
		}, SpecTimeout(10*time.Minute))

		It("runs its SQL once more on request", func(ctx SpecContext) {
			ran, err := w.schemaJob(ctx, "naha")
			Expect(err).NotTo(HaveOccurred())
			w.runDocumented(ctx, "database.md", "When does SQL run?", "naha")
			Eventually(ctx, w.schemaJob).WithArguments("naha").Should(And(Not(BeEmpty()), Not(Equal(ran))), "a new Job runs")
			w.awaitReady(ctx, "naha")
		}, SpecTimeout(5*time.Minute))

		It("stays when its Dojo is deleted with reclaimPolicy Retain, "+
			"and is deleted with reclaimPolicy Delete", func(ctx SpecContext) {
			weapons, err := w.weapons(ctx, "naha")
			Expect(err).NotTo(HaveOccurred())
			w.runDocumented(ctx, "delete.md", "Delete a Dojo, and keep or delete its data", "naha")
			Expect(w.existing(ctx, "naha-db")).To(ConsistOf("Cluster", "Database", "DatabaseRole"))
			w.apply(ctx, strings.Replace(naha, "size: 1Gi", "size: 2Gi", 1))
			w.awaitReady(ctx, "naha")
			Expect(w.weapons(ctx, "naha")).To(Equal(weapons))

			began := time.Now()
			w.deleteDojo(ctx, "naha")
			measured("deletion of three instances with their data: %s", time.Since(began))
			Expect(w.existing(ctx, "naha-db")).To(BeEmpty())
			Expect(w.existing(ctx, "naha-db-2")).To(BeEmpty())
			Eventually(ctx, w.volumes).WithArguments("naha-db").WithTimeout(eventually).Should(BeEmpty())
		}, SpecTimeout(15*time.Minute))
	})

func measured(format string, args ...any) {
	for i := range args {
		if d, ok := args[i].(time.Duration); ok {
			args[i] = d.Round(100 * time.Millisecond)
		}
	}
	progress("measured: "+format, args...)
	AddReportEntry(fmt.Sprintf(format, args...))
}

// primary returns the name of the primary instance. It returns "" during a failover, or if the
// Cluster cannot be read.
func (w *world) primary(ctx context.Context, cluster string) string {
	o, err := w.postgres(ctx, "Cluster", cluster)
	if err != nil {
		return ""
	}
	current, _, _ := unstructured.NestedString(o.Object, "status", "currentPrimary")
	if target, _, _ := unstructured.NestedString(o.Object, "status", "targetPrimary"); target != current {
		return ""
	}
	return current
}

func (w *world) volumes(ctx context.Context, cluster string) ([]string, error) {
	var claims corev1.PersistentVolumeClaimList
	err := k8s.List(ctx, &claims, client.InNamespace(w.namespace), client.MatchingLabels{"cnpg.io/cluster": cluster})
	var sizes []string
	for i := range claims.Items {
		size := claims.Items[i].Status.Capacity[corev1.ResourceStorage]
		sizes = append(sizes, size.String())
	}
	return sizes, err
}

func (w *world) deleteDojo(ctx context.Context, name string) {
	GinkgoHelper()
	d, err := w.dojo(ctx, name)
	Expect(err).NotTo(HaveOccurred())
	Expect(k8s.Delete(ctx, d)).To(Succeed())
	Eventually(ctx, gone).WithArguments(d).WithTimeout(eventually).Should(Succeed())
}

func (w *world) existing(ctx context.Context, name string) (kinds []string, err error) {
	for _, kind := range []string{"Cluster", "Database", "DatabaseRole"} {
		_, err := w.postgres(ctx, kind, name)
		if err == nil {
			kinds = append(kinds, kind)
		} else if client.IgnoreNotFound(err) != nil {
			return nil, err
		}
	}
	return kinds, nil
}

// watchAvailable watches a Dojo's condition Available. seen returns all reasons since the call.
func (w *world) watchAvailable(ctx context.Context, name string) (seen func() []string) {
	GinkgoHelper()
	watcher, err := client.NewWithWatch(config, client.Options{Scheme: k8s.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	events, err := watcher.Watch(ctx, &corev1api.DojoList{}, client.InNamespace(w.namespace))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(events.Stop)
	var mu sync.Mutex
	var reasons []string
	go func() {
		for e := range events.ResultChan() {
			d, ok := e.Object.(*corev1api.Dojo)
			if !ok || d.Name != name {
				continue
			}
			for _, c := range d.Status.Conditions {
				if c.Type == "Available" {
					mu.Lock()
					reasons = append(reasons, c.Reason)
					mu.Unlock()
				}
			}
		}
	}()
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string{}, reasons...)
	}
}

type writer struct {
	cancel context.CancelFunc
	done   chan struct{}

	mu           sync.Mutex
	acknowledged []string
	last         time.Time
	outage       time.Duration // the longest time between two acknowledged rows
}

func (w *world) write(dojo, name string) *writer {
	ctx, cancel := context.WithCancel(context.Background())
	wr := &writer{cancel: cancel, done: make(chan struct{}), last: time.Now()}
	go func() {
		defer close(wr.done)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				id := fmt.Sprintf("%s-%05d", name, n)
				wr.once(id, w.addWeapon(ctx, dojo, id, "Cursed Tool"))
			}
		}
	}()
	return wr
}

func (wr *writer) once(id string, err error) {
	if err != nil { // the row may have been written nevertheless
		return
	}
	wr.mu.Lock()
	defer wr.mu.Unlock()
	now := time.Now()
	wr.acknowledged, wr.outage, wr.last = append(wr.acknowledged, id), max(wr.outage, now.Sub(wr.last)), now
}

func (wr *writer) added() int {
	wr.mu.Lock()
	defer wr.mu.Unlock()
	return len(wr.acknowledged)
}

func (wr *writer) stop() (acknowledged []string, outage time.Duration) {
	wr.cancel()
	<-wr.done
	return wr.acknowledged, wr.outage
}

func (w *world) schemaJob(ctx context.Context, dojo string) (types.UID, error) {
	var jobs batchv1.JobList
	err := k8s.List(ctx, &jobs, client.InNamespace(w.namespace))
	for i := range jobs.Items {
		if strings.HasPrefix(jobs.Items[i].Name, dojo+"-schema-") {
			return jobs.Items[i].UID, nil
		}
	}
	return "", err
}
