// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"errors"
	"fmt"
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

// The names of the cache's indexes of pods, by the Dojo that they belong to.
const (
	OfApplication = "dojo"
	OfSchema      = "schema"
)

// JobOfDojo is the name of the cache's index of the schema's Jobs.
const JobOfDojo = "dojo"

// Ours selects the pods of the application and of the schema's Jobs.
func Ours() labels.Selector {
	values := []string{ownership.Application, ownership.Schema}
	names, err := labels.NewRequirement(ownership.NameLabel, selection.In, values)
	if err != nil {
		panic(err) // the names are constants
	}
	return labels.SelectorFromSet(ownership.ManagedLabels()).Add(*names)
}

// Strip leaves of a pod what this package reads.
func Strip(pod *corev1.Pod) {
	was := *pod
	ownership.Strip(pod)
	pod.CreationTimestamp = was.CreationTimestamp
	pod.Labels = map[string]string{}
	for _, key := range []string{ownership.NameLabel, ownership.InstanceLabel, RevisionLabel} {
		pod.Labels[key] = was.Labels[key]
	}
	pod.Status.Conditions = was.Status.Conditions
	pod.Status.InitContainerStatuses = was.Status.InitContainerStatuses
	pod.Status.ContainerStatuses = was.Status.ContainerStatuses
}

// AddIndexes adds the indexes that List and the schema need.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	return errors.Join(
		indexer.IndexField(ctx, &corev1.Pod{}, OfApplication, instanceOf(ownership.Application)),
		indexer.IndexField(ctx, &corev1.Pod{}, OfSchema, instanceOf(ownership.Schema)),
		indexer.IndexField(ctx, &batchv1.Job{}, JobOfDojo, instanceOf(ownership.Schema)))
}

// instanceOf indexes objects with the given name label by their Dojo.
func instanceOf(name string) client.IndexerFunc {
	return func(o client.Object) []string {
		if l := o.GetLabels(); l[ownership.NameLabel] == name {
			return []string{l[ownership.InstanceLabel]}
		}
		return nil
	}
}

// List returns the pods of a Dojo that an index holds.
func List(ctx context.Context, r apply.Reader, d *corev1api.Dojo, index string) ([]corev1.Pod, error) {
	var pods corev1.PodList
	of := client.MatchingFields{index: d.Name}
	if err := r.Cache.List(ctx, &pods, client.InNamespace(d.Namespace), of); err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	return pods.Items, nil
}

// Changed lets through a pod only when what keeps it from being ready changes, or when a pod of the
// schema has said why it failed, or has gone. How many pods are ready is the Deployment's to report.
var Changed = predicate.Funcs{
	CreateFunc: func(e event.CreateEvent) bool { return atStart(e.Object).Reason != "" },
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*corev1.Pod), e.ObjectNew.(*corev1.Pod)
		return atStart(before) != atStart(after) || after.Labels[ownership.NameLabel] == ownership.Schema &&
			TerminationMessage([]corev1.Pod{*before}) != TerminationMessage([]corev1.Pod{*after})
	},
	DeleteFunc: func(e event.DeleteEvent) bool {
		return atStart(e.Object).Reason != "" || e.Object.GetLabels()[ownership.NameLabel] == ownership.Schema
	},
	GenericFunc: func(event.GenericEvent) bool { return false },
}

// atStart is the trouble of a pod whose containers have just started: how long they have run is for
// the reconcile to see.
func atStart(pod client.Object) Trouble { return Of(time.Time{}, pod.(*corev1.Pod)) }
