package dojo

import (
	"errors"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/google/go-cmp/cmp"

	"k8s.io/utils/ptr"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/conditions"
)

var errAway = errors.New("connection refused")

// was gives the Dojo the status that a pass with such an end has left.
func was(ready int32, can conditions.Availability, outcome error) func(*corev1api.Dojo) {
	return func(d *corev1api.Dojo) {
		d.Status.ReadyReplicas, d.Status.ReadyStatus, d.Status.ObservedGeneration = ready, "3/3", d.Generation
		conditions.Set(&d.Status.Conditions, d.Generation, can, outcome)
	}
}

func TestStatusConditions(t *testing.T) {
	t.Parallel()
	const yes, no = "True/", "False/"
	rolling := &conditions.Waiting{Reason: corev1api.ReasonRollingOut, Message: "1 of 3"}
	starting := was(0, conditions.Unusable(corev1api.ReasonStarting, "x"), rolling)
	served := was(3, conditions.Usable(corev1api.ReasonReplicasReady, "x"), nil)
	off := was(0, conditions.NothingAsked(corev1api.ReasonScaledToZero, "x"), nil)
	up := was(0, conditions.Unusable(corev1api.ReasonScalingUp, "x"), rolling)
	cases := map[string]struct {
		dojo    *corev1api.Dojo
		ready   int32
		blind   bool // whether nothing could be seen
		wanted  int32
		outcome error
		want    [2]string // Available and Ready
	}{
		"new":                      {tokyo(), 0, false, 3, rolling, [2]string{no + "Starting", no + "RollingOut"}},
		"still starting":           {tokyo(starting), 0, false, 3, rolling, [2]string{no + "Starting", no + "RollingOut"}},
		"the first is ready":       {tokyo(starting), 1, false, 3, rolling, [2]string{yes + "ReplicasReady", no + "RollingOut"}},
		"settled":                  {tokyo(starting), 3, false, 3, nil, [2]string{yes + "ReplicasReady", yes + "Settled"}},
		"scaling while it serves":  {tokyo(served), 3, false, 5, rolling, [2]string{yes + "ReplicasReady", no + "RollingOut"}},
		"broken while it serves":   {tokyo(served), 2, false, 3, &conditions.Terminal{Reason: "CrashLoopBackOff"}, [2]string{yes + "ReplicasReady", no + "CrashLoopBackOff"}},
		"an outage":                {tokyo(served), 0, false, 3, rolling, [2]string{no + "NoReadyReplicas", no + "RollingOut"}},
		"scaled to nothing":        {tokyo(served), 0, false, 0, nil, [2]string{no + "ScaledToZero", yes + "Settled"}},
		"on its way to nothing":    {tokyo(served), 2, false, 0, rolling, [2]string{yes + "ReplicasReady", no + "RollingOut"}},
		"up again from nothing":    {tokyo(off), 0, false, 3, rolling, [2]string{no + "ScalingUp", no + "RollingOut"}},
		"still on the way up":      {tokyo(up), 0, false, 3, rolling, [2]string{no + "ScalingUp", no + "RollingOut"}},
		"cannot look, off":         {tokyo(off, replicas(0)), 0, true, 0, errAway, [2]string{no + "ScaledToZero", no + "Retrying"}},
		"cannot look, serves":      {tokyo(served), 0, true, 3, errAway, [2]string{yes + "ReplicasReady", no + "Retrying"}},
		"cannot look, stopped":     {tokyo(off, replicas(0)), 0, true, 0, errAway, [2]string{no + "ScaledToZero", no + "Retrying"}},
		"cannot look, starts":      {tokyo(starting), 0, true, 3, errAway, [2]string{no + "Starting", no + "Retrying"}},
		"cannot look, never could": {tokyo(), 0, true, 3, errAway, [2]string{no + "Starting", no + "Retrying"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := settledWorld(t, tokyo())
			w.serve(c.ready)
			seen, todo := w.see(c.dojo), &steps{replicas: c.wanted}
			if c.blind {
				seen, todo = nil, nil
			}
			before := c.dojo.DeepCopy()
			got := status(c.dojo, seen, todo, c.outcome)
			if diff := cmp.Diff(before, c.dojo); diff != "" {
				t.Error("status is not pure", diff)
			}
			tell := func(kind string) string {
				found := meta.FindStatusCondition(got.Conditions, kind)
				return string(found.Status) + "/" + found.Reason
			}
			if diff := cmp.Diff(c.want, [2]string{tell(conditions.Available), tell(conditions.Ready)}); diff != "" {
				t.Error(diff)
			}
			if got.ObservedGeneration != 3 {
				t.Errorf("speaks of generation %d", got.ObservedGeneration)
			}
		})
	}
}

func TestStatusFacts(t *testing.T) {
	t.Parallel()
	const podSelector = "app.kubernetes.io/instance=tokyo,app.kubernetes.io/name=dojo"
	all := func(s corev1api.DojoStatus) corev1api.DojoStatus {
		s.ObservedGeneration, s.Selector, s.Endpoint = 3, podSelector, "tokyo.school.svc:80"
		s.Credentials = &corev1api.LocalCredentials{Name: "tokyo-credentials", Namespace: "school"}
		return s
	}
	none := corev1api.DojoStatus{ObservedGeneration: 3, Selector: podSelector, ReadyStatus: "0/3"}
	failed := errors.New("apply Secret: away")
	cases := map[string]struct {
		change  func(w *world)
		outcome error // instead of the plan's verdict
		want    corev1api.DojoStatus
	}{
		"settled": {func(w *world) { w.serve(3) }, nil,
			all(corev1api.DojoStatus{Replicas: 3, ReadyReplicas: 3, UpdatedReplicas: 3, AvailableReplicas: 3, ReadyStatus: "3/3"})},
		"in the middle of a rollout": {func(w *world) {
			w.deployment.Status = appsv1.DeploymentStatus{Replicas: 4, ReadyReplicas: 3, UpdatedReplicas: 1, AvailableReplicas: 2}
		}, nil, all(corev1api.DojoStatus{Replicas: 4, ReadyReplicas: 3, UpdatedReplicas: 1, AvailableReplicas: 2, ReadyStatus: "3/3"})},
		"autoscaled": {func(w *world) {
			w.scaler, w.deployment = true, edit(w, w.deployment, "kube-controller-manager", scaleTo(7))
			w.serve(6)
		}, nil, all(corev1api.DojoStatus{Replicas: 7, ReadyReplicas: 6, UpdatedReplicas: 7, AvailableReplicas: 6, ReadyStatus: "6/7"})},
		"made by this very pass":      {func(w *world) { *w = world{t: w.t, source: pgApp()} }, nil, all(corev1api.DojoStatus{ReadyStatus: "0/3"})},
		"this pass failed":            {func(w *world) { *w = world{t: w.t, source: pgApp()} }, failed, none},
		"this pass failed, was there": {func(w *world) { w.deployment = nil }, failed, all(corev1api.DojoStatus{ReadyStatus: "0/3"})},
		"no credentials yet":          {func(w *world) { *w = world{t: w.t} }, nil, none},
		"a stranger's Deployment": {func(w *world) {
			w.deployment = deployment(pods(3, 3, 3))
			w.own, w.service = &corev1.Secret{}, &corev1.Service{}
		}, nil, none},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := tokyo()
			w := settledWorld(t, d)
			c.change(w)
			seen := w.see(d)
			todo := plan(d, seen, testConfig)
			outcome := todo.verdict
			if c.outcome != nil {
				outcome = c.outcome
			}
			got := status(d, seen, todo, outcome)
			got.Conditions = nil
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNothingSeenLeavesTheFacts(t *testing.T) {
	t.Parallel()
	d := tokyo(was(3, conditions.Usable(corev1api.ReasonReplicasReady, "x"), nil))
	d.Status.Endpoint, d.Status.AvailableReplicas = "tokyo.school.svc:80", 2
	got := status(d, nil, nil, errAway)
	got.Conditions = d.Status.Conditions
	if diff := cmp.Diff(d.Status, got); diff != "" {
		t.Error(diff)
	}
}

// A pass that finds nothing new makes a status that is equal to the one before, so that it is not written.
func TestStatusHoldsStill(t *testing.T) {
	t.Parallel()
	d := tokyo()
	w := settledWorld(t, d)
	seen := w.see(d)
	todo := plan(d, seen, testConfig)
	d.Status = status(d, seen, todo, todo.verdict)
	if diff := cmp.Diff(d.Status, status(d, w.see(d), todo, todo.verdict)); diff != "" {
		t.Error(diff)
	}
}

func TestPostponed(t *testing.T) {
	t.Parallel()
	moved := func(ago time.Duration) *appsv1.Deployment {
		return deployment(func(d *appsv1.Deployment) {
			d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, LastUpdateTime: metav1.NewTime(noon.Add(-ago))}}
		})
	}
	ending := func(ready int32, text string, outcome error) corev1api.DojoStatus {
		d := tokyo(was(ready, conditions.Usable(corev1api.ReasonReplicasReady, text), outcome))
		d.Status.ReadyStatus = text
		for i := range d.Status.Conditions {
			d.Status.Conditions[i].LastTransitionTime = metav1.NewTime(noon)
		}
		return d.Status
	}
	rolling := func(text string) error { return &conditions.Waiting{Reason: corev1api.ReasonRollingOut, Message: text} }
	before := ending(1, "1/3", rolling("1 of 3"))
	next := ending(2, "2/3", rolling("2 of 3"))
	large := moved(0)
	large.Spec.Replicas = ptr.To[int32](100)
	many, few := *next.DeepCopy(), *next.DeepCopy()
	many.ReadyReplicas, few.ReadyReplicas = before.ReadyReplicas+11, before.ReadyReplicas+10
	respecified, served := *next.DeepCopy(), *next.DeepCopy()
	respecified.ObservedGeneration++
	served.Endpoint = "tokyo.school.svc:80"
	cases := map[string]struct {
		now  corev1api.DojoStatus
		live *appsv1.Deployment
		want time.Duration
	}{
		"counts, just moved":            {next, moved(0), 2 * time.Second},
		"counts, moved a moment ago":    {next, moved(1500 * time.Millisecond), 500 * time.Millisecond},
		"counts, moved long enough ago": {next, moved(2 * time.Second), 0},
		"counts, moved long ago":        {next, moved(time.Hour), 0},
		"many more ready, just moved":   {many, large, 0},
		"a few more ready of many":      {few, large, 2 * time.Second},
		"counts, by a clock ahead":      {next, moved(-time.Hour), 0},
		"counts, never moved":           {next, deployment(), 0},
		"no Deployment":                 {next, nil, 0},
		"a stranger's Deployment":       {next, &appsv1.Deployment{}, 0},
		"settled":                       {ending(3, "3/3", nil), moved(0), 0},
		"another reason":                {ending(2, "2/3", &conditions.Waiting{Reason: "WaitingForCredentials"}), moved(0), 0},
		"a failure":                     {ending(2, "2/3", &conditions.Terminal{Reason: "CrashLoopBackOff"}), moved(0), 0},
		"another spec":                  {respecified, moved(0), 0},
		"the Service is there":          {served, moved(0), 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := max(0, postponed(before, c.now, c.live, noon)); got != c.want {
				t.Errorf("postponed by %s, want %s", got, c.want)
			}
		})
	}
}

func TestUnreadySince(t *testing.T) {
	t.Parallel()
	made := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	stopped := made.Add(time.Hour)
	rolling := &conditions.Waiting{Reason: corev1api.ReasonRollingOut, Message: "1 of 3"}
	usable := conditions.Usable(corev1api.ReasonReplicasReady, "x")
	for name, c := range map[string]struct {
		dojo *corev1api.Dojo
		want time.Time
	}{
		"new":                       {tokyo(), made},
		"never served":              {tokyo(was(0, conditions.Unusable(corev1api.ReasonStarting, "x"), rolling)), made},
		"rolls out while it serves": {tokyo(was(3, usable, rolling)), stopped},
		"broken while it serves":    {tokyo(was(2, usable, &conditions.Terminal{Reason: "CrashLoopBackOff"})), stopped},
		"an outage":                 {tokyo(was(0, conditions.Unusable(corev1api.ReasonNoReadyReplicas, "x"), rolling)), stopped},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.dojo.CreationTimestamp = metav1.NewTime(made)
			for i := range c.dojo.Status.Conditions {
				c.dojo.Status.Conditions[i].LastTransitionTime = metav1.NewTime(stopped)
			}
			if got := unreadySince(c.dojo, c.dojo.Status.Conditions); !got.Equal(c.want) {
				t.Errorf("since %s, want %s", got, c.want)
			}
		})
	}
}
