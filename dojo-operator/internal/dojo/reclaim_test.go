package dojo

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
)

func TestReclaim(t *testing.T) {
	t.Parallel()
	type result struct {
		Writes, Removes []string
		Outcome         string
		Released        bool
	}
	podLeft := func(w *world) { w.deployment, w.pods = nil, []corev1.Pod{pod("a")} }
	stopped := func(w *world) { w.deployment, w.jobs = nil, nil }
	waits := "Waiting/DeletingDatabase"
	cases := map[string]struct {
		dojo   *corev1api.Dojo
		change func(w *world)
		want   result
	}{
		"the application first":     {tokyo(inPG, dropping), func(*world) {}, result{nil, []string{"Deployment"}, waits, false}},
		"its pods have to end":      {tokyo(inPG, dropping), podLeft, result{nil, []string{"Job"}, waits, false}},
		"then the database":         {tokyo(inPG, dropping), stopped, result{nil, []string{"Database"}, waits, false}},
		"then the role":             {tokyo(inPG, dropping), func(w *world) { stopped(w); delete(w.custom, "Database") }, result{nil, []string{"DatabaseRole"}, waits, false}},
		"then the password":         {tokyo(inPG, dropping), func(w *world) { stopped(w); w.custom = nil }, result{[]string{"Secret"}, nil, waits, false}},
		"then the Dojo may go":      {tokyo(inPG, dropping), entrustedTo(stopped), result{nil, nil, "settled", true}},
		"a stranger's password":     {tokyo(inPG, dropping), func(w *world) { stopped(w); w.custom = nil; w.password.Labels = nil }, result{nil, nil, "settled", true}},
		"no password":               {tokyo(inPG, dropping), func(w *world) { stopped(w); w.custom, w.password = nil, nil }, result{nil, nil, "settled", true}},
		"the policy changed lately": {tokyo(inPG), func(*world) {}, result{nil, nil, "settled", true}},
		"CloudNativePG gone":        {tokyo(inPG, dropping), func(w *world) { stopped(w); w.without = "Cluster" }, result{[]string{"Secret"}, nil, waits, false}},
		"a stranger's database":     {tokyo(inPG, dropping), func(w *world) { stopped(w); w.custom["Database"].SetLabels(nil) }, result{nil, []string{"DatabaseRole"}, waits, false}},
		"database on its way": {tokyo(inPG, dropping), func(w *world) {
			stopped(w)
			w.custom["Database"].SetDeletionTimestamp(&metav1.Time{Time: noon})
		}, result{nil, nil, waits, false}},
		"its policy is still the old one": {tokyo(inPG, dropping), func(w *world) {
			stopped(w)
			w.put("Database", "retain", "spec", "databaseReclaimPolicy")
		}, result{[]string{"Database"}, nil, waits, false}},
		"own Cluster: its schedule": {tokyo(ownPG, dropping), func(w *world) {
			stopped(w)
			delete(w.custom, "Database")
			delete(w.custom, "DatabaseRole")
			w.custom["ScheduledBackup"] = custom(tokyo(), scheduleKind, "tokyo-db", map[string]any{})
		}, result{nil, []string{"ScheduledBackup"}, waits, false}},
		"own Cluster: itself": {tokyo(ownPG, dropping), func(w *world) {
			stopped(w)
			delete(w.custom, "Database")
			delete(w.custom, "DatabaseRole")
		}, result{nil, []string{"Cluster"}, waits, false}},
		"a last backup":   {tokyo(ownPG, dropping, backedUp), func(*world) {}, result{[]string{"Backup"}, nil, "Waiting/TakingFinalBackup", false}},
		"it is under way": {tokyo(ownPG, dropping, backedUp), finalBackup("running"), result{nil, nil, "Waiting/TakingFinalBackup", false}},
		"it has failed":   {tokyo(ownPG, dropping, backedUp), finalBackup("failed"), result{nil, nil, "Terminal/FinalBackupFailed", false}},
		"it is done":      {tokyo(ownPG, dropping, backedUp), finalBackup("completed"), result{nil, []string{"Deployment"}, waits, false}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := settledDatabase(t, c.dojo.DeepCopy())
			c.change(w)
			leaving(c.dojo)
			s := plan(c.dojo, w.see(c.dojo), testConfig)
			var removes []string
			for _, old := range s.remove {
				removes = append(removes, old.kind)
			}
			got := result{kinds(s), removes, outcomeOf(s.verdict), s.finalizers != nil && len(s.finalizers) == 0}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// entrustedTo lets a pass leave the password to the garbage collector.
func entrustedTo(change func(w *world)) func(w *world) {
	return func(w *world) {
		change(w)
		w.custom = nil
		d := tokyo(inPG, dropping, leaving)
		if w.pass(d); !metav1.IsControlledBy(w.password, d) {
			w.t.Fatal("the password has no owner")
		}
	}
}

func finalBackup(phase string) func(w *world) {
	return func(w *world) {
		w.custom["Backup"] = backupKind.Object()
		w.put("Backup", map[string]any{"phase": phase, "error": "e"}, "status")
	}
}

func TestFinalizers(t *testing.T) {
	t.Parallel()
	other := func(d *corev1api.Dojo) { d.Finalizers = append(d.Finalizers, "example.org/theirs") }
	ours := func(d *corev1api.Dojo) { d.Finalizers = append(d.Finalizers, corev1api.DatabaseFinalizer) }
	cases := map[string]struct {
		dojo *corev1api.Dojo
		want []string
	}{
		"credentials":            {tokyo(), nil},
		"credentials, a foreign": {tokyo(other), nil},
		"kept":                   {tokyo(inPG), nil},
		"deleted":                {tokyo(inPG, dropping, other), []string{"example.org/theirs", corev1api.DatabaseFinalizer}},
		"deleted, has it":        {tokyo(inPG, dropping, ours), nil},
		"kept after all":         {tokyo(inPG, ours, other), []string{"example.org/theirs"}},
		"kept, ours alone":       {tokyo(inPG, ours), []string{}},
	}
	for name, c := range cases {
		if diff := cmp.Diff(c.want, planFinalizers(c.dojo)); diff != "" {
			t.Error(name, diff)
		}
	}
}
