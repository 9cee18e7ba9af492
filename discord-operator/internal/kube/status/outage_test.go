// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/issues"
	"jutsu.com/operators/discord-operator/internal/kube/metrics"
	"jutsu.com/operators/libs/apply/expectations"
	"jutsu.com/operators/libs/conditions"
	"jutsu.com/operators/libs/discordclient"
)

type outageWorld struct {
	t        *testing.T
	clock    *clocktesting.FakePassiveClock
	recorder *Recorder
	channel  *v1alpha1.DiscordChannel
	writes   int
	lines    []string
	changes  []string // logged changes of Ready's reason
}

func newOutageWorld(t *testing.T) *outageWorld {
	w := &outageWorld{t: t, clock: clocktesting.NewFakePassiveClock(time.Unix(1_700_000_000, 0))}
	w.recorder = &Recorder{
		Kind: "DiscordChannel", Events: noEvents{}, Expectations: expectations.NewSet(w.clock), Clock: w.clock,
		Metrics: metrics.New(prometheus.NewRegistry(), nil, nil), Resync: time.Hour, UnverifiedPeriod: 5 * time.Minute,
	}
	w.recorder.Client = fakeClient{status: fakeStatus{patch: func(client.Object, client.Patch) error { w.writes++; return nil }}}
	w.channel = &v1alpha1.DiscordChannel{ObjectMeta: metav1.ObjectMeta{Name: "tokyo", UID: "1", Generation: 3}}
	w.channel.CreationTimestamp = metav1.NewTime(w.clock.Now().Add(-time.Hour))
	return w
}

func (w *outageWorld) reconcile(worst *conditions.Issue) time.Duration {
	w.t.Helper()
	after := w.channel.DeepCopy()
	after.Status.ObservedGeneration = after.Generation
	conditions.Set(&after.Status.Conditions, after.Generation, conditions.Usable("OnDiscord", ""), worst)
	for i := range after.Status.Conditions {
		c := &after.Status.Conditions[i]
		if was := meta.FindStatusCondition(w.channel.Status.Conditions, c.Type); was == nil || was.Status != c.Status {
			c.LastTransitionTime = metav1.NewTime(w.clock.Now())
		}
	}
	ctx := logf.IntoContext(w.t.Context(), logr.New(funcr.New(func(_, args string) {
		if strings.Contains(args, "cannot compare objects with Discord") {
			w.lines = append(w.lines, args)
		} else {
			w.changes = append(w.changes, args)
		}
	}, funcr.Options{}).GetSink()))
	result, err := w.recorder.Update(ctx, Report{Before: w.channel, After: after, Worst: worst})
	if err != nil {
		w.t.Fatalf("%v would be logged with its stack", err)
	}
	w.channel = after
	return result.RequeueAfter
}

func (w *outageWorld) want(when, kind string, is metav1.ConditionStatus) {
	w.t.Helper()
	if c := meta.FindStatusCondition(w.channel.Status.Conditions, kind); c == nil && is != "" || c != nil && c.Status != is {
		w.t.Errorf("%s: %s is %+v, want %q", when, kind, c, is)
	}
}

func discordFails(why string) *conditions.Issue {
	return issues.Unverified(conditions.ReasonRetrying, "%s", why)
}

func TestReadyObjectStaysReadyForAWhile(t *testing.T) {
	t.Parallel()
	w := newOutageWorld(t)
	w.reconcile(nil)
	began := w.clock.Now()
	for w.clock.Since(began) < 5*time.Minute {
		next := w.reconcile(discordFails("502"))
		w.want("in the outage", conditions.TypeReady, metav1.ConditionTrue)
		w.want("in the outage", conditions.TypeProgressing, metav1.ConditionFalse)
		w.want("in the outage", v1alpha1.TypeVerified, metav1.ConditionFalse)
		w.clock.SetTime(w.clock.Now().Add(next))
	}
	if since := meta.FindStatusCondition(w.channel.Status.Conditions, v1alpha1.TypeVerified).LastTransitionTime; !since.Time.Equal(began) {
		t.Errorf("unverified since %s, want %s", since, began)
	}
	w.reconcile(discordFails("502"))
	w.want("after five minutes", conditions.TypeReady, metav1.ConditionFalse)
	w.want("after five minutes", v1alpha1.TypeVerified, metav1.ConditionFalse)
	w.reconcile(nil)
	w.want("after the outage", conditions.TypeReady, metav1.ConditionTrue)
	w.want("after the outage", v1alpha1.TypeVerified, "")
	if len(w.changes) != 3 || !strings.Contains(w.changes[1], `"from"="Reconciled" "to"="Retrying"`) {
		t.Errorf("the changes that are logged: %q", w.changes)
	}
	if w.writes > 4 {
		t.Errorf("%d writes: Ready, unverified, not Ready any more, Ready again", w.writes)
	}
}

func TestNewObjectIsNotReady(t *testing.T) {
	t.Parallel()
	w := newOutageWorld(t)
	w.reconcile(discordFails("502"))
	w.want("a new channel", conditions.TypeReady, metav1.ConditionFalse)
	w.want("a new channel", v1alpha1.TypeVerified, "")
	w.reconcile(nil)
	w.channel.Generation++ // a new spec
	w.reconcile(discordFails("502"))
	w.want("a new spec", conditions.TypeReady, metav1.ConditionFalse)
}

func TestAPauseIsNoFailureOfTheDeletion(t *testing.T) {
	t.Parallel()
	w := newOutageWorld(t)
	w.channel.DeletionTimestamp = new(metav1.NewTime(w.clock.Now()))
	paused := PausedDeletion(w.channel)
	w.reconcile(&paused)
	w.want("while paused", v1alpha1.TypeVerified, "")
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	w.reconcile(discordFails("502"))
	w.want("after the pause", v1alpha1.TypeVerified, metav1.ConditionFalse)
	if failing := DeletionFailing(w.channel, w.clock.Now()); failing != 0 {
		t.Errorf("the deletion counts as failing for %s, which includes the pause", failing)
	}
}

func TestFirstRefusalIsRetriedSoon(t *testing.T) {
	t.Parallel()
	refused := &discordclient.Error{Class: discordclient.ClassDenied, Status: 403, Code: 50001, Message: "Missing Access"}
	denied := func() *conditions.Issue { return &issues.Of(refused, time.Time{})[0] }
	for name, issue := range map[string]func() *conditions.Issue{
		"a call": denied, "a deletion": func() *conditions.Issue { return issues.OfDeletion(&v1alpha1.DiscordChannel{}, denied(), 0) },
	} {
		w := newOutageWorld(t)
		for i, want := range []float64{1, 1, 2, 4, 8, 10, 10, 60, 1, 1} {
			var worst *conditions.Issue
			if i != 7 {
				worst = issue()
			}
			got := w.reconcile(worst)
			if got.Minutes() != want {
				t.Errorf("%s, reconcile %d: the next one is after %s, want %v minutes", name, i, got, want)
			}
			w.clock.SetTime(w.clock.Now().Add(got))
		}
	}
}

func TestOnlyAResponseOfDiscordResetsTheBackOff(t *testing.T) {
	t.Parallel()
	w := newOutageWorld(t)
	retries := 0
	for began := w.clock.Now(); w.clock.Since(began) < 10*time.Minute; retries++ {
		w.clock.SetTime(w.clock.Now().Add(w.reconcile(discordFails("502"))))
		w.clock.SetTime(w.clock.Now().Add(w.reconcile(issues.Transient(100 * time.Millisecond))))
		w.clock.SetTime(w.clock.Now().Add(w.reconcile(conditions.Progressing(v1alpha1.ReasonCreatePending, "").After(time.Second))))
	}
	if retries > 18 { // 7 in the first minute, then one per minute
		t.Errorf("%d retries in ten minutes", retries)
	}
	if len(w.lines) != 1 {
		t.Errorf("%d lines are logged for one error: %q", len(w.lines), w.lines)
	}
	w.reconcile(discordFails("500"))
	if len(w.lines) != 2 {
		t.Errorf("another error is not logged: %q", w.lines)
	}
	w.reconcile(conditions.Degraded("R", "a user must act, as Discord says"))
	if next := w.reconcile(discordFails("502")); next > time.Second {
		t.Errorf("after Discord has answered, an object is retried only after %s", next)
	}
}
