// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"slices"
	"strings"
	"testing"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/apply/expectations"
	"jutsu.com/operators/libs/conditions"
)

// A slow query has not failed, so the message does not advise to restore the Backup.
func TestVerifying(t *testing.T) {
	t.Parallel()
	dojo := tokyo(ownPG)
	w := inSync(t, dojo)
	metav1.SetMetaDataAnnotation(&w.Cluster.Live.ObjectMeta, "core.jutsu.com/upgrading-from", "16")
	w.Cluster.Live.Status.PGDataImageInfo = &cnpgv1.ImageInfo{MajorVersion: 17}
	s := w.observe(dojo)
	s.Schema.Jobs = nil // otherwise the plan would wait for pods of former SQL
	isJob := func(o *apply.Object) bool { return o.Kind == "Job" }
	jobs := slices.DeleteFunc(slices.Clone(Plan(dojo, s, testConfig).Plan.Apply), func(o *apply.Object) bool { return !isJob(o) })
	if len(jobs) != 1 {
		t.Fatal(jobs)
	}
	job := apply.As[*batchv1.Job](jobs[0].Desired.Object)
	job.UID = "uid of job"
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "verifies", OwnerReferences: []metav1.OwnerReference{
		*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job")),
	}}}
	since := metav1.NewTime(noon.Add(-24 * time.Hour))
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "dojo-schema", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: since}},
	}}
	s.Schema.Jobs, s.Schema.Pods = []*batchv1.Job{job}, []corev1.Pod{pod}
	slow := conditions.Worst(Plan(dojo, s, testConfig).Plan.Issues)
	if slow.Reason != corev1api.ReasonSchemaStalled || strings.Contains(slow.Message, "ackup") ||
		!strings.HasPrefix(slow.Message, "Postgres 17 runs. The application's pods start after the query that "+
			"verifies the upgrade.") {
		t.Error(slow)
	}
	job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	s.Schema.Pods = nil
	if !slices.ContainsFunc(Plan(dojo, s, testConfig).Plan.Apply, func(o *apply.Object) bool {
		return isJob(o) && strings.HasPrefix(o.Name, "tokyo-statistics-")
	}) {
		t.Error("no statistics are gathered")
	}
	for _, o := range Plan(dojo, s, testConfig).Plan.Apply {
		after := slices.ContainsFunc(o.After, func(key expectations.Key) bool {
			return key.Kind == "Job" && strings.HasPrefix(key.Name, "tokyo-statistics-")
		})
		if o.Kind == "Cluster" && !after {
			t.Error("the write of the Cluster does not wait for the statistics Job")
		}
	}
}

func TestTheLoginIsRestoredBeforeAnUpgradeIsVerified(t *testing.T) {
	t.Parallel()
	dojo := tokyo(ownPG)
	w := inSync(t, dojo)
	metav1.SetMetaDataAnnotation(&w.Cluster.Live.ObjectMeta, "core.jutsu.com/upgrading-from", "16")
	w.Cluster.Live.Status.PGDataImageInfo = &cnpgv1.ImageInfo{MajorVersion: 17}
	w.secrets[owner] = nil
	w.Login.Logins[owner].Secret, w.Login.Logins[owner].Password = nil, nil
	s := w.observe(dojo)
	s.Schema.Jobs = nil
	got := Plan(dojo, s, testConfig).Plan
	if written := kinds(got); !slices.Contains(written, "Secret") || slices.Contains(written, "Job") ||
		worst(got) != "Progressing/Upgrading" {
		t.Errorf("%v, %s", written, worst(got))
	}
}

func TestARotationStartsNoJobBeforeTheBackupOfAnUpgrade(t *testing.T) {
	t.Parallel()
	w := running(t, tokyo(ownPG, backedUp))
	w.Application.Stopped = true
	dojo := tokyo(ownPG, backedUp, requested("monday"), func(dojo *corev1api.Dojo) {
		dojo.Spec.Postgres.Cluster.ImageName = "registry.example/postgres:18"
	})
	for range 6 {
		if step := UpgradeStep(dojo, w.observe(dojo)); step != corev1api.UpgradeBackingUp && step != corev1api.UpgradeStopping {
			t.Fatal(step)
		}
		db := w.reconcile(dojo)
		if slices.Contains(strings.Fields(strings.Join(kinds(db.Plan), " ")), "Job") {
			t.Errorf("a Job is created, %s", worst(db.Plan))
		}
		w.deleteJobs(db)
		w.play()
	}
	if w.Login.Logins[second].Role == nil {
		t.Error("the rotation has not begun")
	}
}
