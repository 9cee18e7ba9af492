package dojo

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
)

// crashes is how many restarts make a loop: one or two happen while a database comes up.
const crashes = 3

// backoffReset is for how long a container must run until the kubelet takes it for healthy and forgets its restarts.
const backoffReset = 10 * time.Minute

// trouble is what keeps one pod from being ready. The messages leave out what changes by itself from one minute to the next
// (restart counts, nodes that were tried), or every such change would be a write to the status.
type trouble struct {
	reason, message string
	// persistent trouble does not go away without somebody's help.
	persistent bool
}

// revisionLabel tells the pods of one revision of a Deployment from those of another.
const revisionLabel = appsv1.DefaultDeploymentUniqueLabelKey

// worst returns the trouble to tell of: a persistent one before any other, and then by the pod's name, so that the answer
// is the same for the same pods. Only the latest revision counts: pods that are being replaced may well be broken.
func worst(now time.Time, pods []corev1.Pod) trouble {
	latest := latestRevision(pods)
	pods = slices.DeleteFunc(slices.Clone(pods), func(p corev1.Pod) bool { return p.Labels[revisionLabel] != latest })
	sorted := slices.SortedFunc(slices.Values(pods), func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	var found trouble
	for i := range sorted {
		t := troubleOf(now, &sorted[i])
		if t.persistent {
			return t
		}
		if found.reason == "" {
			found = t
		}
	}
	return found
}

// latestRevision is the revision whose first pod came last. Its youngest pod does not tell: while a rollout is stuck, the ReplicaSet before replaces what
// is drained from a node.
func latestRevision(pods []corev1.Pod) string {
	first := map[string]time.Time{}
	for i := range pods {
		revision, created := pods[i].Labels[revisionLabel], pods[i].CreationTimestamp.Time
		if before, known := first[revision]; !known || created.Before(before) {
			first[revision] = created
		}
	}
	latest := ""
	for _, revision := range slices.Sorted(maps.Keys(first)) { // of two that came in the same second always the same
		if latest == "" || first[revision].After(first[latest]) {
			latest = revision
		}
	}
	return latest
}

func troubleOf(now time.Time, pod *corev1.Pod) trouble {
	if pod.DeletionTimestamp != nil {
		return trouble{}
	}
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if t := containerTrouble(now, pod.Name, c); t.reason != "" {
			return t
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return trouble{
				reason:  corev1api.ReasonUnschedulable,
				message: fmt.Sprintf("pod %s: no node takes it; `kubectl describe pod %s` says why", pod.Name, pod.Name),
			}
		}
	}
	return trouble{}
}

func containerTrouble(now time.Time, pod string, c corev1.ContainerStatus) trouble {
	if c.Ready {
		return trouble{}
	}
	running := c.State.Running
	lasting := running != nil && now.Sub(running.StartedAt.Time) > backoffReset
	if ended := c.LastTerminationState.Terminated; ended != nil && c.RestartCount >= crashes && !lasting {
		return trouble{
			reason:     corev1api.ReasonCrashLoopBackOff,
			message:    fmt.Sprintf("pod %s: container %s keeps ending (exit code %d); see `kubectl logs %s --previous`", pod, c.Name, ended.ExitCode, pod),
			persistent: true,
		}
	}
	waiting := c.State.Waiting
	if waiting == nil {
		return trouble{}
	}
	switch reason := waiting.Reason; reason {
	// The kubelet goes back and forth between these two while it tries again.
	case "ErrImagePull", corev1api.ReasonImagePullBackOff:
		return trouble{
			reason:     corev1api.ReasonImagePullBackOff,
			message:    fmt.Sprintf("pod %s: the image %q cannot be pulled; `kubectl describe pod %s` says why", pod, c.Image, pod),
			persistent: true,
		}
	case corev1api.ReasonInvalidImageName, corev1api.ReasonErrImageNeverPull, corev1api.ReasonCreateContainerConfigError,
		corev1api.ReasonCreateContainerError, corev1api.ReasonRunContainerError:
		message := waiting.Message
		if message == "" || reason == corev1api.ReasonCreateContainerError || reason == corev1api.ReasonRunContainerError {
			message = fmt.Sprintf("%s; `kubectl describe pod %s` says why", reason, pod) // the runtime's own words differ at each try
		}
		return trouble{reason: reason, message: fmt.Sprintf("pod %s: container %s: %s", pod, c.Name, message), persistent: true}
	}
	return trouble{}
}
