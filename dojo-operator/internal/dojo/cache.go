package dojo

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8slabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/optional"
)

// CacheOptions says what the cache holds: of the objects of others only that they exist and whose they are, so that
// memory hardly grows with a cluster that has little to do with Dojos, and nothing that anybody asks for by mistake. It shows the
// given namespaces, or all when none is given.
func CacheOptions(namespaces []string) cache.Options {
	stripOthers := cache.ByObject{Transform: strip}
	var watched map[string]cache.Config // nil: all
	for _, namespace := range namespaces {
		if watched == nil {
			watched = map[string]cache.Config{}
		}
		watched[namespace] = cache.Config{}
	}
	return cache.Options{
		DefaultNamespaces:           watched,
		ReaderFailOnMissingInformer: true,
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Secret{}:                         stripOthers,
			&corev1.ConfigMap{}:                      stripOthers,
			&batchv1.Job{}:                           stripOthers,
			&networkingv1.Ingress{}:                  stripOthers,
			&corev1.Service{}:                        stripOthers,
			&appsv1.Deployment{}:                     stripOthers,
			&policyv1.PodDisruptionBudget{}:          stripOthers,
			&autoscalingv2.HorizontalPodAutoscaler{}: stripOthers,
			optional.Definition():                    {Transform: optional.Strip},
			&corev1.Pod{}:                            {Label: ourPods(), Transform: strip},
		},
		// Optional kinds cannot be named here, since the cluster may not have them.
		DefaultTransform: strip,
	}
}

// ourPods selects the pods of the application and of the schema's Jobs.
func ourPods() k8slabels.Selector {
	names, err := k8slabels.NewRequirement(nameLabel, selection.In, []string{nameValue, schemaValue})
	if err != nil {
		panic(err) // the names are constants
	}
	return k8slabels.SelectorFromSet(k8slabels.Set{managedByLabel: managedByValue}).Add(*names)
}

// Watched are the kinds that the cache has to show before a Dojo can be reconciled.
func Watched() []client.Object {
	return []client.Object{
		&corev1api.Dojo{}, secretMetadata(), &corev1.Service{}, &corev1.Pod{}, &appsv1.Deployment{}, &policyv1.PodDisruptionBudget{},
		&autoscalingv2.HorizontalPodAutoscaler{}, &networkingv1.Ingress{}, &batchv1.Job{}, metadata("v1", kindConfigMap), optional.Definition(),
	}
}

var _ toolscache.TransformFunc = strip

// strip leaves of an object what a decision about a Dojo can rest on.
func strip(in any) (any, error) {
	o, ok := in.(metav1.Object)
	if !ok {
		return in, nil // a tombstone
	}
	switch o := in.(type) {
	case *corev1.Pod:
		labels, created := o.Labels, o.CreationTimestamp
		*o = corev1.Pod{ObjectMeta: identity(o), Status: corev1.PodStatus{
			Conditions:            o.Status.Conditions,
			InitContainerStatuses: o.Status.InitContainerStatuses,
			ContainerStatuses:     o.Status.ContainerStatuses,
		}}
		o.CreationTimestamp = created
		o.Labels = map[string]string{nameLabel: labels[nameLabel], instanceLabel: labels[instanceLabel], revisionLabel: labels[revisionLabel]}
		return o, nil
	case *autoscalingv2.HorizontalPodAutoscaler:
		*o = autoscalingv2.HorizontalPodAutoscaler{
			ObjectMeta: identity(o),
			Spec:       autoscalingv2.HorizontalPodAutoscalerSpec{ScaleTargetRef: o.Spec.ScaleTargetRef},
		}
		return o, nil
	}
	if o.GetLabels()[managedByLabel] == managedByValue || ownedByDojo(o) {
		return in, nil
	}
	switch o := in.(type) {
	case *metav1.PartialObjectMetadata:
		grant, granted := o.Annotations[corev1api.AllowedNamespacesAnnotation]
		*o = metav1.PartialObjectMetadata{TypeMeta: o.TypeMeta, ObjectMeta: identity(o)}
		if granted {
			o.Annotations = map[string]string{corev1api.AllowedNamespacesAnnotation: grant}
		}
	case *corev1.Service:
		*o = corev1.Service{ObjectMeta: identity(o)}
	case *appsv1.Deployment:
		*o = appsv1.Deployment{ObjectMeta: identity(o)}
	case *policyv1.PodDisruptionBudget:
		*o = policyv1.PodDisruptionBudget{ObjectMeta: identity(o)}
	case *networkingv1.Ingress:
		*o = networkingv1.Ingress{ObjectMeta: identity(o)}
	case *batchv1.Job:
		*o = batchv1.Job{ObjectMeta: identity(o)}
	case *unstructured.Unstructured:
		stripCustom(o)
	}
	return in, nil
}

// stripCustom leaves of a Cluster or a DiscordChannel of somebody else what a Dojo in it has to know, and of other objects that they exist and
// whose they are.
func stripCustom(o *unstructured.Unstructured) {
	small := &unstructured.Unstructured{Object: map[string]any{}}
	small.SetGroupVersionKind(o.GroupVersionKind())
	meta := identity(o)
	small.SetNamespace(meta.Namespace)
	small.SetName(meta.Name)
	small.SetUID(meta.UID)
	small.SetResourceVersion(meta.ResourceVersion)
	small.SetDeletionTimestamp(meta.DeletionTimestamp)
	small.SetOwnerReferences(meta.OwnerReferences)
	if o.GroupVersionKind() == clusterKind.GroupVersionKind {
		small.SetCreationTimestamp(o.GetCreationTimestamp())
		if value, ok := o.GetAnnotations()[hibernation]; ok {
			small.SetAnnotations(map[string]string{hibernation: value})
		}
	}
	for _, path := range factsOfOthers[o.GroupVersionKind()] {
		if value, ok, _ := unstructured.NestedFieldNoCopy(o.Object, path...); ok {
			_ = unstructured.SetNestedField(small.Object, value, path...) // the parents are maps that we have just made
		}
	}
	o.Object = small.Object
}

// factsOfOthers are the fields that stateOfCluster and channelUsable read.
var factsOfOthers = map[schema.GroupVersionKind][][]string{
	clusterKind.GroupVersionKind: {
		{"spec", "instances"}, {"status", "phase"}, {"status", "image"}, {"status", "currentPrimary"}, {"status", "readyInstances"}, {"status", "conditions"},
	},
	channelKind.GroupVersionKind: {
		{"spec", "webhook"}, {"status", "channelId"}, {"status", "channelURL"}, {"status", "webhook"}, {"status", "conditions"},
	},
}

// ownedByDojo also knows a child of ours whose labels somebody has taken off.
func ownedByDojo(o metav1.Object) bool {
	owner := metav1.GetControllerOfNoCopy(o)
	return owner != nil && owner.Kind == "Dojo" && owner.APIVersion == corev1api.GroupVersion.String()
}

func identity(o metav1.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace:         o.GetNamespace(),
		Name:              o.GetName(),
		UID:               o.GetUID(),
		ResourceVersion:   o.GetResourceVersion(),
		DeletionTimestamp: o.GetDeletionTimestamp(),
		OwnerReferences:   o.GetOwnerReferences(),
	}
}
