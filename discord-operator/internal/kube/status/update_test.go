// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/discord-operator/internal/discord/issues"
	"jutsu.com/operators/discord-operator/internal/kube/metrics"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/apply/expectations"
	"jutsu.com/operators/libs/conditions"
)

type fakeClient struct {
	client.Client
	status fakeStatus
}

func (f fakeClient) Status() client.SubResourceWriter { return f.status }

type fakeStatus struct {
	client.SubResourceWriter
	patch func(client.Object, client.Patch) error
}

func (f fakeStatus) Patch(_ context.Context, o client.Object, p client.Patch, _ ...client.SubResourcePatchOption) error {
	return f.patch(o, p)
}

type noEvents struct{}

func (noEvents) Eventf(_, _ runtime.Object, _, _, _, _ string, _ ...any) {}

func TestUpdate(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	reported := []metav1.Condition{{Type: conditions.TypeReady}}
	waiting, degraded := conditions.Progressing("R", "").After(3*time.Second), conditions.Degraded("R", "")
	broken := errors.New("connection refused")
	conflict := apierrors.NewConflict(schema.GroupResource{}, "tokyo", errors.New("the object has been modified"))
	transient := conditions.Worst(conditions.Of(broken))
	cases := map[string]struct {
		report Report
		was    []metav1.Condition
		age    time.Duration
		others bool  // whether another client writes at the same time
		failed error // error of the write
		writes bool
		again  time.Duration
		err    string
	}{
		"reconciled":                          {was: reported, writes: true, again: time.Hour},
		"reconciled, the write fails":         {was: reported, writes: true, failed: broken, err: "channel #tokyo: patch status: connection refused"},
		"degraded, a concurrent write":        {was: reported, report: Report{Worst: degraded}, writes: true, others: true, again: apply.StaleRetry},
		"an error, a concurrent write":        {was: reported, report: Report{Worst: transient}, writes: true, others: true, err: "channel #tokyo: connection refused"},
		"reconciled, a conflict":              {was: reported, writes: true, failed: conflict, again: apply.StaleRetry},
		"an error, a conflict":                {was: reported, report: Report{Worst: transient}, writes: true, failed: conflict, err: "channel #tokyo: connection refused"},
		"a stale cache":                       {was: reported, report: Report{Stale: true}, again: apply.StaleRetry},
		"a transient issue":                   {was: reported, report: Report{Worst: issues.Transient(time.Second)}, again: time.Second},
		"a transient issue after a change":    {was: reported, report: Report{Worst: issues.Transient(time.Second), Changed: true}, writes: true, again: time.Second},
		"an object with a status waits":       {was: reported, report: Report{Worst: waiting}, writes: true, again: 3 * time.Second},
		"a new object waits without a status": {report: Report{Worst: waiting}, age: issues.MaxTransient - time.Second, again: time.Second},
		"degraded":                            {was: reported, report: Report{Worst: degraded}, writes: true, again: time.Hour},
		"an error":                            {was: reported, report: Report{Worst: transient}, writes: true, err: "channel #tokyo: connection refused"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			counts := metrics.New(prometheus.NewRegistry(), nil, nil)
			clock := clocktesting.NewFakePassiveClock(now)
			r := &Recorder{
				Kind: "DiscordChannel", Events: noEvents{}, Expectations: expectations.NewSet(clock), Metrics: counts, Clock: clock, Resync: time.Hour,
			}
			writes := false
			r.Client = fakeClient{status: fakeStatus{patch: func(o client.Object, p client.Patch) error {
				writes = true
				if data, err := p.Data(o); err != nil || !strings.Contains(string(data), `"resourceVersion":"1"`) {
					t.Errorf("the patch is for any object of this name: %s, %v", data, err)
				}
				if c.others {
					other := o.DeepCopyObject().(client.Object)
					other.SetResourceVersion("9")
					r.Expectations.ByOthers(r.Kind).Update(event.UpdateEvent{ObjectOld: o, ObjectNew: other})
				}
				o.SetResourceVersion("2")
				return c.failed
			}}}
			before := &v1alpha1.DiscordChannel{ObjectMeta: metav1.ObjectMeta{
				Name: "tokyo", ResourceVersion: "1", CreationTimestamp: metav1.NewTime(now.Add(-c.age)),
			}}
			before.Status.Conditions = c.was
			after := before.DeepCopy()
			after.Status.ObservedGeneration = 1
			c.report.Name, c.report.Before, c.report.After = "channel #tokyo", before, after
			result, err := r.Update(t.Context(), c.report)
			if writes != c.writes || result.RequeueAfter != c.again {
				t.Errorf("written: %v, again after %s", writes, result.RequeueAfter)
			}
			if c.err == "" && err != nil || c.err != "" && (err == nil || err.Error() != c.err) {
				t.Errorf("got %v, want %q", err, c.err)
			}
		})
	}
}

func TestTimeToReadyIsObservedOnce(t *testing.T) {
	t.Parallel()
	ready := []metav1.Condition{
		{Type: conditions.TypeAvailable, Status: metav1.ConditionTrue}, {Type: conditions.TypeReady, Status: metav1.ConditionTrue},
	}
	unready := []metav1.Condition{
		{Type: conditions.TypeAvailable, Status: metav1.ConditionFalse}, {Type: conditions.TypeReady, Status: metav1.ConditionFalse},
	}
	type step struct {
		id    string
		conds []metav1.Condition
	}
	cases := map[string]struct {
		steps []step
		want  uint64
	}{
		"created and ready":                            {[]step{{"7", ready}}, 1},
		"not created at first, then created and ready": {[]step{{"", unready}, {"7", ready}}, 1},
		"created, not ready":                           {[]step{{"7", unready}}, 0},
		"created, ready later":                         {[]step{{"7", unready}, {"7", ready}, {"7", unready}, {"7", ready}}, 1},
		"ready again after a failure":                  {[]step{{"7", ready}, {"7", unready}, {"7", ready}}, 1},
		"created again after a deletion on Discord":    {[]step{{"7", ready}, {"7", unready}, {"8", ready}}, 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			registry, clock := prometheus.NewRegistry(), clocktesting.NewFakePassiveClock(time.Unix(1_000_000, 0))
			r := &Recorder{
				Kind: "DiscordChannel", Events: noEvents{}, Expectations: expectations.NewSet(clock),
				Metrics: metrics.New(registry, nil, nil), Clock: clock, Resync: time.Hour,
				Client: fakeClient{status: fakeStatus{patch: func(client.Object, client.Patch) error { return nil }}},
			}
			before := &v1alpha1.DiscordChannel{ObjectMeta: metav1.ObjectMeta{Name: "tokyo", UID: "uid", ResourceVersion: "1"}}
			for i, s := range c.steps {
				after := before.DeepCopy()
				after.Status.ChannelID, after.Status.Conditions, after.Status.ObservedGeneration = s.id, s.conds, int64(i+1)
				if _, err := r.Update(t.Context(), Report{Name: "channel #tokyo", Before: before, After: after}); err != nil {
					t.Fatal(err)
				}
				before = after
			}
			if n := observations(t, registry, "discord_time_to_ready_seconds", "DiscordChannel"); n != c.want {
				t.Errorf("%d observations, want %d", n, c.want)
			}
		})
	}
}

func observations(t *testing.T, registry prometheus.Gatherer, name, kind string) uint64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			if m.GetLabel()[0].GetValue() == kind {
				return m.GetHistogram().GetSampleCount()
			}
		}
	}
	return 0
}
