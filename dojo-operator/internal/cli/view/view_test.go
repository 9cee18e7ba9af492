// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/apitest"
	"jutsu.com/operators/dojo-operator/internal/cli/view"
	"jutsu.com/operators/dojo-operator/internal/cli/world"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/kubectl/term"
)

func worldOf(changes ...func(*corev1api.Dojo)) *world.World {
	return &world.World{
		Now: apitest.Now, Dojo: apitest.Sendai(changes...), Objects: map[world.Ref]client.Object{},
		Denied: map[string]bool{}, Absent: map[string]bool{},
	}
}

func condition(kind, status, reason string) func(*corev1api.Dojo) {
	return apitest.Set(apitest.Condition(kind, status, reason, "A message.", apitest.At(24, 2, 0)))
}

func degraded(reason string) func(*corev1api.Dojo) {
	return condition(conditions.TypeDegraded, "True", reason)
}

func TestRemedies(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{
		corev1api.ReasonDatabaseLost:              "Careful kubectl dojo accept-loss sendai -n team-a",
		corev1api.ReasonSchemaFailed:              "See kubectl dojo logs sendai -n team-a schema",
		corev1api.ReasonCrashLoopBackOff:          "See kubectl dojo logs sendai -n team-a --previous",
		corev1api.ReasonImagePullBackOff:          "See kubectl dojo tree sendai -n team-a",
		corev1api.ReasonRolloutFailed:             "See kubectl describe dojos.core.jutsu.com sendai -n team-a",
		corev1api.ReasonDeploymentPaused:          "Safe kubectl rollout resume deployments.apps sendai -n team-a",
		corev1api.ReasonClusterNotReady:           "See kubectl dojo logs sendai -n team-a postgres",
		corev1api.ReasonUpgradeNeedsBackup:        "See kubectl dojo backups sendai -n team-a",
		corev1api.ReasonCloudNativePGNotInstalled: "See kubectl dojo check -n team-a",
		corev1api.ReasonSuspending:                "Safe kubectl dojo resume sendai -n team-a",
		corev1api.ReasonPaused:                    "Safe kubectl annotate dojos.core.jutsu.com sendai -n team-a core.jutsu.com/paused-",
		corev1api.ReasonReleaseFailed: "Safe kubectl annotate dojos.core.jutsu.com sendai -n team-a --overwrite " +
			"core.jutsu.com/retry-release=$(date +%s)",
		corev1api.ReasonCredentialsNotFound: "",
	} {
		w := worldOf(degraded(reason))
		var got []string
		for _, r := range view.Remedies(w, view.HeadOf(w.Dojo, w.Now)) {
			got = append(got, r.Label+" "+r.Command)
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%s: %q, want %q", reason, got, want)
		}
	}
}

func TestRemediesOfPausedDeletion(t *testing.T) {
	t.Parallel()
	const resume = "kubectl annotate dojos.core.jutsu.com sendai -n team-a core.jutsu.com/paused-"
	for policy, want := range map[corev1api.ReclaimPolicy]string{
		corev1api.ReclaimRetain: "Safe " + resume,
		corev1api.ReclaimDelete: "Safe kubectl patch dojos.core.jutsu.com sendai -n team-a --type=merge -p " +
			`'{"spec":{"postgres":{"reclaimPolicy":"Retain"}}}'` + "; Careful " + resume,
	} {
		w := worldOf(degraded(corev1api.ReasonPaused), func(d *corev1api.Dojo) {
			deleted := apitest.At(24, 2, 0)
			d.DeletionTimestamp, d.Spec.Postgres.ReclaimPolicy = &deleted, policy
		})
		var got []string
		for _, r := range view.Remedies(w, view.HeadOf(w.Dojo, w.Now)) {
			got = append(got, r.Label+" "+r.Command)
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%s: %q, want %q", policy, got, want)
		}
	}
}

// TestRemediesOfALostCluster asserts that only a restore from the lost Cluster's archive is Safe.
func TestRemediesOfALostCluster(t *testing.T) {
	t.Parallel()
	const accept = "; Careful kubectl dojo accept-loss sendai -n team-a (a new database without the lost data)"
	for server, want := range map[string]string{
		"sendai-db": "Safe kubectl dojo restore sendai -n team-a (newest data: about 02:51 or later, the end of the write-ahead log)",
		"sendai-db-2": "Careful kubectl dojo restore sendai -n team-a " +
			"(newest data: 01:00 in a former archive, 111m of data lost)",
	} {
		w := worldOf(apitest.Lost, func(d *corev1api.Dojo) {
			d.Spec.Postgres.Cluster.Backup.Plugin.Parameters = map[string]string{
				"barmanObjectName": "backups", "serverName": server,
			}
		})
		w.Backups = append(w.Backups, *apitest.Backup("last", apitest.At(24, 1, 0)))
		var got []string
		for _, r := range view.Remedies(w, view.HeadOf(w.Dojo, w.Now)) {
			got = append(got, r.Label+" "+r.Command+" ("+r.Note+")")
		}
		if strings.Join(got, "; ") != want+accept {
			t.Errorf("%s: %q, want %q", server, got, want+accept)
		}
	}
}

func TestHeadOf(t *testing.T) {
	t.Parallel()
	upgrade := func(d *corev1api.Dojo) { d.Status.Database.Upgrade = &corev1api.UpgradeStatus{From: "17", To: "18"} }
	progressing := func(reason string) func(*corev1api.Dojo) {
		return func(d *corev1api.Dojo) {
			condition(conditions.TypeReady, "False", reason)(d)
			condition(conditions.TypeProgressing, "True", reason)(d)
		}
	}
	unavailable := condition(conditions.TypeAvailable, "False", corev1api.ReasonDatabaseUnreachable)
	fresh := func(d *corev1api.Dojo) {
		d.Status = corev1api.DojoStatus{ObservedGeneration: -1}
		d.CreationTimestamp.Time = apitest.Now.Add(-10 * time.Second)
	}
	both := func(all ...func(*corev1api.Dojo)) func(*corev1api.Dojo) {
		return func(d *corev1api.Dojo) {
			for _, f := range all {
				f(d)
			}
		}
	}
	deleted := func(ago time.Duration) func(*corev1api.Dojo) {
		return func(d *corev1api.Dojo) {
			at := apitest.At(24, 0, 0)
			at.Time = apitest.Now.Add(-ago)
			d.Generation, d.DeletionTimestamp = 7, &at
		}
	}
	held := func(by ...string) func(*corev1api.Dojo) {
		return func(d *corev1api.Dojo) { d.Finalizers = by }
	}
	for name, c := range map[string]struct {
		change func(*corev1api.Dojo)
		health view.Health
		broken bool
	}{
		"ready":                          {func(*corev1api.Dojo) {}, view.Ready, false},
		"degraded":                       {degraded(corev1api.ReasonSchemaFailed), view.Degraded, true},
		"paused":                         {condition(conditions.TypePaused, "True", corev1api.ReasonPaused), view.Paused, false},
		"suspended":                      {condition(conditions.TypeReady, "True", corev1api.ReasonSuspended), view.Suspended, false},
		"rolling out":                    {progressing(corev1api.ReasonRollingOut), view.Progressing, false},
		"an outage":                      {both(progressing(corev1api.ReasonWaitingForCluster), unavailable), view.Progressing, true},
		"stopped for an upgrade":         {both(progressing(corev1api.ReasonUpgrading), unavailable, upgrade), view.Progressing, false},
		"scaled to zero":                 {condition(conditions.TypeAvailable, "False", corev1api.ReasonScaledToZero), view.Ready, false},
		"backups that fail":              {condition(corev1api.ConditionBackupSucceeded, "False", corev1api.ReasonArchivingFailed), view.Ready, true},
		"new":                            {fresh, view.Progressing, false},
		"no operator reads the new spec": {func(d *corev1api.Dojo) { d.Generation = 7 }, view.Unknown, true},
		"deleted a second ago":           {deleted(time.Second), view.Deleting, false},
		"no operator reads the deletion": {deleted(time.Hour), view.Unknown, true},
		"the operator has not finished the deletion": {
			both(deleted(time.Hour), held(corev1api.DatabaseFinalizer, "example.com/x")), view.Unknown, true,
		},
		"only another client's finalizer remains": {both(deleted(time.Hour), held("example.com/x")), view.Deleting, false},
		"neither ready nor progressing":           {condition(conditions.TypeReady, "False", "X"), view.Unknown, true},
	} {
		if h := view.HeadOf(apitest.Sendai(c.change), apitest.Now); h.Health != c.health || h.Broken != c.broken {
			t.Errorf("%s: %s, broken %v: %s", name, h.Health, h.Broken, h.Reason)
		}
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	of := func(marks ...view.Mark) (all []view.Child) {
		for _, m := range marks {
			all = append(all, view.Child{Kind: "Pod", Name: "x", Mark: m})
		}
		return all
	}
	for want, children := range map[string][]view.Child{
		"0, all in sync": nil, "1, all in sync": of(view.Well), "2, all in sync but the Pod x": of(view.Well, view.Ill),
		"3, 3 not in sync": of(view.Ill, view.Busy, view.Ill), "1, which you may not read": of(view.Blind),
		"3: 1 in sync, 1 not, 1 you may not read": of(view.Well, view.Ill, view.Blind),
	} {
		if got := view.Summary(children); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestReleaseLine(t *testing.T) {
	t.Parallel()
	at := apitest.At(21, 10, 2)
	step := func(status *corev1api.ReleaseStatus) func(*corev1api.Dojo) {
		return func(dojo *corev1api.Dojo) {
			dojo.Spec.Release, dojo.Status.Release = &corev1api.Release{Command: []string{"migrate"}}, status
		}
	}
	done := corev1api.ReleaseStatus{Image: "dojo:1", FinishedAt: &at, Migration: "20261120-add-index", Migrations: 4}
	failed := done
	failed.Failure = &corev1api.ReleaseFailure{Time: at}
	command := corev1api.ReleaseStatus{Image: "dojo:1", FinishedAt: &at}
	for want, change := range map[string]func(*corev1api.Dojo){
		"Release none yet": step(nil),
		"Release 4 migrations last 20261120-add-index, 21 Nov 10:02":                          step(&done),
		"Release done 21 Nov 10:02":                                                           step(&command),
		"Release FAILED last 20261120-add-index, 21 Nov 10:02, next step failed 21 Nov 10:02": step(&failed),
	} {
		text := view.Status(worldOf(change), term.Style{})
		found := false
		for line := range strings.Lines(text) {
			found = found || strings.Join(strings.Fields(line), " ") == want
		}
		if !found {
			t.Errorf("no line %q in\n%s", want, text)
		}
	}
}

// TestAbsentCluster asserts that the Dojo's own Cluster is MISSING only if it has existed.
func TestAbsentCluster(t *testing.T) {
	t.Parallel()
	never := func(d *corev1api.Dojo) {
		db := d.Status.Database
		db.ClusterUID, db.Version, db.Primary, db.Instances = "", "", "", ""
	}
	for name, c := range map[string]struct {
		changes []func(*corev1api.Dojo)
		want    string
	}{
		"the Cluster is gone":                 {nil, "Database sendai-db MISSING was Postgres 18.1, 10Gi, primary sendai-db-1"},
		"never created":                       {[]func(*corev1api.Dojo){never}, "Database sendai-db not created yet 10Gi"},
		"lost, without details in the status": {[]func(*corev1api.Dojo){never, apitest.Lost}, "Database sendai-db MISSING was 10Gi"},
		"a Cluster of another owner": {[]func(*corev1api.Dojo){never, func(d *corev1api.Dojo) {
			d.Spec.Postgres = &corev1api.Postgres{ClusterRef: &corev1api.ClusterReference{Name: "shared"}}
			d.Status.Database.ClusterName = "shared"
		}}, "Database shared MISSING"},
	} {
		text := view.Status(worldOf(c.changes...), term.Style{})
		if !strings.Contains(strings.Join(strings.Fields(text), " ")+" ", c.want+" ") {
			t.Errorf("%s: no %q in\n%s", name, c.want, text)
		}
	}
}
