// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/login"
	"jutsu.com/operators/libs/apply"
)

// rewriting is an API server that reverts all applied fields, as an admission policy may do.
type rewriting struct {
	client.Client
	live map[string]client.Object // the unchanged objects, by kind
}

func (r rewriting) Apply(_ context.Context, o runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
	answer := o.(client.Object)
	gvk := answer.GetObjectKind().GroupVersionKind()
	live, err := runtime.DefaultUnstructuredConverter.ToUnstructured(r.live[gvk.Kind])
	if err != nil {
		return err
	}
	live["apiVersion"], live["kind"] = gvk.ToAPIVersionAndKind()
	return runtime.DefaultUnstructuredConverter.FromUnstructured(live, answer)
}

// If an admission policy reverts the operator's retry, the operator does not retry again at once.
func TestARevertedRetryIsNotRepeatedAtOnce(t *testing.T) {
	t.Parallel()
	dojo := tokyo(inPG)
	w := inSync(t, dojo)
	w.Login.Logins[owner].Role.Status.Applied, w.Login.Logins[owner].Role.Status.Message = ptr.To(false), forbidden
	w.unwrittenFor(time.Second)
	r := rewriting{live: map[string]client.Object{"DatabaseRole": w.Login.Logins[owner].Role}}
	applier := apply.New(r, ownership.FieldOwner, apply.Reasons{}, clock.RealClock{})
	for range 2 {
		w.Unchanged = applier.Unchanged(dojo.UID)
		plan := w.plan(dojo).Plan
		if results := applier.Run(t.Context(), dojo, plan); results.Stale || worst(plan) != "Progressing/CreatingRole" {
			t.Errorf("stale: %v, ends as %s", results.Stale, worst(plan))
		}
	}
}

func TestARevertedApplyIsNotRepeated(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		dojo    *corev1api.Dojo
		rewrite func(*world)
		writes  []string // the first plan's writes
	}{
		"Secret":       {tokyo(inPG), func(w *world) { w.secrets[owner].Labels[login.ReloadLabel] = "false" }, []string{"Secret"}},
		"DatabaseRole": {tokyo(inPG), func(w *world) { w.Login.Logins[owner].Role.Spec.Comment = "other" }, []string{"DatabaseRole"}},
		"Database":     {tokyo(inPG), func(w *world) { w.Database.Live.Spec.ReclaimPolicy = "delete" }, []string{"Database"}},
		"Cluster": {tokyo(ownPG), func(w *world) { w.Cluster.Live.Spec.StorageConfiguration.Size = "2Gi" },
			[]string{"Cluster"}},
		"ScheduledBackup": {tokyo(ownPG, backedUp), func(w *world) { w.Backup.Schedule.Spec.Schedule = "0 0 3 * * *" },
			[]string{"ScheduledBackup"}},
		"all objects": {tokyo(ownPG, backedUp), func(w *world) {
			w.secrets[owner].Labels[login.ReloadLabel], w.Login.Logins[owner].Role.Spec.Comment, w.Database.Live.Spec.ReclaimPolicy = "false", "other", "delete"
			w.Cluster.Live.Spec.StorageConfiguration.Size, w.Backup.Schedule.Spec.Schedule = "2Gi", "0 0 3 * * *"
		}, []string{"Cluster", "ScheduledBackup", "Secret", "DatabaseRole", "Database"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := inSync(t, c.dojo)
			c.rewrite(w)
			r := rewriting{live: map[string]client.Object{
				"Cluster": w.Cluster.Live, "ScheduledBackup": w.Backup.Schedule,
				"Secret": w.secrets[owner], "DatabaseRole": w.Login.Logins[owner].Role, "Database": w.Database.Live,
			}}
			applier := apply.New(r, ownership.FieldOwner, apply.Reasons{}, clock.RealClock{})
			var writes []string
			for range 4 {
				w.Unchanged = applier.Unchanged(c.dojo.UID)
				plan := w.plan(c.dojo).Plan
				if plan.Apply == nil {
					break
				}
				writes = append(writes, kinds(plan)...)
				if results := applier.Run(t.Context(), c.dojo, plan); !results.Stale {
					t.Errorf("the results are not stale: %+v", results.Issues)
				}
			}
			if diff := cmp.Diff(c.writes, writes); diff != "" {
				t.Error("writes", diff)
			}
			if db := w.plan(c.dojo); db.Plan.Apply != nil || db.Plan.Issues != nil || usable(db) != "usable" {
				t.Errorf("writes %v, ends as %q, %s", kinds(db.Plan), worst(db.Plan), usable(db))
			}
		})
	}
}
