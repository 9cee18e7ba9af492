// SPDX-License-Identifier: Apache-2.0

// Package world reads a Dojo and its objects into a World, for packages that do no I/O.
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
	"jutsu.com/operators/dojo-operator/internal/credentials"
	"jutsu.com/operators/dojo-operator/internal/monitoring"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/dojo-operator/internal/postgres/pooler"
)

// Ref identifies an object in the namespace of the Dojo.
type Ref struct{ Resource, Name string }

// World has a Dojo and its objects that exist and that the user may read.
type World struct {
	Now  time.Time
	Dojo *corev1api.Dojo
	// Objects has the children with names that follow from the spec; of Secrets only the metadata.
	Objects map[Ref]client.Object
	// Pods are the pods of the application. Instances are the pods of the Cluster.
	Pods, Instances []corev1.Pod
	// Jobs run SQL in the Dojo's database, such as initSQL.
	Jobs []batchv1.Job
	// Backups are the Backups of the Cluster, and of former Clusters with the same name.
	Backups []cnpgv1.Backup
	// Others names other users of the Dojo's Cluster in the namespace, such as "Dojo kyoto" and
	// "Database reports".
	Others []string
	// Stores are barman-cloud's ObjectStores in the namespace.
	Stores []unstructured.Unstructured
	// Events are about the Dojo and its children, the latest first.
	Events []corev1.Event
	// Firing has the names of the Dojo's firing alerts; nil if unknown.
	Firing []string
	// Denied has resources that the user may not read. Absent has resources that the cluster lacks.
	Denied, Absent map[string]bool
}

// Find returns a child, or nil if the World lacks the child.
func Find[T client.Object](w *World, kind kinds.Kind, name string) (found T) {
	if o, ok := w.Objects[Ref{kind.Resource(), name}].(T); ok {
		return o
	}
	return found
}

// Unreadable is true if the user may not read a kind. The World may then lack existing objects.
func (w *World) Unreadable(kind kinds.Kind) bool { return w.Denied[kind.Resource()] }

// IsReady reports whether a pod has the condition Ready=True.
func IsReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// Child is an object that a Dojo has or can have.
type Child struct {
	Kind kinds.Kind
	Name string
	// Wanted is true if the object must exist. A PodDisruptionBudget, for example, may be absent.
	Wanted bool
	// Foreign reports whether the Dojo uses the object without owning it.
	Foreign bool
}

// Children lists the possible objects of a Dojo in the order of `kubectl dojo tree`.
func Children(d *corev1api.Dojo) []Child {
	all := []Child{
		{Kind: kinds.Deployment, Name: d.Name, Wanted: true},
		{Kind: kinds.Service, Name: d.Name, Wanted: true},
		{Kind: kinds.Budget, Name: d.Name},
		{Kind: kinds.Autoscaler, Name: d.Name, Wanted: d.Spec.Autoscaling != nil},
		{Kind: kinds.Secret, Name: credentials.Name(d), Wanted: true},
	}
	all = append(all, databaseChildren(d)...)
	exposure := d.Spec.Exposure
	monitored := monitoring.Monitored(d)
	alerts := d.Spec.Alerts != nil
	all = append(all,
		Child{Kind: kinds.Ingress, Name: d.Name, Wanted: exposure != nil && exposure.Gateway == nil},
		Child{Kind: kinds.HTTPRoute, Name: d.Name, Wanted: exposure != nil && exposure.Gateway != nil},
		Child{Kind: kinds.ServiceMonitor, Name: d.Name, Wanted: monitored},
		Child{Kind: kinds.Rule, Name: d.Name, Wanted: monitored && !d.Spec.Suspend},
		Child{Kind: kinds.Route, Name: d.Name, Wanted: alerts},
		Child{Kind: kinds.Secret, Name: monitoring.SecretName(d), Wanted: alerts},
	)
	if channel := monitoring.ChannelName(d); channel != "" {
		foreign := d.Spec.Alerts.Discord.ChannelRef != nil
		all = append(all, Child{Kind: kinds.Channel, Name: channel, Wanted: true, Foreign: foreign})
	}
	return all
}

func databaseChildren(d *corev1api.Dojo) []Child {
	pg := d.Spec.Postgres
	if pg == nil {
		return nil
	}
	own := pg.Cluster != nil
	all := []Child{{Kind: kinds.Cluster, Name: cnpg.ClusterName(d), Wanted: true, Foreign: !own}}
	if own {
		all = append(all,
			Child{Kind: kinds.Pooler, Name: cnpg.PoolerName(d), Wanted: pooler.Wanted(d) != nil},
			Child{Kind: kinds.Schedule, Name: cnpg.ScheduleName(d), Wanted: pg.Cluster.Backup != nil})
	}
	all = append(all, Child{Kind: kinds.Database, Name: cnpg.ObjectName(d), Wanted: true})
	for _, login := range []cnpg.Login{cnpg.Owner, cnpg.Second} {
		all = append(all,
			Child{Kind: kinds.Role, Name: login.ObjectName(d), Wanted: login == cnpg.Owner},
			Child{Kind: kinds.Secret, Name: login.ObjectName(d), Wanted: login == cnpg.Owner})
	}
	return all
}
