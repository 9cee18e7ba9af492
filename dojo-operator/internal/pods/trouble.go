// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
)

// crashLoopRestarts allows for one or two restarts while a database starts.
const crashLoopRestarts = 3

// BackoffReset is the run time after which the kubelet resets a container's restart back-off.
const BackoffReset = 10 * time.Minute

// Trouble is the reason why a pod is not ready. Messages omit restart counts and other details that
// change often, because each change would write the status.
type Trouble struct {
	Reason, Message string
	// Persistent is true if a user must probably fix the trouble.
	Persistent bool
}

// RevisionLabel distinguishes the pods of a Deployment's revisions.
const RevisionLabel = appsv1.DefaultDeploymentUniqueLabelKey

// Worst returns the first persistent trouble, or else the first trouble, of the current revision.
func Worst(now time.Time, pods []corev1.Pod) Trouble {
	started, latest := startOfRevisions(pods)
	pods = slices.DeleteFunc(slices.Clone(pods), func(p corev1.Pod) bool {
		// Times have whole seconds, so two revisions may share the latest start. Keep both.
		return !started[p.Labels[RevisionLabel]].Equal(latest)
	})
	sorted := slices.SortedFunc(slices.Values(pods), func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	var found Trouble
	for i := range sorted {
		t := Of(now, &sorted[i])
		if t.Persistent {
			return t
		}
		if found.Reason == "" {
			found = t
		}
	}
	return found
}

// startOfRevisions returns the start of each revision, and the latest start. The newest pod may
// have a former revision, because the ReplicaSet of that revision still replaces drained pods.
func startOfRevisions(pods []corev1.Pod) (started map[string]time.Time, latest time.Time) {
	started = map[string]time.Time{}
	for i := range pods {
		revision, created := pods[i].Labels[RevisionLabel], pods[i].CreationTimestamp.Time
		if before, known := started[revision]; !known || created.Before(before) {
			started[revision] = created
		}
	}
	for _, first := range started {
		if first.After(latest) {
			latest = first
		}
	}
	return started, latest
}

// Of returns the trouble of a pod. The Reason is empty if the pod has no trouble.
func Of(now time.Time, pod *corev1.Pod) Trouble {
	if pod.DeletionTimestamp != nil {
		return Trouble{}
	}
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if t := containerTrouble(now, pod, c); t.Reason != "" {
			return t
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			message := fmt.Sprintf("pod %s: it cannot be scheduled; see %#q", pod.Name, describe(pod))
			return Trouble{corev1api.ReasonUnschedulable, message, false}
		}
	}
	return Trouble{}
}

func describe(pod *corev1.Pod) string {
	return fmt.Sprintf("kubectl describe pod %s -n %s", pod.Name, pod.Namespace)
}

func containerTrouble(now time.Time, pod *corev1.Pod, c corev1.ContainerStatus) Trouble {
	if c.Ready {
		return Trouble{}
	}
	running := c.State.Running
	lasting := running != nil && now.Sub(running.StartedAt.Time) > BackoffReset
	if ended := c.LastTerminationState.Terminated; ended != nil && c.RestartCount >= crashLoopRestarts && !lasting {
		return Trouble{corev1api.ReasonCrashLoopBackOff, fmt.Sprintf("pod %s: container %s keeps exiting with code %d; "+
			"see `kubectl logs %[1]s -n %[4]s -c %[2]s --previous`", pod.Name, c.Name, ended.ExitCode, pod.Namespace), true}
	}
	waiting := c.State.Waiting
	if waiting == nil {
		return Trouble{}
	}
	switch reason := waiting.Reason; reason {
	// The kubelet alternates between these two reasons while it retries.
	case "ErrImagePull", corev1api.ReasonImagePullBackOff:
		message := fmt.Sprintf("pod %s: the image %q cannot be pulled; see %#q", pod.Name, c.Image, describe(pod))
		return Trouble{corev1api.ReasonImagePullBackOff, message, true}
	case corev1api.ReasonInvalidImageName, corev1api.ReasonErrImageNeverPull, corev1api.ReasonCreateContainerConfigError,
		corev1api.ReasonCreateContainerError, corev1api.ReasonRunContainerError:
		message := waiting.Message
		if message == "" || reason == corev1api.ReasonCreateContainerError || reason == corev1api.ReasonRunContainerError {
			// The container runtime's message differs at each try.
			message = fmt.Sprintf("%s; see %#q", reason, describe(pod))
		}
		message = fmt.Sprintf("pod %s: container %s: %s", pod.Name, c.Name, message)
		return Trouble{Reason: reason, Message: message, Persistent: true}
	}
	return Trouble{}
}

// TerminationMessage returns the termination message of the youngest pod with a failed container.
// For our Jobs, it is the end of the container's log.
func TerminationMessage(pods []corev1.Pod) string {
	youngestFirst := func(a, b corev1.Pod) int { return b.CreationTimestamp.Compare(a.CreationTimestamp.Time) }
	sorted := slices.SortedFunc(slices.Values(pods), youngestFirst)
	for i := range sorted {
		for _, c := range sorted[i].Status.ContainerStatuses {
			if c.State.Terminated != nil && c.State.Terminated.ExitCode != 0 {
				return strings.TrimSpace(c.State.Terminated.Message)
			}
		}
	}
	return ""
}
