package dojo

import (
	"context"
	"slices"
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/optional"
)

// The names of the cache's indexes.
const (
	dojoBySource     = "spec.credentialsRef"
	dojoBySQL        = "spec.postgres.initSQL"
	dojoByCluster    = "spec.postgres.clusterRef"
	dojoByChannel    = "spec.alerts.discord"
	podOfDojo        = "dojo"
	podOfSchema      = "schema"
	jobOfDojo        = "dojo"
	scaledDeployment = "spec.scaleTargetRef.deployment"
)

func addIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	if err := indexer.IndexField(ctx, &corev1api.Dojo{}, dojoBySource, func(o client.Object) []string {
		return []string{sourceName(o.(*corev1api.Dojo)).String()}
	}); err != nil {
		return err
	}
	if err := addDatabaseIndexes(ctx, indexer); err != nil {
		return err
	}
	if err := indexer.IndexField(ctx, &corev1api.Dojo{}, dojoByChannel, func(o client.Object) []string {
		if name := channelName(o.(*corev1api.Dojo)); name != "" {
			return []string{name}
		}
		return nil
	}); err != nil {
		return err
	}
	if err := indexer.IndexField(ctx, &corev1.Pod{}, podOfDojo, instanceOf(nameValue)); err != nil {
		return err
	}
	return indexer.IndexField(ctx, &autoscalingv2.HorizontalPodAutoscaler{}, scaledDeployment, func(o client.Object) []string {
		if target := o.(*autoscalingv2.HorizontalPodAutoscaler).Spec.ScaleTargetRef; target.Kind == kindDeployment {
			return []string{target.Name}
		}
		return nil
	})
}

func addDatabaseIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	if err := indexer.IndexField(ctx, &corev1api.Dojo{}, dojoBySQL, func(o client.Object) []string {
		return sqlOf(o.(*corev1api.Dojo))
	}); err != nil {
		return err
	}
	if err := indexer.IndexField(ctx, &corev1api.Dojo{}, dojoByCluster, func(o client.Object) []string {
		if d := o.(*corev1api.Dojo); d.Spec.Postgres != nil {
			return []string{clusterName(d)}
		}
		return nil
	}); err != nil {
		return err
	}
	if err := indexer.IndexField(ctx, &batchv1.Job{}, jobOfDojo, instanceOf(schemaValue)); err != nil {
		return err
	}
	return indexer.IndexField(ctx, &corev1.Pod{}, podOfSchema, instanceOf(schemaValue))
}

// instanceOf indexes objects with the given name label by their Dojo.
func instanceOf(name string) client.IndexerFunc {
	return func(o client.Object) []string {
		if l := o.GetLabels(); l[nameLabel] == name {
			return []string{l[instanceLabel]}
		}
		return nil
	}
}

// sqlOf are the objects that hold a Dojo's SQL, as kind/name.
func sqlOf(d *corev1api.Dojo) []string {
	if d.Spec.Postgres == nil {
		return nil
	}
	var all []string
	for _, source := range d.Spec.Postgres.InitSQL {
		if ref := source.ConfigMapKeyRef; ref != nil {
			all = append(all, kindConfigMap+"/"+ref.Name)
		}
		if ref := source.SecretKeyRef; ref != nil {
			all = append(all, kindSecret+"/"+ref.Name)
		}
	}
	return all
}

// dojoOfChild returns the Dojo that owns a child, or the one that wants its name: it is told when a stranger's object that was in
// its way is gone.
func (r *Reconciler) dojoOfChild(ctx context.Context, o client.Object) []reconcile.Request {
	if owner := owningDojo(o); owner != nil {
		return owner
	}
	name := o.GetName()
	switch o.(type) {
	case *metav1.PartialObjectMetadata:
		dojo, ours := strings.CutSuffix(name, credentialsSuffix)
		if !ours {
			return nil
		}
		name = dojo
	case *batchv1.Job:
		if o.GetLabels()[nameLabel] != schemaValue {
			return nil
		}
		name = o.GetLabels()[instanceLabel]
	}
	claim := request(o.GetNamespace(), name)
	if err := r.Client.Get(ctx, claim.NamespacedName, &corev1api.Dojo{}); err != nil {
		return nil // nobody wants the name, which is so for nearly every object of a cluster
	}
	return []reconcile.Request{claim}
}

func owningDojo(o client.Object) []reconcile.Request {
	if !ownedByDojo(o) {
		return nil
	}
	return []reconcile.Request{request(o.GetNamespace(), metav1.GetControllerOfNoCopy(o).Name)}
}

// dojosOfSecret returns the Dojo whose own Secret this is, and all that copy their credentials from it. No label is
// asked for: a Secret can be made by anybody, at any time.
func (r *Reconciler) dojosOfSecret(ctx context.Context, secret client.Object) []reconcile.Request {
	return slices.Concat(
		r.dojoOfChild(ctx, secret),
		r.dojosWith(ctx, client.MatchingFields{dojoBySource: client.ObjectKeyFromObject(secret).String()}),
		r.dojosWith(ctx, client.InNamespace(secret.GetNamespace()), client.MatchingFields{dojoBySQL: kindSecret + "/" + secret.GetName()}),
	)
}

// dojosOfConfigMap returns the Dojos whose SQL it holds.
func (r *Reconciler) dojosOfConfigMap(ctx context.Context, o client.Object) []reconcile.Request {
	return r.dojosWith(ctx, client.InNamespace(o.GetNamespace()), client.MatchingFields{dojoBySQL: kindConfigMap + "/" + o.GetName()})
}

// dojosOfCustom returns the Dojos that an object of an optional kind concerns: those in a Cluster, those whose alarms show in a channel, or
// the one that the object is for or in whose way it is.
func (r *Reconciler) dojosOfCustom(ctx context.Context, o client.Object) []reconcile.Request {
	switch kind := o.GetObjectKind().GroupVersionKind(); {
	case kind == clusterKind.GroupVersionKind:
		return r.dojosWith(ctx, client.InNamespace(o.GetNamespace()), client.MatchingFields{dojoByCluster: o.GetName()})
	case kind == backupKind.GroupVersionKind:
		if dojo := o.GetLabels()[instanceLabel]; labelledFor(dojo, o) {
			return []reconcile.Request{request(o.GetNamespace(), dojo)}
		}
		return nil
	case kind == channelKind.GroupVersionKind:
		return slices.Concat(owningDojo(o), r.dojosWith(ctx, client.InNamespace(o.GetNamespace()), client.MatchingFields{dojoByChannel: o.GetName()}))
	case kind.Group == clusterKind.Group:
		if dojo, ok := strings.CutSuffix(o.GetName(), databaseSuffix); ok {
			return []reconcile.Request{request(o.GetNamespace(), dojo)}
		}
		return nil
	}
	return r.dojoOfChild(ctx, o)
}

// dojosWanting returns the Dojos that an optional kind concerns, when it appears or vanishes.
func (r *Reconciler) dojosWanting(ctx context.Context, kind optional.Kind) []reconcile.Request {
	return r.dojosThat(ctx, func(d *corev1api.Dojo) bool {
		switch kind.Group {
		case clusterKind.Group:
			return d.Spec.Postgres != nil
		case channelKind.Group:
			return d.Spec.Alerts != nil
		}
		return monitored(d)
	})
}

func (r *Reconciler) dojosWith(ctx context.Context, options ...client.ListOption) []reconcile.Request {
	return r.dojosThat(ctx, func(*corev1api.Dojo) bool { return true }, options...)
}

func (r *Reconciler) dojosThat(ctx context.Context, are func(*corev1api.Dojo) bool, options ...client.ListOption) []reconcile.Request {
	var dojos corev1api.DojoList
	if err := r.Client.List(ctx, &dojos, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		logf.FromContext(ctx).Error(err, "list the Dojos that an event concerns")
	}
	var requests []reconcile.Request
	for i := range dojos.Items {
		if d := &dojos.Items[i]; are(d) {
			requests = append(requests, request(d.Namespace, d.Name))
		}
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

// troubleChanged lets through a pod only when what keeps it from being ready is another thing than before, or when a pod of the schema
// has said why it failed. How many pods are ready is the Deployment's to tell.
var troubleChanged = predicate.Funcs{
	CreateFunc: func(e event.CreateEvent) bool { return troubleAtFirst(e.Object.(*corev1.Pod)).reason != "" },
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*corev1.Pod), e.ObjectNew.(*corev1.Pod)
		return troubleAtFirst(before) != troubleAtFirst(after) ||
			after.Labels[nameLabel] == schemaValue && lastWords([]corev1.Pod{*before}) != lastWords([]corev1.Pod{*after})
	},
	DeleteFunc:  func(e event.DeleteEvent) bool { return troubleAtFirst(e.Object.(*corev1.Pod)).reason != "" },
	GenericFunc: func(event.GenericEvent) bool { return false },
}

// troubleAtFirst is the trouble of a pod whose containers have just started: how long they run is for the pass to see.
func troubleAtFirst(pod *corev1.Pod) trouble { return troubleOf(time.Time{}, pod) }

// wished lets through a Dojo whose password is to be rotated.
var wished = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetAnnotations()[corev1api.RotatePasswordAnnotation] != e.ObjectNew.GetAnnotations()[corev1api.RotatePasswordAnnotation]
	},
	DeleteFunc:  func(event.DeleteEvent) bool { return false },
	GenericFunc: func(event.GenericEvent) bool { return false },
}

// targetChanged lets through an autoscaler only when it appears, goes, or turns to another target.
var targetChanged = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*autoscalingv2.HorizontalPodAutoscaler), e.ObjectNew.(*autoscalingv2.HorizontalPodAutoscaler)
		return before.Spec.ScaleTargetRef != after.Spec.ScaleTargetRef
	},
}
