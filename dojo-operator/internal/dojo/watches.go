// SPDX-License-Identifier: Apache-2.0

package dojo

import (
	"context"
	"errors"
	"slices"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	corev1api "jutsu.com/operators/apis/core/v1"
	discordv1alpha1 "jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/dojo-operator/internal/credentials"
	"jutsu.com/operators/dojo-operator/internal/exposure"
	"jutsu.com/operators/dojo-operator/internal/monitoring"
	"jutsu.com/operators/dojo-operator/internal/mounted"
	"jutsu.com/operators/dojo-operator/internal/optionalkinds"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/pods"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/dojo-operator/internal/release"
	"jutsu.com/operators/dojo-operator/internal/workload"
)

func addIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	return errors.Join(indexer.IndexField(ctx, &corev1api.Dojo{}, ownership.References, referencesOf),
		pods.AddIndexes(ctx, indexer), workload.AddIndexes(ctx, indexer))
}

func referencesOf(o client.Object) []string {
	dojo := o.(*corev1api.Dojo)
	names := []string{dojo.Name, credentials.Name(dojo), monitoring.ChannelName(dojo), monitoring.SecretName(dojo)}
	var all []string
	if dojo.Spec.CredentialsRef != nil {
		all = append(all, dojo.CredentialsSource().String())
	}
	for _, name := range slices.Concat(names, cnpg.References(dojo), release.References(dojo)) {
		if name != "" {
			all = append(all, types.NamespacedName{Namespace: dojo.Namespace, Name: name}.String())
		}
	}
	return all
}

// dojosOf includes Dojos that need a child with the object's name: a name conflict may have ended.
func (r *Reconciler) dojosOf(ctx context.Context, o client.Object) []reconcile.Request {
	requests := r.dojosMatching(ctx, func(*corev1api.Dojo) bool { return true },
		client.MatchingFields{ownership.References: client.ObjectKeyFromObject(o).String()})
	switch o := o.(type) {
	// CloudNativePG generates the names of scheduled Backups, so no Dojo refers to them.
	case *cnpgv1.Backup:
		requests = append(requests, r.ownerOfCluster(ctx, o.Namespace, o.Spec.Cluster.Name)...)
	case *batchv1.Job: // a Job of CloudNativePG may upgrade a Cluster
		if cluster := cnpg.OwningCluster(o); cluster != "" {
			requests = append(requests, r.ownerOfCluster(ctx, o.Namespace, cluster)...)
		}
	case *cnpgv1.Database:
		requests = append(requests, r.ownerOfCluster(ctx, o.Namespace, o.Spec.ClusterRef.Name)...)
	}
	if channel := channelOf(o); channel != "" { // a DiscordChannel controls the Secret with its webhook's URL
		name := types.NamespacedName{Namespace: o.GetNamespace(), Name: channel}
		requests = append(requests, r.dojosMatching(ctx, func(*corev1api.Dojo) bool { return true },
			client.MatchingFields{ownership.References: name.String()})...)
	}
	if dojo := o.GetLabels()[ownership.InstanceLabel]; dojo != "" && ownership.Managed(o) {
		requests = append(requests, request(o.GetNamespace(), dojo))
	}
	if ownership.ByDojo(o) {
		requests = append(requests, request(o.GetNamespace(), metav1.GetControllerOfNoCopy(o).Name))
	}
	return requests
}

func channelOf(o client.Object) string {
	owner := metav1.GetControllerOfNoCopy(o)
	if owner == nil || owner.Kind != "DiscordChannel" || owner.APIVersion != discordv1alpha1.GroupVersion.String() {
		return ""
	}
	return owner.Name
}

func (r *Reconciler) ownerOfCluster(ctx context.Context, namespace, cluster string) []reconcile.Request {
	own := func(dojo *corev1api.Dojo) bool {
		return dojo.Spec.Postgres != nil && dojo.Spec.Postgres.Cluster != nil && cnpg.ClusterName(dojo) == cluster
	}
	name := types.NamespacedName{Namespace: namespace, Name: cluster}
	return r.dojosMatching(ctx, own, client.MatchingFields{ownership.References: name.String()})
}

// ownerOfClusterOf returns Dojos that may wait until o no longer uses their Cluster or login.
func (r *Reconciler) ownerOfClusterOf(ctx context.Context, o client.Object) []reconcile.Request {
	dojo := o.(*corev1api.Dojo)
	own := func(owner *corev1api.Dojo) bool { return owner.Spec.Postgres != nil }
	source := dojo.CredentialsSource()
	return slices.Concat(
		r.ownerOfCluster(ctx, dojo.Namespace, cnpg.ClusterName(dojo)),
		r.ownerOfCluster(ctx, source.Namespace, cnpg.ClusterOfSecret(source.Name)),
		r.dojosMatching(ctx, own, client.MatchingFields{ownership.References: source.String()}))
}

func (r *Reconciler) waitingDojoOfPod(ctx context.Context, pod client.Object) []reconcile.Request {
	var dojo corev1api.Dojo
	for _, request := range dojoOfPod(ctx, pod) {
		if r.Client.Get(ctx, request.NamespacedName, &dojo) == nil && (dojo.DeletionTimestamp != nil || dojo.Spec.Suspend ||
			dojo.Status.Database != nil && (dojo.Status.Database.FormerLogin != "" || dojo.Status.Database.Pooler != nil ||
				dojo.Status.Database.Upgrade != nil)) {
			// Another Dojo may own the Cluster, and hibernate it only after this pod has ended.
			return append([]reconcile.Request{request}, r.ownerOfClusterOf(ctx, &dojo)...)
		}
	}
	return nil
}

// podEnds accepts the deletion of a pod, and the end of its containers.
var podEnds = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		return !pods.Ended(e.ObjectOld.(*corev1.Pod)) && pods.Ended(e.ObjectNew.(*corev1.Pod))
	},
	GenericFunc: func(event.GenericEvent) bool { return false },
}

// mayLeaveCluster accepts events after which a Dojo may no longer need the Cluster or login of
// another Dojo, or may need the Cluster of a suspended Dojo.
var mayLeaveCluster = predicate.Funcs{
	CreateFunc: func(e event.CreateEvent) bool {
		dojo := e.Object.(*corev1api.Dojo)
		return dojo.Spec.CredentialsRef != nil || dojo.Spec.Postgres != nil && dojo.Spec.Postgres.ClusterRef != nil
	},
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*corev1api.Dojo), e.ObjectNew.(*corev1api.Dojo)
		return before.Spec.Suspend != after.Spec.Suspend ||
			before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
			before.CredentialsSource() != after.CredentialsSource()
	},
	GenericFunc: func(event.GenericEvent) bool { return false },
}

func (r *Reconciler) dojosWithKind(ctx context.Context, kind optionalkinds.Kind) []reconcile.Request {
	return r.dojosMatching(ctx, func(dojo *corev1api.Dojo) bool {
		switch kind.Group {
		case cnpgv1.SchemeGroupVersion.Group:
			return dojo.Spec.Postgres != nil
		case discordv1alpha1.GroupVersion.Group:
			return dojo.Spec.Alerts != nil
		case exposure.Group:
			return dojo.Spec.Exposure != nil // also with spec.exposure.ingress: the operator may have to delete an HTTPRoute
		}
		return monitoring.Monitored(dojo)
	})
}

func whenChanged[T any](
	r *Reconciler, folder *mounted.Folder[T], matches func(*corev1api.Dojo) bool,
) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		if folder == nil {
			return nil
		}
		go func() {
			for {
				select {
				case <-ctx.Done():
					return
				case <-folder.Changed():
				}
				for _, request := range r.dojosMatching(ctx, matches) {
					queue.Add(request)
				}
			}
		}()
		return nil
	})
}

func hasVersion(dojo *corev1api.Dojo) bool {
	return dojo.Spec.Postgres != nil && dojo.Spec.Postgres.Cluster != nil && dojo.Spec.Postgres.Cluster.Version != ""
}

func hasSize(dojo *corev1api.Dojo) bool {
	return dojo.Spec.Postgres != nil && dojo.Spec.Postgres.Cluster != nil && dojo.Spec.Postgres.Cluster.Size != ""
}

func (r *Reconciler) dojosMatching(
	ctx context.Context, matches func(*corev1api.Dojo) bool, options ...client.ListOption,
) []reconcile.Request {
	var dojos corev1api.DojoList
	if err := r.Client.List(ctx, &dojos, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		logf.FromContext(ctx).Error(err, "list the Dojos that an event concerns")
	}
	var requests []reconcile.Request
	for i := range dojos.Items {
		if dojo := &dojos.Items[i]; matches(dojo) {
			requests = append(requests, request(dojo.Namespace, dojo.Name))
		}
	}
	return requests
}

func dojoOfPod(_ context.Context, pod client.Object) []reconcile.Request {
	return []reconcile.Request{request(pod.GetNamespace(), pod.GetLabels()[ownership.InstanceLabel])}
}

func dojoOfAutoscaler(_ context.Context, scaler client.Object) []reconcile.Request {
	return []reconcile.Request{request(scaler.GetNamespace(), targetOf(scaler).Name)}
}

func request(namespace, name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

var requestChanged = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.GetAnnotations(), e.ObjectNew.GetAnnotations()
		return slices.ContainsFunc(requestAnnotations(), func(name string) bool { return before[name] != after[name] })
	},
	DeleteFunc:  func(event.DeleteEvent) bool { return false },
	GenericFunc: func(event.GenericEvent) bool { return false },
}

var targetChanged = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		return targetOf(e.ObjectOld) != targetOf(e.ObjectNew)
	},
}

// scalerChanged ignores updates of the status, except of the condition ScalingActive.
var scalerChanged = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		before := e.ObjectOld.(*autoscalingv2.HorizontalPodAutoscaler)
		after := e.ObjectNew.(*autoscalingv2.HorizontalPodAutoscaler)
		return !equality.Semantic.DeepEqual(before.Spec, after.Spec) || scalingActive(before) != scalingActive(after) ||
			!equality.Semantic.DeepEqual(before.Labels, after.Labels) ||
			!equality.Semantic.DeepEqual(before.OwnerReferences, after.OwnerReferences) ||
			!before.DeletionTimestamp.Equal(after.DeletionTimestamp)
	},
}

func scalingActive(scaler *autoscalingv2.HorizontalPodAutoscaler) string {
	for _, c := range scaler.Status.Conditions {
		if c.Type == autoscalingv2.ScalingActive {
			return string(c.Status) + " " + c.Reason
		}
	}
	return ""
}

func targetOf(scaler client.Object) autoscalingv2.CrossVersionObjectReference {
	return scaler.(*autoscalingv2.HorizontalPodAutoscaler).Spec.ScaleTargetRef
}
