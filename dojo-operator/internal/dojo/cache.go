// SPDX-License-Identifier: Apache-2.0

package dojo

import (
	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	discordv1alpha1 "jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/dojo-operator/internal/credentials"
	"jutsu.com/operators/dojo-operator/internal/monitoring"
	"jutsu.com/operators/dojo-operator/internal/optional"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/pods"
	"jutsu.com/operators/dojo-operator/internal/postgres/cluster"
	"jutsu.com/operators/dojo-operator/internal/workload"
	"jutsu.com/operators/libs/apply"
)

// CacheOptions says what the cache holds: of foreign objects only that they exist and whose they
// are, so that memory hardly grows with what else is in the cluster, and no kind that is asked for
// by mistake. It shows the given namespaces, or all when none is given.
func CacheOptions(namespaces []string) cache.Options {
	options := cache.Options{
		ReaderFailOnMissingInformer: true,
		DefaultTransform:            strip,
		ByObject:                    map[client.Object]cache.ByObject{&corev1.Pod{}: {Label: pods.Ours()}},
	}
	for _, namespace := range namespaces {
		if options.DefaultNamespaces == nil {
			options.DefaultNamespaces = map[string]cache.Config{} // nil: all
		}
		options.DefaultNamespaces[namespace] = cache.Config{}
	}
	return options
}

// Watched are the kinds that the cache has to show before a Dojo can be reconciled.
func Watched() []client.Object {
	return []client.Object{
		&corev1api.Dojo{}, apply.Metadata("v1", "Secret"), apply.Metadata("v1", "ConfigMap"), &corev1.Service{},
		&corev1.Pod{}, &appsv1.Deployment{}, &policyv1.PodDisruptionBudget{}, &autoscalingv2.HorizontalPodAutoscaler{},
		&networkingv1.Ingress{}, &batchv1.Job{}, optional.Definition(),
	}
}

// strip leaves of an object what a decision about a Dojo can rest on.
func strip(in any) (any, error) {
	switch o := in.(type) {
	case *corev1api.Dojo:
	case *corev1.Pod:
		pods.Strip(o)
	case *autoscalingv2.HorizontalPodAutoscaler:
		workload.Strip(o)
	case client.Object: // and not a tombstone
		if !ownership.Managed(o) && !ownership.ByDojo(o) { // a child of ours may have lost its labels
			stripForeign(o)
		}
	}
	return in, nil
}

func stripForeign(o client.Object) {
	switch o := o.(type) {
	case *metav1.PartialObjectMetadata:
		credentials.Strip(o)
	case *cnpgv1.Cluster:
		cluster.Strip(o)
	case *cnpgv1.Database:
		cluster.StripDatabase(o)
	case *cnpgv1.Backup:
		cluster.StripBackup(o)
	case *discordv1alpha1.DiscordChannel:
		monitoring.Strip(o)
	default:
		ownership.Strip(o)
	}
}
