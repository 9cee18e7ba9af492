// SPDX-License-Identifier: Apache-2.0

package dojo

import (
	"strings"

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
	"jutsu.com/operators/dojo-operator/internal/optionalkinds"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/pods"
	"jutsu.com/operators/dojo-operator/internal/postgres"
	"jutsu.com/operators/dojo-operator/internal/workload"
	"jutsu.com/operators/libs/apply"
)

// CacheOptions returns options for a cache of these namespaces, or of all namespaces if none are
// given. A read of a kind without a watch fails, so that no read starts a watch by accident.
func CacheOptions(namespaces []string) cache.Options {
	options := cache.Options{
		ReaderFailOnMissingInformer: true,
		DefaultTransform:            strip,
		ByObject:                    map[client.Object]cache.ByObject{&corev1.Pod{}: {Label: pods.Ours()}},
	}
	for _, namespace := range namespaces {
		if options.DefaultNamespaces == nil {
			options.DefaultNamespaces = map[string]cache.Config{} // nil means all namespaces
		}
		options.DefaultNamespaces[namespace] = cache.Config{}
	}
	return options
}

// Watched lists the kinds that must be in the cache before a Dojo can be reconciled.
func Watched() []client.Object {
	return []client.Object{
		&corev1api.Dojo{}, apply.Metadata("v1", "Secret"), apply.Metadata("v1", "ConfigMap"), &corev1.Service{},
		&corev1.Pod{}, &appsv1.Deployment{}, &policyv1.PodDisruptionBudget{}, &autoscalingv2.HorizontalPodAutoscaler{},
		&networkingv1.Ingress{}, &batchv1.Job{}, optionalkinds.Definition(),
	}
}

// strip limits the memory: an object without managedFields of the operator keeps few fields. strip
// does not trust labels and owner references, because any client can forge them.
func strip(in any) (any, error) {
	switch o := in.(type) {
	case *corev1api.Dojo:
		stripDojo(o)
	case *corev1.Pod:
		pods.Strip(o)
	case *appsv1.Deployment:
		apply.Keep(ownership.FieldOwner, o, func() { stripForeign(o) })
		workload.Share(o)
	case *autoscalingv2.HorizontalPodAutoscaler:
		apply.Keep(ownership.FieldOwner, o, func() { workload.Strip(o) })
	case client.Object: // the other values are tombstones of deleted objects
		apply.Keep(ownership.FieldOwner, o, func() { stripForeign(o) })
	}
	return in, nil
}

// maxRequest is the maximum number of cached bytes of an annotation that requests an action.
const maxRequest = 1 << 10

func requestAnnotations() []string {
	return []string{
		corev1api.RotatePasswordAnnotation, corev1api.RecreateDatabaseAnnotation, corev1api.UpgradeWithoutBackupAnnotation,
		corev1api.PausedAnnotation, corev1api.RetryReleaseAnnotation, corev1api.MinorUpgradeAnnotation,
	}
}

// stripDojo removes metadata from a cached Dojo. The API server keeps this metadata, because the
// operator patches only finalizers and status.
func stripDojo(dojo *corev1api.Dojo) {
	all := dojo.Annotations
	dojo.Annotations, dojo.Labels, dojo.OwnerReferences, dojo.ManagedFields = nil, nil, nil, nil
	for i := range dojo.Status.Conditions {
		c := &dojo.Status.Conditions[i]
		apply.ShareStrings(&c.Type, &c.Reason, &c.Message)
		apply.ShareStrings(&c.Status)
	}
	for _, name := range requestAnnotations() {
		if requested, ok := all[name]; ok {
			// Drop half a character at the end: JSON would replace it, so a recorded copy would differ.
			cut := strings.ToValidUTF8(requested[:min(len(requested), maxRequest)], "")
			metav1.SetMetaDataAnnotation(&dojo.ObjectMeta, name, strings.Clone(cut))
		}
	}
}

func stripForeign(o client.Object) {
	switch o := o.(type) {
	case *metav1.PartialObjectMetadata:
		credentials.Strip(o)
	case *discordv1alpha1.DiscordChannel:
		monitoring.Strip(o)
	default:
		postgres.Strip(o)
	}
}
