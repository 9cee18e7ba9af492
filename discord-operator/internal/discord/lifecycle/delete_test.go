// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/issues"
	"jutsu.com/operators/discord-operator/internal/kube/metrics"
	"jutsu.com/operators/discord-operator/internal/kube/status"
	"jutsu.com/operators/libs/apply/expectations"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
	"jutsu.com/operators/libs/discordclient/guildcache"
)

type (
	written struct{ client.Client }
	writes  struct{ client.SubResourceWriter }
	silent  struct{}
)

func (written) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	return nil
}
func (written) Status() client.SubResourceWriter                       { return writes{} }
func (silent) Eventf(_, _ runtime.Object, _, _, _, _ string, _ ...any) {}
func (writes) Patch(context.Context, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
	return nil
}

type forced struct {
	t        *testing.T
	clock    *clocktesting.FakePassiveClock
	recorder *status.Recorder
	channel  *v1alpha1.DiscordChannel
}

func newForced(t *testing.T) *forced {
	f := &forced{t: t, clock: clocktesting.NewFakePassiveClock(time.Unix(1_700_000_000, 0))}
	f.restart()
	f.channel = &v1alpha1.DiscordChannel{ObjectMeta: metav1.ObjectMeta{
		Name: "tokyo", UID: "1", Generation: 2, Finalizers: []string{v1alpha1.CleanupFinalizer},
		Annotations:       map[string]string{v1alpha1.ForceDeleteAnnotation: "true"},
		CreationTimestamp: metav1.NewTime(f.clock.Now().Add(-time.Hour)),
		DeletionTimestamp: new(metav1.NewTime(f.clock.Now().Add(-10 * time.Minute))),
	}}
	f.set(f.channel, nil)
	return f
}

func (f *forced) restart() {
	f.recorder = &status.Recorder{
		Kind: "DiscordChannel", Client: written{}, Events: silent{}, Expectations: expectations.NewSet(f.clock), Clock: f.clock,
		Metrics: metrics.New(prometheus.NewRegistry(), nil, nil), Resync: time.Hour, UnverifiedPeriod: time.Hour,
	}
}

func (f *forced) set(c *v1alpha1.DiscordChannel, worst *conditions.Issue) {
	conditions.Set(&c.Status.Conditions, c.Generation, conditions.Usable("OnDiscord", ""), worst)
}

func (f *forced) reconcile(issue *conditions.Issue) (abandoned bool) {
	f.t.Helper()
	results := Delete(f.t.Context(), nil, f.recorder, f.channel, Plan{Issues: []conditions.Issue{*issue}})
	if results.Deleted {
		return true
	}
	after, worst := f.channel.DeepCopy(), issues.Worst(results.Issues)
	f.set(after, worst)
	if _, err := f.recorder.Update(f.t.Context(), status.Report{Before: f.channel, After: after, Worst: worst}); err != nil {
		f.t.Fatal(err)
	}
	f.channel = after
	return false
}

// The force-delete annotation leaves the resource on Discord 20 seconds after the first failure, or
// at once after a Degraded issue. Rate limits and waits are no failures.
func TestForceDeleteWaitsAfterTheFirstFailure(t *testing.T) {
	t.Parallel()
	fails := func() *conditions.Issue { return issues.Unverified(conditions.ReasonRetrying, "502") }
	limited := func() *conditions.Issue {
		return &issues.Of(&discordclient.RateLimited{Op: "delete channel", After: time.Minute, Scope: "user"}, time.Time{})[0]
	}
	waits := func() *conditions.Issue { return conditions.Progressing(v1alpha1.ReasonWaitingForDependents, "x") }
	brief := func() *conditions.Issue { return issues.Transient(time.Second) }
	known := func() *conditions.Issue { return issues.DeletionFailed("The server no longer exists.") }
	type step struct {
		after     time.Duration
		issue     func() *conditions.Issue
		abandoned bool
		restart   bool
	}
	for name, steps := range map[string][]step{
		"fails once, long after the deletion": {{0, fails, false, false}},
		"fails for 20 seconds": {{0, fails, false, false}, {10 * time.Second, fails, false, false},
			{9 * time.Second, fails, false, false}, {time.Second, fails, true, false}},
		"fails for 20 seconds, with a restart": {{0, fails, false, false}, {19 * time.Second, fails, false, true}, {time.Second, fails, true, true}},
		"is rate limited for hours":            {{0, limited, false, false}, {time.Hour, limited, false, false}, {time.Hour, limited, false, false}},
		"fails before and after a rate limit": {{0, fails, false, false}, {19 * time.Second, limited, false, false},
			{time.Minute, fails, false, false}, {19 * time.Second, fails, false, false}, {time.Second, fails, true, false}},
		"fails before and after a wait for dependents": {{0, fails, false, false}, {10 * time.Second, waits, false, false},
			{time.Hour, fails, false, false}},
		"a transient issue changes nothing": {{0, fails, false, false}, {10 * time.Second, brief, false, false},
			{10 * time.Second, brief, false, false}, {0, fails, true, false}},
		"fails with DeletionFailed": {{0, known, true, false}},
	} {
		f := newForced(t)
		for i, s := range steps {
			f.clock.SetTime(f.clock.Now().Add(s.after))
			if s.restart {
				f.restart()
			}
			if got := f.reconcile(s.issue()); got != s.abandoned {
				t.Errorf("%s, step %d: abandoned %v", name, i, got)
			}
		}
	}

	f := newForced(t) // Discord had failed even before the deletion
	f.channel.Status.Conditions = append(f.channel.Status.Conditions, metav1.Condition{
		Type: v1alpha1.TypeVerified, Status: metav1.ConditionFalse, Reason: conditions.ReasonRetrying, ObservedGeneration: 1,
		LastTransitionTime: metav1.NewTime(f.clock.Now().Add(-time.Hour)),
	})
	for i, want := range []bool{false, false, true} {
		if got := f.reconcile(fails()); got != want {
			t.Errorf("failures before the deletion, step %d: abandoned %v", i, got)
		}
		f.clock.SetTime(f.clock.Now().Add(10 * time.Second))
	}
}

// The reported failure says that the annotation leaves the resource on Discord. So after this
// report, the annotation must not cause a delete call.
func TestForceSendsNoDeleteAfterAReportedFailure(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reported *conditions.Issue
		sent     int
	}{
		"no failure": {nil, 1},
		"a failure, not yet reported as DeletionFailed": {issues.Unverified(conditions.ReasonRetrying, "502"), 1},
		"a failure, reported as DeletionFailed":         {issues.DeletionFailed("502"), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, by := newForced(t), &counted{}
			f.set(f.channel, c.reported)
			results := Delete(t.Context(), nil, f.recorder, f.channel, Plan{Delete: &Deletion{By: by}})
			if !results.Deleted || by.n != c.sent {
				t.Errorf("deleted: %t, with %d calls, want %d", results.Deleted, by.n, c.sent)
			}
		})
	}
}

type counted struct{ n int }

func (c *counted) Delete(context.Context, *guildcache.Client, string, string, string) error {
	c.n++
	return nil
}
