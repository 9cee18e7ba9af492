package dojo

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/google/go-cmp/cmp"
)

func pod(name string, containers ...corev1.ContainerStatus) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: name, Labels: labels(tokyo())},
		Status:     corev1.PodStatus{ContainerStatuses: containers},
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

func unscheduled(name, reason string) corev1.Pod {
	p := pod(name)
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: reason, Message: "0/3 nodes"}}
	return p
}

func TestTroubleOf(t *testing.T) {
	t.Parallel()
	const crash = "pod a: container dojo keeps ending (exit code 2); see `kubectl logs a --previous`"
	ready := crashed(9)
	ready.Ready, ready.State = true, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	again := running(crashed(9))
	for10m, lasting := again, again
	for10m.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(noon.Add(-10 * time.Minute))}
	lasting.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(noon.Add(-10*time.Minute - time.Second))}
	leaving := pod("a", crashed(9))
	leaving.DeletionTimestamp = &metav1.Time{Time: noon}
	inInit := pod("a", waiting("PodInitializing", ""))
	inInit.Status.InitContainerStatuses = []corev1.ContainerStatus{waiting("ErrImageNeverPull", "not on the node")}
	placed := unscheduled("a", corev1.PodReasonUnschedulable)
	placed.Status.Conditions[0].Status = corev1.ConditionTrue

	cases := map[string]struct {
		pod  corev1.Pod
		want trouble
	}{
		"nothing known yet":            {pod("a"), trouble{}},
		"being created":                {pod("a", waiting("ContainerCreating", "")), trouble{}},
		"ready after crashes":          {pod("a", ready), trouble{}},
		"on its way out":               {leaving, trouble{}},
		"crashed twice":                {pod("a", crashed(2)), trouble{}},
		"crashed three times":          {pod("a", crashed(3)), trouble{"CrashLoopBackOff", crash, true}},
		"crashed, runs once more":      {pod("a", again), trouble{"CrashLoopBackOff", crash, true}},
		"crashed, runs for 10 minutes": {pod("a", for10m), trouble{"CrashLoopBackOff", crash, true}},
		"crashed, runs for longer":     {pod("a", lasting), trouble{}},
		"restarted, never crashed":     {pod("a", corev1.ContainerStatus{Name: "dojo", RestartCount: 9}), trouble{}},
		"image cannot be pulled": {pod("a", waiting("ErrImagePull", "code 503")),
			trouble{"ImagePullBackOff", "pod a: the image \"dojo:9\" cannot be pulled; `kubectl describe pod a` says why", true}},
		"image, backing off": {pod("a", waiting("ImagePullBackOff", "Back-off pulling")),
			trouble{"ImagePullBackOff", "pod a: the image \"dojo:9\" cannot be pulled; `kubectl describe pod a` says why", true}},
		"no image name":     {pod("a", waiting("InvalidImageName", "bad:::name")), trouble{"InvalidImageName", "pod a: container dojo: bad:::name", true}},
		"never pulled":      {inInit, trouble{"ErrImageNeverPull", "pod a: container dojo: not on the node", true}},
		"key missing":       {pod("a", waiting("CreateContainerConfigError", "no DB_PASS")), trouble{"CreateContainerConfigError", "pod a: container dojo: no DB_PASS", true}},
		"not created":       {pod("a", waiting("CreateContainerError", "")), trouble{"CreateContainerError", "pod a: container dojo: CreateContainerError; `kubectl describe pod a` says why", true}},
		"not run":           {pod("a", waiting("RunContainerError", "no such file")), trouble{"RunContainerError", "pod a: container dojo: RunContainerError; `kubectl describe pod a` says why", true}},
		"second of two":     {pod("a", ready, waiting("RunContainerError", "x")), trouble{"RunContainerError", "pod a: container dojo: RunContainerError; `kubectl describe pod a` says why", true}},
		"no node":           {unscheduled("a", corev1.PodReasonUnschedulable), trouble{"Unschedulable", "pod a: no node takes it; `kubectl describe pod a` says why", false}},
		"held by a gate":    {unscheduled("a", corev1.PodReasonSchedulingGated), trouble{}},
		"placed in the end": {placed, trouble{}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, troubleOf(noon, &c.pod), cmp.AllowUnexported(trouble{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What changes by itself from one minute to the next must not change the message: each time would be a write of the status.
func TestTroubleHoldsStill(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ before, after corev1.Pod }{
		"another crash":           {pod("a", crashed(4)), pod("a", crashed(5))},
		"pull tried again":        {pod("a", waiting("ErrImagePull", "code 503")), pod("a", waiting("ImagePullBackOff", "Back-off pulling"))},
		"other nodes were tried":  {unscheduled("a", corev1.PodReasonUnschedulable), relayed(unscheduled("a", corev1.PodReasonUnschedulable))},
		"crashed, then runs once": {pod("a", crashed(4)), pod("a", running(crashed(4)))},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			before, after := troubleOf(noon, &c.before), troubleOf(noon, &c.after)
			if before != after || before.reason == "" {
				t.Errorf("%+v became %+v", before, after)
			}
		})
	}
}

func relayed(p corev1.Pod) corev1.Pod {
	p.Status.Conditions[0].Message = "0/4 nodes are available"
	return p
}

func running(c corev1.ContainerStatus) corev1.ContainerStatus {
	c.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(noon)}}
	return c
}

func TestWorst(t *testing.T) {
	t.Parallel()
	fine, lost := pod("c"), unscheduled("a", corev1.PodReasonUnschedulable)
	broken, alsoBroken := pod("b", crashed(3)), pod("d", waiting("InvalidImageName", "x"))
	of := func(p corev1.Pod, revision string, later time.Duration) corev1.Pod {
		p = *p.DeepCopy()
		p.Labels[revisionLabel], p.CreationTimestamp = revision, metav1.NewTime(noon.Add(later))
		return p
	}
	cases := map[string]struct {
		pods []corev1.Pod
		want string // how the message begins
	}{
		"no pods":                             {nil, ""},
		"all is well":                         {[]corev1.Pod{fine}, ""},
		"one has trouble":                     {[]corev1.Pod{fine, lost}, "pod a"},
		"a persistent trouble before another": {[]corev1.Pod{lost, broken}, "pod b"},
		"two persistent ones: by name":        {[]corev1.Pod{alsoBroken, broken}, "pod b"},
		"a broken revision being replaced":    {[]corev1.Pod{of(broken, "old", 0), of(fine, "new", 1)}, ""},
		"a broken revision replacing":         {[]corev1.Pod{of(fine, "old", 0), of(broken, "new", 1)}, "pod b"},
		"broken, and a pod before it is made again": {
			[]corev1.Pod{of(fine, "old", 0), of(broken, "new", 1), of(alsoBroken, "new", 2), of(pod("e"), "old", 3)}, "pod b",
		},
		"two revisions of one second": {[]corev1.Pod{of(alsoBroken, "b", 0), of(broken, "a", 0)}, "pod b"},
		"two that may pass: by name":  {[]corev1.Pod{unscheduled("z", corev1.PodReasonUnschedulable), lost}, "pod a"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := worst(noon, c.pods).message
			if before, _, _ := strings.Cut(got, ":"); before != c.want {
				t.Errorf("got %q", got)
			}
		})
	}
}
