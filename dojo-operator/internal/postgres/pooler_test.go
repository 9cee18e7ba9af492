// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"strings"
	"testing"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/postgres/pooler"
)

func pooled(dojo *corev1api.Dojo) {
	dojo.Spec.Postgres.Cluster.Pooler = &corev1api.Pooler{Instances: new(int32(2))}
}

func (w *world) playPooler() {
	p := w.Pooler.Pooler
	if p == nil {
		w.Pooler = pooler.State{}
		return
	}
	meta := metav1.ObjectMeta{Name: p.Name, OwnerReferences: []metav1.OwnerReference{
		*metav1.NewControllerRef(p, cnpgv1.SchemeGroupVersion.WithKind(cnpgv1.PoolerKind)),
	}}
	w.Pooler.Deployment, w.Pooler.Service = &appsv1.Deployment{ObjectMeta: meta}, &corev1.Service{ObjectMeta: meta}
	w.Pooler.Deployment.Status.AvailableReplicas = *p.Spec.Instances
}

// pool reconciles until the operator writes nothing, and returns all writes and simulated events.
func (w *world) pool(dojo *corev1api.Dojo) (story []string) {
	w.t.Helper()
	for range 12 {
		host := Host(dojo, w.observe(dojo))
		db := w.reconcile(dojo)
		step := strings.Join(kinds(db.Plan), " ")
		if gone := deleted(db.Plan); gone != nil {
			step = "-" + strings.Join(gone, " -")
			w.Pooler.Pooler = nil
		}
		story = append(story, strings.TrimSpace(step+" "+worst(db.Plan)))
		turns := db.Usable(true) && w.Application.Pooled != (host != "")
		if turns {
			story = append(story, "credentials of "+strings.TrimPrefix(host+" or the primary", " or "))
			w.Application.Pooled, w.outdated = host != "", "a pod has the former ones"
		} else if w.outdated != "" && db.Plan.Apply == nil {
			story, w.outdated = append(story, "pods are replaced"), ""
		}
		if w.Pooler.Pooler == nil && (w.Application.Pooled || w.outdated != "") {
			w.t.Errorf("pods name a Pooler that is gone, after %v", story)
		}
		w.play()
		if db.Plan.Apply == nil && db.Plan.Delete == nil && db.Plan.Issues == nil && !turns {
			return story
		}
	}
	w.t.Errorf("the database is not in sync after 12 reconciles: %v", story)
	return story
}

func TestPooler(t *testing.T) {
	t.Parallel()
	without := tokyo(ownPG)
	with := tokyo(ownPG, pooled)
	w := running(t, without)
	const object = "tokyo-db-pooler-rw or the primary"
	check := func(what string, dojo *corev1api.Dojo, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, w.pool(dojo)); diff != "" {
			t.Error(what, diff)
		}
	}
	check("added", with, "Pooler Progressing/WaitingForPooler", "", "credentials of "+object, "", "pods are replaced")
	three := with.DeepCopy()
	three.Spec.Postgres.Cluster.Pooler.Instances = new(int32(3))
	check("scaled", three, "Pooler Progressing/WaitingForPooler", "")
	w.Pooler.Pooler = nil
	check("deleted by a user", three, "Pooler Progressing/WaitingForPooler", "")
	check("removed", without, "Progressing/RemovingPooler", "credentials of the primary",
		"Progressing/RemovingPooler", "pods are replaced", "-Pooler", "")
}

func TestNewDojoWithPooler(t *testing.T) {
	t.Parallel()
	dojo := tokyo(ownPG, pooled)
	w := newWorld(t, dojo)
	var story []string
	for range 8 {
		db := w.reconcile(dojo)
		story = append(story, strings.Join(kinds(db.Plan), " ")+": "+worst(db.Plan)+": "+usable(db))
		if db.Plan.Apply == nil && db.Plan.Issues == nil {
			break
		}
		w.play()
	}
	if diff := cmp.Diff([]string{
		"Cluster: Progressing/WaitingForCluster: not usable",
		"Pooler Secret DatabaseRole: Progressing/CreatingRole: not usable",
		"Database: Progressing/CreatingDatabase: usable where they are in use",
		"Job: Progressing/ApplyingSchema: usable where they are in use",
		"Database: : usable",
		": : usable",
	}, story); diff != "" {
		t.Error(diff)
	}
	if host := Host(dojo, w.observe(dojo)); host != "tokyo-db-pooler-rw" {
		t.Errorf("a new application connects to %q", host)
	}
	w.source, w.Application.Pooled = "tokyo-db", true
	if s := w.observe(dojo); Unreachable(dojo, s) || WhyUnreachable(dojo, s) != "" || Status(dojo, s).Pooler.Instances != "2/2" {
		t.Error("Postgres is reported as unreachable", Status(dojo, s).Pooler)
	}
	w.Pooler.Deployment.Status.AvailableReplicas = 1
	if db := w.plan(dojo); worst(db.Plan) != "Progressing/WaitingForPooler" || !db.Usable(false) {
		t.Error("with one of two instances:", worst(db.Plan), usable(db))
	}
	w.Pooler.Deployment.Status.AvailableReplicas = 0
	s := w.observe(dojo)
	want := "Requests cannot reach Postgres: no instance of the Pooler school/tokyo-db-pooler-rw is available."
	if !Unreachable(dojo, s) || WhyUnreachable(dojo, s) != want {
		t.Errorf("%q", WhyUnreachable(dojo, s))
	}
	if db := w.plan(dojo); worst(db.Plan) != "Progressing/WaitingForPooler" || usable(db) != "usable where they are in use" {
		t.Error("without instances:", worst(db.Plan), usable(db))
	}
}

// A suspended Dojo's Pooler has no instances once the application has stopped. If a user then
// removes the Pooler from the spec, the operator deletes the object at once.
func TestPoolerOfASuspendedDojo(t *testing.T) {
	t.Parallel()
	awake := tokyo(ownPG, pooled)
	w := inSync(t, awake)
	w.source, w.Application.Pooled = "tokyo-db", true
	dojo := awake.DeepCopy()
	suspended(dojo)
	if db := w.reconcile(dojo); db.Plan.Apply != nil {
		t.Errorf("while pods run, %v is written", kinds(db.Plan))
	}
	w.Application.Stopped = true
	if got := strings.Join(kinds(w.reconcile(dojo).Plan), " "); got != "Cluster Pooler" || *w.Pooler.Pooler.Spec.Instances != 0 {
		t.Errorf("writes %s, with %d instances", got, *w.Pooler.Pooler.Spec.Instances)
	}
	w.hibernated()
	w.playPooler()
	if db := w.plan(dojo); db.Plan.Apply != nil || db.Plan.Issues != nil {
		t.Error(kinds(db.Plan), worst(db.Plan))
	}
	removed := dojo.DeepCopy()
	removed.Spec.Postgres.Cluster.Pooler = nil
	if got := strings.Join(deleted(w.plan(removed).Plan), " "); got != "Pooler" {
		t.Errorf("deletes %q", got)
	}
	w.reconcile(awake)
	w.Cluster.Live.Status.Conditions = nil
	w.play()
	if got := strings.Join(kinds(w.reconcile(awake).Plan), " "); got != "Pooler" || *w.Pooler.Pooler.Spec.Instances != 2 {
		t.Errorf("resumed, writes %s, with %d instances", got, *w.Pooler.Pooler.Spec.Instances)
	}
}
