// SPDX-License-Identifier: Apache-2.0

// Package kinds lists the kinds that kubectl dojo reads and writes. Their names in paths are known
// here, so no command needs discovery, which costs dozens of requests.
package kinds

import (
	"slices"
	"sync"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	corev1api "jutsu.com/operators/apis/core/v1"
	discordv1alpha1 "jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/dojo-operator/internal/exposure"
	"jutsu.com/operators/dojo-operator/internal/monitoring"
	"jutsu.com/operators/dojo-operator/internal/optionalkinds"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
)

// Kind is a kind of the API with its name in paths.
type Kind struct {
	schema.GroupVersionKind
	// Plural is its name in paths, such as "databases".
	Plural string
	// ClusterScoped reports whether its objects have no namespace.
	ClusterScoped bool
}

// Object returns an empty object of the kind.
func (k Kind) Object() *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(k.GroupVersionKind)
	return o
}

// List returns an empty list of the kind.
func (k Kind) List() *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(k.GroupVersion().WithKind(k.Kind + "List"))
	return list
}

// Resource returns the name in which the API server's errors and RBAC know the kind, such as
// "clusters.postgresql.cnpg.io".
func (k Kind) Resource() string {
	return schema.GroupResource{Group: k.Group, Resource: k.Plural}.String()
}

func of(group schema.GroupVersion, kind, plural string) Kind {
	return Kind{GroupVersionKind: group.WithKind(kind), Plural: plural}
}

func from(k optionalkinds.Kind) Kind {
	return Kind{GroupVersionKind: k.GroupVersionKind, Plural: k.Plural}
}

func global(k Kind) Kind {
	k.ClusterScoped = true
	return k
}

// The kinds that commands name.
var (
	Dojo         = of(corev1api.GroupVersion, "Dojo", "dojos")
	Pod          = of(corev1.SchemeGroupVersion, "Pod", "pods")
	Service      = of(corev1.SchemeGroupVersion, "Service", "services")
	Secret       = of(corev1.SchemeGroupVersion, "Secret", "secrets")
	ConfigMap    = of(corev1.SchemeGroupVersion, "ConfigMap", "configmaps")
	Event        = of(corev1.SchemeGroupVersion, "Event", "events")
	Namespace    = global(of(corev1.SchemeGroupVersion, "Namespace", "namespaces"))
	Deployment   = of(appsv1.SchemeGroupVersion, "Deployment", "deployments")
	Job          = of(batchv1.SchemeGroupVersion, "Job", "jobs")
	Budget       = of(policyv1.SchemeGroupVersion, "PodDisruptionBudget", "poddisruptionbudgets")
	Autoscaler   = of(autoscalingv2.SchemeGroupVersion, "HorizontalPodAutoscaler", "horizontalpodautoscalers")
	Ingress      = of(networkingv1.SchemeGroupVersion, "Ingress", "ingresses")
	Lease        = of(coordinationv1.SchemeGroupVersion, "Lease", "leases")
	StorageClass = global(of(storagev1.SchemeGroupVersion, "StorageClass", "storageclasses"))
	AccessReview = global(of(authorizationv1.SchemeGroupVersion, "SelfSubjectAccessReview", "selfsubjectaccessreviews"))

	Cluster  = from(cnpg.ClusterKind)
	Role     = from(cnpg.RoleKind)
	Database = from(cnpg.DatabaseKind)
	Schedule = from(cnpg.ScheduleKind)
	Backup   = from(cnpg.BackupKind)
	Pooler   = from(cnpg.PoolerKind)
	// ObjectStore is of the barman-cloud plugin.
	ObjectStore = of(schema.GroupVersion{Group: "barmancloud.cnpg.io", Version: "v1"}, "ObjectStore", "objectstores")

	Prometheus     = of(prometheusV1, "Prometheus", "prometheuses")
	Alertmanager   = of(prometheusV1, "Alertmanager", "alertmanagers")
	ServiceMonitor = known(monitoring.Kinds(), "ServiceMonitor")
	Rule           = known(monitoring.Kinds(), "PrometheusRule")
	Route          = known(monitoring.Kinds(), "AlertmanagerConfig")
	Channel        = known(monitoring.Kinds(), "DiscordChannel")
	HTTPRoute      = known(exposure.Kinds(), "HTTPRoute")
)

var prometheusV1 = schema.GroupVersion{Group: "monitoring.coreos.com", Version: "v1"}

func known(all []optionalkinds.Kind, kind string) Kind {
	i := slices.IndexFunc(all, func(k optionalkinds.Kind) bool { return k.Kind == kind })
	return from(all[i])
}

// All returns every kind.
func All() []Kind {
	return []Kind{
		Dojo, Pod, Service, Secret, ConfigMap, Event, Namespace, Deployment, Job, Budget, Autoscaler, Ingress, Lease,
		StorageClass, AccessReview, Cluster, Role, Database, Schedule, Backup, Pooler, ObjectStore, Prometheus, Alertmanager,
		ServiceMonitor, Rule, Route, Channel, HTTPRoute,
	}
}

// Mapper returns the paths of all kinds.
func Mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	for _, k := range All() {
		scope := meta.RESTScopeNamespace
		if k.ClusterScoped {
			scope = meta.RESTScopeRoot
		}
		version := k.GroupVersion()
		m.AddSpecific(k.GroupVersionKind, version.WithResource(k.Plural), version.WithResource(k.Plural), scope)
	}
	return m
}

// Scheme returns the Go types of the kinds that have one here. Making it takes milliseconds.
var Scheme = sync.OnceValue(func() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1api.AddToScheme, clientgoscheme.AddToScheme, cnpgv1.AddToScheme, discordv1alpha1.AddToScheme,
	} {
		if err := add(s); err != nil {
			panic(err) // two types of one kind
		}
	}
	return s
})
