package postgres

import (
	"testing"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
)

// The condition is CloudNativePG's own; that of a Dojo without backups is not reported.
func TestBackupCondition(t *testing.T) {
	t.Parallel()
	says := func(status metav1.ConditionStatus) func(*world) {
		return func(w *world) {
			w.Cluster.Status.Conditions = []metav1.Condition{
				{Type: "Ready", Status: metav1.ConditionTrue},
				{Type: "LastBackupSucceeded", Status: status, Reason: "x", Message: "no space left."},
			}
		}
	}
	condition := func(status metav1.ConditionStatus, reason, message string) *metav1.Condition {
		return &metav1.Condition{
			Type: corev1api.ConditionBackupSucceeded, Status: status, Reason: reason, Message: message, ObservedGeneration: 3,
		}
	}
	succeeded := condition(metav1.ConditionTrue, "LastBackupSucceeded", "The last backup succeeded.")
	failed := condition(metav1.ConditionFalse, "LastBackupFailed",
		"The last backup failed: no space left. See `kubectl get backups`.")
	cases := map[string]struct {
		dojo   *corev1api.Dojo
		change func(*world)
		want   *metav1.Condition
	}{
		"none yet":           {tokyo(ownPG, backedUp), func(*world) {}, nil},
		"succeeded":          {tokyo(ownPG, backedUp), says(metav1.ConditionTrue), succeeded},
		"failed":             {tokyo(ownPG, backedUp), says(metav1.ConditionFalse), failed},
		"not wanted":         {tokyo(ownPG), says(metav1.ConditionFalse), nil},
		"no Cluster":         {tokyo(ownPG, backedUp), func(w *world) { w.Cluster = nil }, nil},
		"no database wanted": {tokyo(), func(*world) {}, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, tokyo(inPG))
			if c.dojo.Spec.Postgres != nil {
				w = inSync(t, c.dojo)
			}
			c.change(w)
			if diff := cmp.Diff(c.want, BackupCondition(c.dojo, w.observe(c.dojo))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The first backup is taken as soon as there is a schedule, so it waits until Postgres can be
// reached.
func TestSchedule(t *testing.T) {
	t.Parallel()
	plain := func(d *corev1api.Dojo) { d.Spec.Postgres.Cluster.Backup = nil }
	cases := map[string]struct {
		before, dojo    *corev1api.Dojo
		change          func(*world)
		writes, deletes []string
	}{
		"in sync": {tokyo(ownPG, backedUp), tokyo(ownPG, backedUp), func(*world) {}, nil, nil},
		"added": {tokyo(ownPG), tokyo(ownPG, backedUp), func(*world) {},
			[]string{"Cluster", "ScheduledBackup"}, nil},
		"removed": {tokyo(ownPG, backedUp), tokyo(ownPG, plain), func(*world) {},
			[]string{"Cluster"}, []string{"ScheduledBackup"}},
		"deleted": {tokyo(ownPG, backedUp), tokyo(ownPG, backedUp), func(w *world) { w.Schedule = nil },
			[]string{"ScheduledBackup"}, nil},
		"deleted, and is down": {tokyo(ownPG, backedUp), tokyo(ownPG, backedUp),
			func(w *world) { w.Schedule, w.Cluster.Status.ReadyInstances = nil, 0 }, nil, nil},
		"not of others": {tokyo(inPG), tokyo(inPG), func(w *world) { w.Schedule = &cnpgv1.ScheduledBackup{} },
			nil, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := inSync(t, c.before)
			c.change(w)
			plan := w.plan(c.dojo).Plan
			if diff := cmp.Diff([][]string{c.writes, c.deletes}, [][]string{kinds(plan), deleted(plan)}); diff != "" {
				t.Error(diff)
			}
		})
	}
}
