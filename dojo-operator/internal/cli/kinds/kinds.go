// SPDX-License-Identifier: Apache-2.0

// Package kinds lists the kinds that kubectl dojo reads and writes.
package kinds

import (
	"slices"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	discordv1alpha1 "jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/dojo-operator/internal/exposure"
	"jutsu.com/operators/dojo-operator/internal/monitoring"
	"jutsu.com/operators/dojo-operator/internal/optionalkinds"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/kubectl"
)

// Kind is a GroupVersionKind with its plural name in API paths.
type Kind = kubectl.Kind

// From converts an [optionalkinds.Kind] of the operator to a Kind.
func From(k optionalkinds.Kind) Kind {
	return Kind{GroupVersionKind: k.GroupVersionKind, Plural: k.Plural}
}

// The kinds that the plugin reads or writes.
var (
	Dojo         = kubectl.KindOf(corev1api.GroupVersion, "Dojo", "dojos")
	Pod          = kubectl.KindOf(corev1.SchemeGroupVersion, "Pod", "pods")
	Service      = kubectl.KindOf(corev1.SchemeGroupVersion, "Service", "services")
	Secret       = kubectl.KindOf(corev1.SchemeGroupVersion, "Secret", "secrets")
	ConfigMap    = kubectl.KindOf(corev1.SchemeGroupVersion, "ConfigMap", "configmaps")
	Event        = kubectl.KindOf(corev1.SchemeGroupVersion, "Event", "events")
	Namespace    = kubectl.KindOf(corev1.SchemeGroupVersion, "Namespace", "namespaces").Global()
	Deployment   = kubectl.KindOf(appsv1.SchemeGroupVersion, "Deployment", "deployments")
	Job          = kubectl.KindOf(batchv1.SchemeGroupVersion, "Job", "jobs")
	Budget       = kubectl.KindOf(policyv1.SchemeGroupVersion, "PodDisruptionBudget", "poddisruptionbudgets")
	Autoscaler   = kubectl.KindOf(autoscalingv2.SchemeGroupVersion, "HorizontalPodAutoscaler", "horizontalpodautoscalers")
	Ingress      = kubectl.KindOf(networkingv1.SchemeGroupVersion, "Ingress", "ingresses")
	Lease        = kubectl.KindOf(coordinationv1.SchemeGroupVersion, "Lease", "leases")
	StorageClass = kubectl.KindOf(storagev1.SchemeGroupVersion, "StorageClass", "storageclasses").Global()
	AccessReview = kubectl.AccessReview

	Cluster  = From(cnpg.ClusterKind)
	Role     = From(cnpg.RoleKind)
	Database = From(cnpg.DatabaseKind)
	Schedule = From(cnpg.ScheduleKind)
	Backup   = From(cnpg.BackupKind)
	Pooler   = From(cnpg.PoolerKind)

	ObjectStore = kubectl.KindOf(
		schema.GroupVersion{Group: "barmancloud.cnpg.io", Version: "v1"}, "ObjectStore", "objectstores")

	Prometheus     = kubectl.KindOf(prometheusV1, "Prometheus", "prometheuses")
	Alertmanager   = kubectl.KindOf(prometheusV1, "Alertmanager", "alertmanagers")
	ServiceMonitor = known(monitoring.Kinds(), "ServiceMonitor")
	Rule           = known(monitoring.Kinds(), "PrometheusRule")
	Route          = known(monitoring.Kinds(), "AlertmanagerConfig")
	Channel        = known(monitoring.Kinds(), "DiscordChannel")
	HTTPRoute      = known(exposure.Kinds(), "HTTPRoute")
)

var prometheusV1 = schema.GroupVersion{Group: "monitoring.coreos.com", Version: "v1"}

func known(all []optionalkinds.Kind, kind string) Kind {
	i := slices.IndexFunc(all, func(k optionalkinds.Kind) bool { return k.Kind == kind })
	return From(all[i])
}

// All returns every kind.
func All() []Kind {
	return []Kind{
		Dojo, Pod, Service, Secret, ConfigMap, Event, Namespace, Deployment, Job, Budget, Autoscaler, Ingress, Lease,
		StorageClass, AccessReview, Cluster, Role, Database, Schedule, Backup, Pooler, ObjectStore, Prometheus, Alertmanager,
		ServiceMonitor, Rule, Route, Channel, HTTPRoute,
	}
}

// Of returns the Kind of a GroupVersionKind. For an unknown kind, Plural equals Kind.
func Of(gvk schema.GroupVersionKind) Kind {
	for _, k := range All() {
		if k.GroupVersionKind == gvk {
			return k
		}
	}
	return Kind{GroupVersionKind: gvk, Plural: gvk.Kind}
}

// New returns an empty object with the Go type in Scheme, or else an unstructured one.
func New(gvk schema.GroupVersionKind) client.Object {
	if o, err := Scheme().New(gvk); err == nil {
		return o.(client.Object)
	}
	return Kind{GroupVersionKind: gvk}.Object()
}

// Scheme returns the scheme of all kinds with Go types.
var Scheme = kubectl.SchemeOf(
	corev1api.AddToScheme, clientgoscheme.AddToScheme, cnpgv1.AddToScheme, discordv1alpha1.AddToScheme)
