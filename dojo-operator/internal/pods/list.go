// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/libs/apply"
)

// Cache indexes of pods, with the names of Dojos as keys.
const (
	OfApplication = "dojo"
	OfSchema      = "schema"
	OfRelease     = "release"
)

// Cache indexes of Jobs, with the names of Dojos as keys.
const (
	JobOfSchema  = "schema"
	JobOfRelease = "release"
)

// Ours selects the pods of the application, of the schema's Jobs, and of release steps.
func Ours() labels.Selector {
	values := []string{ownership.Application, ownership.Schema, ownership.Release}
	names, err := labels.NewRequirement(ownership.NameLabel, selection.In, values)
	if err != nil {
		panic(err) // the names are constants
	}
	return labels.SelectorFromSet(ownership.ManagedLabels()).Add(*names)
}

// Strip removes the fields that this package does not read, before a pod enters the cache.
func Strip(pod *corev1.Pod) {
	was := *pod
	ownership.Strip(pod)
	pod.CreationTimestamp, pod.Spec.NodeName = was.CreationTimestamp, was.Spec.NodeName
	apply.ShareStrings(&pod.Spec.NodeName)
	pod.Labels = map[string]string{}
	for _, key := range []string{ownership.NameLabel, ownership.InstanceLabel, RevisionLabel} {
		pod.Labels[key] = was.Labels[key]
	}
	if revision := was.Annotations[ownership.RevisionAnnotation]; revision != "" && len(revision) <= maxRevision {
		pod.Annotations = map[string]string{ownership.RevisionAnnotation: revision}
	}
	if isEnded(was.Status.Phase) {
		pod.Status.Phase = was.Status.Phase
	}
	pod.Status.Conditions = firstFew(was.Status.Conditions)
	pod.Status.InitContainerStatuses = firstFew(was.Status.InitContainerStatuses)
	pod.Status.ContainerStatuses = firstFew(was.Status.ContainerStatuses)
	if pod.Labels[ownership.NameLabel] == ownership.Application {
		stripApplication(pod)
	}
}

// stripApplication also drops the owner and termination message, which only pods of Jobs need.
func stripApplication(pod *corev1.Pod) {
	pod.OwnerReferences = nil
	var kept []corev1.PodCondition
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status != corev1.ConditionTrue || c.Type == corev1.PodReady {
			apply.ShareStrings(&c.Type)
			apply.ShareStrings(&c.Status)
			apply.ShareStrings(&c.Reason)
			kept = append(kept, corev1.PodCondition{
				Type: c.Type, Status: c.Status, Reason: c.Reason, LastTransitionTime: c.LastTransitionTime,
			})
		}
	}
	pod.Status.Conditions = slices.Clip(kept)
	ready := func(c corev1.ContainerStatus) bool { return c.Ready }
	pod.Status.InitContainerStatuses = slices.DeleteFunc(pod.Status.InitContainerStatuses, ready)
	for i := range pod.Status.ContainerStatuses {
		pod.Status.ContainerStatuses[i] = usedStatus(&pod.Status.ContainerStatuses[i])
	}
	for i := range pod.Status.InitContainerStatuses {
		pod.Status.InitContainerStatuses[i] = usedStatus(&pod.Status.InitContainerStatuses[i])
	}
}

func usedStatus(c *corev1.ContainerStatus) corev1.ContainerStatus {
	read := corev1.ContainerStatus{Ready: c.Ready}
	if ended := c.State.Terminated; ended != nil {
		read.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: ended.ExitCode}
	}
	if c.Ready {
		return read
	}
	read.Name, read.Image, read.RestartCount = c.Name, c.Image, c.RestartCount
	read.State.Waiting, read.State.Running = c.State.Waiting, c.State.Running
	if ended := c.LastTerminationState.Terminated; ended != nil {
		read.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: ended.ExitCode}
	}
	return read
}

// maxRevision is the maximum length of a kept RevisionAnnotation, in bytes. The operator's own
// revisions are shorter.
const maxRevision = 64

// maxStatuses limits lists of statuses. A pod has one container, and injectors add a few.
const maxStatuses = 16

func firstFew[T any](all []T) []T {
	if len(all) <= maxStatuses {
		return all
	}
	return slices.Clone(all[:maxStatuses])
}

// AddIndexes adds the indexes of pods and of Jobs.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	return errors.Join(
		indexer.IndexField(ctx, &corev1.Pod{}, OfApplication, instanceOf(ownership.Application)),
		indexer.IndexField(ctx, &corev1.Pod{}, OfSchema, instanceOf(ownership.Schema)),
		indexer.IndexField(ctx, &corev1.Pod{}, OfRelease, instanceOf(ownership.Release)),
		indexer.IndexField(ctx, &batchv1.Job{}, JobOfSchema, instanceOf(ownership.Schema)),
		indexer.IndexField(ctx, &batchv1.Job{}, JobOfRelease, instanceOf(ownership.Release)))
}

func instanceOf(name string) client.IndexerFunc {
	return func(o client.Object) []string {
		if l := o.GetLabels(); l[ownership.NameLabel] == name {
			return []string{l[ownership.InstanceLabel]}
		}
		return nil
	}
}

// List returns the Dojo's pods from the cache. The argument index selects pods, for example
// [OfApplication].
func List(ctx context.Context, r apply.Reader, dojo *corev1api.Dojo, index string) ([]corev1.Pod, error) {
	var pods corev1.PodList
	of := client.MatchingFields{index: dojo.Name}
	if err := r.Cache.List(ctx, &pods, client.InNamespace(dojo.Namespace), of); err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	return pods.Items, nil
}

// isEnded reads the phase, because a pod that a node refused or evicted may have no container
// status.
func isEnded(phase corev1.PodPhase) bool {
	return phase == corev1.PodFailed || phase == corev1.PodSucceeded
}

// Ended reports whether a pod has failed or succeeded, or all its containers have terminated. The
// pod then has no session in a database.
func Ended(pod *corev1.Pod) bool {
	running := func(c corev1.ContainerStatus) bool { return c.State.Terminated == nil }
	all := pod.Status.ContainerStatuses
	return isEnded(pod.Status.Phase) || len(all) > 0 && !slices.ContainsFunc(all, running)
}

// Describe returns the number of pods, and the name and node of one of them; "" for no pods.
func Describe(all []corev1.Pod) string {
	if len(all) == 0 {
		return ""
	}
	first := slices.MinFunc(all, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	node := ""
	if first.Spec.NodeName != "" {
		node = " on the node " + first.Spec.NodeName
	}
	return fmt.Sprintf("%d still running, such as %s%s", len(all), first.Name, node)
}

func ofJob(pod client.Object) bool {
	name := pod.GetLabels()[ownership.NameLabel]
	return name == ownership.Schema || name == ownership.Release
}

// Changed accepts a change of a pod's trouble, and the failure or deletion of a Job's pod. It also
// accepts the end of a release pod, because the pod's Job may be gone.
var Changed = predicate.Funcs{
	CreateFunc: func(e event.CreateEvent) bool { return atStart(e.Object).Reason != "" },
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*corev1.Pod), e.ObjectNew.(*corev1.Pod)
		return atStart(before) != atStart(after) || ofJob(after) &&
			TerminationMessage([]corev1.Pod{*before}) != TerminationMessage([]corev1.Pod{*after}) ||
			after.Labels[ownership.NameLabel] == ownership.Release && Ended(before) != Ended(after)
	},
	DeleteFunc: func(e event.DeleteEvent) bool {
		return atStart(e.Object).Reason != "" || ofJob(e.Object)
	},
	GenericFunc: func(event.GenericEvent) bool { return false },
}

// atStart ignores the present time, so the trouble depends only on the pod.
func atStart(pod client.Object) Trouble { return Of(time.Time{}, pod.(*corev1.Pod)) }
