// SPDX-License-Identifier: Apache-2.0

// Package world reads one Dojo and everything that belongs to it. Rendering and
// planning work on the World alone, so they are pure.
package world

import (
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
)

// Ref names an object in the namespace of the Dojo.
type Ref struct{ Resource, Name string }

// World holds one Dojo with its objects. Objects that do not exist, or that the user may not read,
// are nil or missing.
type World struct {
	// Now is when it was read.
	Now  time.Time
	Dojo *corev1api.Dojo
	// Objects are the children whose names are known. Secrets are metadata alone.
	Objects map[Ref]client.Object
	// Pods of the application, Instances of the Cluster.
	Pods, Instances []corev1.Pod
	// Jobs apply the schema.
	Jobs []batchv1.Job
	// Backups of the Cluster, or of a former Cluster of its name.
	Backups []cnpgv1.Backup
	// Stores are the ObjectStores of the barman-cloud plugin in the namespace.
	Stores []unstructured.Unstructured
	// Events are about the Dojo and its children, the newest first.
	Events []corev1.Event
	// Firing are the names of alerts of the Dojo that fire; nil while that is not known.
	Firing []string
	// Denied lists resources that the user may not read, Absent resources that the cluster lacks.
	Denied, Absent map[string]bool
}

// Find returns a child, nil if it was not read.
func Find[T client.Object](w *World, kind kinds.Kind, name string) (found T) {
	if o, ok := w.Objects[Ref{kind.Resource(), name}].(T); ok {
		return o
	}
	return found
}

// Unreadable reports whether objects of a kind may exist that the user may not read.
func (w *World) Unreadable(kind kinds.Kind) bool { return w.Denied[kind.Resource()] }

// IsReady reports whether a pod passes its readiness probe.
func IsReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
