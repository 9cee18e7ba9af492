package dojo

import (
	"context"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	corev1api "jutsu.com/operators/apis/core/v1"
)

// The names of the cache's indexes.
const (
	dojoBySource     = "spec.credentialsRef"
	podOfDojo        = "dojo"
	scaledDeployment = "spec.scaleTargetRef.deployment"
)

func addIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	if err := indexer.IndexField(ctx, &corev1api.Dojo{}, dojoBySource, func(o client.Object) []string {
		return []string{sourceName(o.(*corev1api.Dojo)).String()}
	}); err != nil {
		return err
	}
	if err := indexer.IndexField(ctx, &corev1.Pod{}, podOfDojo, func(o client.Object) []string {
		return []string{o.GetLabels()[instanceLabel]}
	}); err != nil {
		return err
	}
	return indexer.IndexField(ctx, &autoscalingv2.HorizontalPodAutoscaler{}, scaledDeployment, func(o client.Object) []string {
		if target := o.(*autoscalingv2.HorizontalPodAutoscaler).Spec.ScaleTargetRef; target.Kind == kindDeployment {
			return []string{target.Name}
		}
		return nil
	})
}

// dojoOfChild returns the Dojo that owns a child, or the one that wants its name: it is told when a stranger's object that was in
// its way is gone.
func (r *Reconciler) dojoOfChild(ctx context.Context, o client.Object) []reconcile.Request {
	if owner := metav1.GetControllerOfNoCopy(o); owner != nil && ownedByDojo(o) {
		return []reconcile.Request{request(o.GetNamespace(), owner.Name)}
	}
	name := o.GetName()
	if _, ok := o.(*metav1.PartialObjectMetadata); ok {
		if name, ok = strings.CutSuffix(name, credentialsSuffix); !ok {
			return nil
		}
	}
	claim := request(o.GetNamespace(), name)
	if err := r.Client.Get(ctx, claim.NamespacedName, &corev1api.Dojo{}); err != nil {
		return nil // nobody wants the name, which is so for nearly every object of a cluster
	}
	return []reconcile.Request{claim}
}

// dojosOfSecret returns the Dojo whose own Secret this is, and all that copy their credentials from it. No label is
// asked for: a Secret can be made by anybody, at any time.
func (r *Reconciler) dojosOfSecret(ctx context.Context, secret client.Object) []reconcile.Request {
	requests := r.dojoOfChild(ctx, secret)
	var dojos corev1api.DojoList
	if err := r.Client.List(ctx, &dojos, client.MatchingFields{dojoBySource: client.ObjectKeyFromObject(secret).String()},
		client.UnsafeDisableDeepCopy); err != nil {
		logf.FromContext(ctx).Error(err, "list the Dojos of a Secret", "secret", client.ObjectKeyFromObject(secret))
	}
	for i := range dojos.Items {
		requests = append(requests, request(dojos.Items[i].Namespace, dojos.Items[i].Name))
	}
	return requests
}

func dojoOfPod(_ context.Context, pod client.Object) []reconcile.Request {
	return []reconcile.Request{request(pod.GetNamespace(), pod.GetLabels()[instanceLabel])}
}

func dojoOfAutoscaler(_ context.Context, scaler client.Object) []reconcile.Request {
	return []reconcile.Request{request(scaler.GetNamespace(), scaler.(*autoscalingv2.HorizontalPodAutoscaler).Spec.ScaleTargetRef.Name)}
}

func request(namespace, name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

// troubleChanged lets through a pod only when what keeps it from being ready is another thing than before. How many pods
// are ready is the Deployment's to tell.
var troubleChanged = predicate.Funcs{
	CreateFunc: func(e event.CreateEvent) bool { return troubleOf(e.Object.(*corev1.Pod)).reason != "" },
	UpdateFunc: func(e event.UpdateEvent) bool {
		return troubleOf(e.ObjectOld.(*corev1.Pod)) != troubleOf(e.ObjectNew.(*corev1.Pod))
	},
	DeleteFunc:  func(e event.DeleteEvent) bool { return troubleOf(e.Object.(*corev1.Pod)).reason != "" },
	GenericFunc: func(event.GenericEvent) bool { return false },
}

// targetChanged lets through an autoscaler only when it appears, goes, or turns to another target.
var targetChanged = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*autoscalingv2.HorizontalPodAutoscaler), e.ObjectNew.(*autoscalingv2.HorizontalPodAutoscaler)
		return before.Spec.ScaleTargetRef != after.Spec.ScaleTargetRef
	},
}
