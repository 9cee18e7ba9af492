// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func tokyo() *corev1api.Dojo {
	return &corev1api.Dojo{ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: "tokyo"}}
}

func pod(name string, containers ...corev1.ContainerStatus) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "school", Name: name, Labels: ownership.Labels(tokyo(), ownership.Application),
		},
		Status: corev1.PodStatus{ContainerStatuses: containers},
	}
}

func waiting(reason, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Name: "dojo", Image: "dojo:9",
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
	}
}

func crashed(times int32) corev1.ContainerStatus {
	c := waiting("CrashLoopBackOff", "back-off 40s restarting failed container")
	c.RestartCount = times
	c.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 2}
	return c
}

func running(c corev1.ContainerStatus, since time.Duration) corev1.ContainerStatus {
	c.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(noon.Add(-since))}}
	return c
}

func unscheduled(name, reason, message string) corev1.Pod {
	p := pod(name)
	p.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: reason, Message: message,
	}}
	return p
}

func TestOf(t *testing.T) {
	t.Parallel()
	ready := running(crashed(9), 0)
	ready.Ready = true
	leaving := pod("a", crashed(9))
	leaving.DeletionTimestamp = &metav1.Time{Time: noon}
	inInit := pod("a", waiting("PodInitializing", ""))
	inInit.Status.InitContainerStatuses = []corev1.ContainerStatus{waiting("ErrImageNeverPull", "not on the node")}
	placed := unscheduled("a", corev1.PodReasonUnschedulable, "0/3 nodes")
	placed.Status.Conditions[0].Status = corev1.ConditionTrue
	trouble := func(reason, message string) Trouble {
		return Trouble{Reason: reason, Message: "pod a: " + message, Persistent: true}
	}
	crash := trouble("CrashLoopBackOff", "container dojo keeps exiting with code 2; see `kubectl logs a -n school -c dojo --previous`")
	noImage := trouble("ImagePullBackOff", "the image \"dojo:9\" cannot be pulled; see `kubectl describe pod a -n school`")
	notRun := trouble("RunContainerError", "container dojo: RunContainerError; see `kubectl describe pod a -n school`")

	cases := map[string]struct {
		pod  corev1.Pod
		want Trouble
	}{
		"nothing known yet":                     {pod("a"), Trouble{}},
		"being created":                         {pod("a", waiting("ContainerCreating", "")), Trouble{}},
		"ready after crashes":                   {pod("a", ready), Trouble{}},
		"being deleted":                         {leaving, Trouble{}},
		"crashed twice":                         {pod("a", crashed(2)), Trouble{}},
		"crashed three times":                   {pod("a", crashed(3)), crash},
		"crashed, and runs again":               {pod("a", running(crashed(9), 0)), crash},
		"crashed, and runs for 10 minutes":      {pod("a", running(crashed(9), 10*time.Minute)), crash},
		"crashed, and runs for over 10 minutes": {pod("a", running(crashed(9), 10*time.Minute+time.Second)), Trouble{}},
		"restarted, never crashed":              {pod("a", corev1.ContainerStatus{Name: "dojo", RestartCount: 9}), Trouble{}},
		"image cannot be pulled":                {pod("a", waiting("ErrImagePull", "code 503")), noImage},
		"image pull backs off":                  {pod("a", waiting("ImagePullBackOff", "Back-off pulling")), noImage},
		"invalid name of an image": {pod("a", waiting("InvalidImageName", "bad:::name")),
			trouble("InvalidImageName", "container dojo: bad:::name")},
		"image never pulled, not on the node": {inInit, trouble("ErrImageNeverPull", "container dojo: not on the node")},
		"key of a Secret missing": {pod("a", waiting("CreateContainerConfigError", "no DB_PASS")),
			trouble("CreateContainerConfigError", "container dojo: no DB_PASS")},
		"container not created": {pod("a", waiting("CreateContainerError", "")),
			trouble("CreateContainerError", "container dojo: CreateContainerError; see `kubectl describe pod a -n school`")},
		"container not run":                    {pod("a", waiting("RunContainerError", "no such file")), notRun},
		"one container ready, another not run": {pod("a", ready, waiting("RunContainerError", "x")), notRun},
		"no suitable node": {unscheduled("a", corev1.PodReasonUnschedulable, "0/3 nodes"),
			Trouble{Reason: "Unschedulable", Message: "pod a: it cannot be scheduled; see `kubectl describe pod a -n school`"}},
		"held by a scheduling gate":        {unscheduled("a", corev1.PodReasonSchedulingGated, ""), Trouble{}},
		"scheduled after a failed attempt": {placed, Trouble{}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, Of(noon, &c.pod)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTroubleDoesNotChangeByItself(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ before, after corev1.Pod }{
		"another crash": {pod("a", crashed(4)), pod("a", crashed(5))},
		"pull failed, next attempt later": {pod("a", waiting("ErrImagePull", "code 503")),
			pod("a", waiting("ImagePullBackOff", "Back-off pulling"))},
		"other nodes were tried": {
			unscheduled("a", corev1.PodReasonUnschedulable, "0/3 nodes"),
			unscheduled("a", corev1.PodReasonUnschedulable, "0/4 nodes are available"),
		},
		"crashed, then runs again": {pod("a", crashed(4)), pod("a", running(crashed(4), 0))},
		"another runtime error": {pod("a", waiting("RunContainerError", "id 1")),
			pod("a", waiting("RunContainerError", "id 2"))},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, after := Of(noon, &c.before), Of(noon, &c.after)
			if before != after || before.Reason == "" {
				t.Errorf("%+v became %+v", before, after)
			}
		})
	}
}

func TestWorst(t *testing.T) {
	t.Parallel()
	unschedulable := func(name string) corev1.Pod { return unscheduled(name, corev1.PodReasonUnschedulable, "0/3 nodes") }
	fine, lost := pod("c"), unschedulable("a")
	broken, alsoBroken := pod("b", crashed(3)), pod("d", waiting("InvalidImageName", "x"))
	of := func(p corev1.Pod, revision string, later time.Duration) corev1.Pod {
		p = *p.DeepCopy()
		p.Labels[RevisionLabel], p.CreationTimestamp = revision, metav1.NewTime(noon.Add(later))
		return p
	}
	cases := map[string]struct {
		pods []corev1.Pod
		want string // the beginning of the message
	}{
		"no pods":                     {nil, ""},
		"no trouble":                  {[]corev1.Pod{fine}, ""},
		"one of two pods has trouble": {[]corev1.Pod{fine, lost}, "pod a"},
		"a persistent trouble outranks a transient one": {[]corev1.Pod{lost, broken}, "pod b"},
		"two persistent troubles, ordered by name":      {[]corev1.Pod{alsoBroken, broken}, "pod b"},
		"a healthy revision replaces a broken one":      {[]corev1.Pod{of(broken, "old", 0), of(fine, "new", 1)}, ""},
		"a broken revision replaces a healthy one":      {[]corev1.Pod{of(fine, "old", 0), of(broken, "new", 1)}, "pod b"},
		"a broken revision, and a newer pod of the former revision": {
			[]corev1.Pod{of(fine, "old", 0), of(broken, "new", 1), of(alsoBroken, "new", 2), of(pod("e"), "old", 3)}, "pod b",
		},
		"two broken revisions created in the same second":                   {[]corev1.Pod{of(alsoBroken, "b", 0), of(broken, "a", 0)}, "pod b"},
		"broken revision b, healthy revision a, created in the same second": {[]corev1.Pod{of(fine, "a", 0), of(broken, "b", 0)}, "pod b"},
		"broken revision a, healthy revision b, created in the same second": {[]corev1.Pod{of(broken, "a", 0), of(fine, "b", 0)}, "pod b"},
		"two transient troubles, ordered by name":                           {[]corev1.Pod{unschedulable("z"), lost}, "pod a"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Worst(noon, c.pods).Message
			if before, _, _ := strings.Cut(got, ":"); before != c.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestTerminationMessage(t *testing.T) {
	t.Parallel()
	ended := func(code int32, message string, after time.Duration) corev1.Pod {
		p := pod("a", corev1.ContainerStatus{State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: message},
		}})
		p.CreationTimestamp = metav1.NewTime(noon.Add(after))
		return p
	}
	runs := pod("b", running(corev1.ContainerStatus{}, 0))
	runs.CreationTimestamp = metav1.NewTime(noon.Add(time.Hour))
	cases := map[string]struct {
		pods []corev1.Pod
		want string
	}{
		"no pods":                               {nil, ""},
		"one runs":                              {[]corev1.Pod{runs}, ""},
		"one has completed":                     {[]corev1.Pod{ended(0, "done", 0)}, ""},
		"one has failed":                        {[]corev1.Pod{ended(3, "ERROR: no\n", 0)}, "ERROR: no"},
		"the younger of two failed pods":        {[]corev1.Pod{ended(3, "first", 0), ended(2, "second", time.Minute)}, "second"},
		"one failed, another runs":              {[]corev1.Pod{ended(3, "first", 0), runs}, "first"},
		"the youngest failed without a message": {[]corev1.Pod{ended(3, "first", 0), ended(3, "", time.Minute)}, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := TerminationMessage(c.pods); got != c.want {
				t.Errorf("got %q", got)
			}
		})
	}
}
