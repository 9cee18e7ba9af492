package dojo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/optional"
	"jutsu.com/operators/libs/ownwrites"
)

// errStale says that the cache does not show our own last writes yet, so that nothing can be decided.
var errStale = errors.New("the cache lags behind our own writes")

// observed is everything that a decision about a Dojo rests on. What does not exist is nil.
type observed struct {
	now time.Time
	// nonce is a random word for a new revision of the credentials, password one for a new password of the database.
	nonce, password string

	// source and own are the metadata of the Secret that the credentials are copied from and of the Dojo's own.
	source, own *metav1.PartialObjectMetadata
	// sourceSecret and ownSecret are read only when own is not an unaltered copy of source, and sourceSecret when it has to be written.
	sourceSecret, ownSecret *corev1.Secret

	deployment *appsv1.Deployment
	service    *corev1.Service
	budget     *policyv1.PodDisruptionBudget
	ingress    *networkingv1.Ingress
	// monitors are the objects of those monitoringKinds that the cluster has, by kind.
	monitors map[string]*unstructured.Unstructured
	// alerts is what there is of the way of the alarms.
	alerts seenAlerts
	// db is what there is of the database, with spec.postgres.
	db seenDatabase
	// autoscaled is whether a HorizontalPodAutoscaler of the Deployment itself decides about its replicas.
	autoscaled bool
	// pods are read only while the Deployment is not complete, and while the Dojo is being deleted.
	pods []corev1.Pod
}

func (r *Reconciler) observe(ctx context.Context, d *corev1api.Dojo) (*observed, error) {
	if !r.written.Shows(keyOf("Dojo", d.Namespace, d.Name), d) {
		return nil, errStale
	}
	seen := &observed{now: r.Clock.Now(), nonce: rand.Text(), password: rand.Text()}
	return seen, errors.Join(
		r.observeChildren(ctx, d, seen),
		r.observeMonitors(ctx, d, seen),
		r.observeAlerts(ctx, d, &seen.alerts),
		r.observeDatabase(ctx, d, seen),
		r.observeCredentials(ctx, d, seen),
		r.observeRollout(ctx, d, seen),
	)
}

func (r *Reconciler) observeChildren(ctx context.Context, d *corev1api.Dojo, seen *observed) (err error) {
	if seen.deployment, err = look(ctx, r, kindDeployment, client.ObjectKeyFromObject(d), &appsv1.Deployment{}); err != nil {
		return err
	}
	if seen.service, err = look(ctx, r, kindService, client.ObjectKeyFromObject(d), &corev1.Service{}); err != nil {
		return err
	}
	if seen.budget, err = look(ctx, r, kindBudget, client.ObjectKeyFromObject(d), &policyv1.PodDisruptionBudget{}); err != nil {
		return err
	}
	seen.ingress, err = look(ctx, r, kindIngress, client.ObjectKeyFromObject(d), &networkingv1.Ingress{})
	return err
}

func (r *Reconciler) observeMonitors(ctx context.Context, d *corev1api.Dojo, seen *observed) error {
	seen.monitors = map[string]*unstructured.Unstructured{}
	for _, kind := range monitoringKinds {
		if !r.Kinds.Has(kind) {
			continue
		}
		live, err := look(ctx, r, kind.Kind, client.ObjectKeyFromObject(d), kind.Object())
		if err != nil {
			return err
		}
		seen.monitors[kind.Kind] = live
	}
	return nil
}

func (r *Reconciler) observeAlerts(ctx context.Context, d *corev1api.Dojo, seen *seenAlerts) error {
	seen.missing = slices.DeleteFunc(append([]optional.Kind{channelKind, routingKind}, monitoringKinds...), r.Kinds.Has)
	for _, o := range []struct {
		kind optional.Kind
		name string
		into **unstructured.Unstructured
	}{
		{channelKind, ownChannelName(d), &seen.own},
		{channelKind, channelName(d), &seen.channel},
		{routingKind, d.Name, &seen.routing},
	} {
		if o.name == "" || !r.Kinds.Has(o.kind) {
			continue
		}
		live, err := look(ctx, r, o.kind.Kind, types.NamespacedName{Namespace: d.Namespace, Name: o.name}, o.kind.Object())
		if err != nil {
			return err
		}
		*o.into = live
	}
	return nil
}

func (r *Reconciler) observeCredentials(ctx context.Context, d *corev1api.Dojo, seen *observed) (err error) {
	own := types.NamespacedName{Namespace: d.Namespace, Name: credentialsName(d)}
	if seen.own, err = look(ctx, r, kindSecret, own, secretMetadata()); err != nil {
		return err
	}
	if !r.Config.watches(sourceName(d).Namespace) {
		return nil
	}
	if seen.source, err = look(ctx, r, kindSecret, sourceName(d), secretMetadata()); err != nil {
		return err
	}
	if d.Spec.Postgres != nil {
		if err := r.lookAgain(ctx, sourceName(d), &seen.source); err != nil {
			return err
		}
	}
	if seen.source == nil || !shared(d, seen.source) {
		return nil
	}
	if err := r.lookAgain(ctx, own, &seen.own); err != nil {
		return err
	}
	if taken(d, seen.own) || copied(d, seen.own, seen.source) && !rewritten(d, seen.source) {
		return nil
	}
	if seen.sourceSecret, err = r.read(ctx, sourceName(d)); err != nil || seen.own == nil {
		return err
	}
	seen.ownSecret, err = r.read(ctx, own)
	return err
}

// lookAgain asks the API server for a Secret that the cache does not have and that would be made now. What is made has a random word in it: over one of
// ours that the cache shows late, even after errStale has given up, it would roll the pods for nothing or be another password than Postgres has.
func (r *Reconciler) lookAgain(ctx context.Context, name types.NamespacedName, seen **metav1.PartialObjectMetadata) error {
	if *seen != nil {
		return nil
	}
	live := secretMetadata()
	if err := r.Live.Get(ctx, name, live); apierrors.IsNotFound(err) {
		return nil
	} else if err != nil {
		return fmt.Errorf("look for Secret %s: %w", name, err)
	}
	*seen = live
	return nil
}

// rewritten reports whether the source is ours to write and is not as it should be.
func rewritten(d *corev1api.Dojo, source *metav1.PartialObjectMetadata) bool {
	return d.Spec.Postgres != nil && kept(d, source) && !passwordSettled(d, source)
}

func (r *Reconciler) observeRollout(ctx context.Context, d *corev1api.Dojo, seen *observed) error {
	if d.DeletionTimestamp != nil {
		return r.observePods(ctx, d, podOfDojo, &seen.pods)
	}
	live := seen.deployment
	if live == nil || taken(d, live) {
		return nil
	}
	var scalers autoscalingv2.HorizontalPodAutoscalerList
	if err := r.Client.List(ctx, &scalers, client.InNamespace(d.Namespace), client.MatchingFields{scaledDeployment: d.Name}); err != nil {
		return fmt.Errorf("list HorizontalPodAutoscalers: %w", err)
	}
	seen.autoscaled = scaledByOthers(d, live, len(scalers.Items) > 0)
	if complete(live) {
		return nil
	}
	return r.observePods(ctx, d, podOfDojo, &seen.pods)
}

func (r *Reconciler) observePods(ctx context.Context, d *corev1api.Dojo, index string, into *[]corev1.Pod) error {
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, client.InNamespace(d.Namespace), client.MatchingFields{index: d.Name}); err != nil {
		return fmt.Errorf("list pods: %w", err)
	}
	*into = pods.Items
	return nil
}

// read gets a whole Secret from the API server. Nil means that it has gone since the cache last saw it.
func (r *Reconciler) read(ctx context.Context, name types.NamespacedName) (*corev1.Secret, error) {
	var secret corev1.Secret
	if err := r.Live.Get(ctx, name, &secret); apierrors.IsNotFound(err) {
		return nil, errStale
	} else if err != nil {
		return nil, fmt.Errorf("read Secret %s: %w", name, err)
	}
	return &secret, nil
}

// look gets an object from the cache into the given one: nil where there is none, and errStale where the cache does
// not show our own last write of it yet.
func look[L interface {
	comparable
	client.Object
}](ctx context.Context, r *Reconciler, kind string, name types.NamespacedName, into L) (L, error) {
	var absent L
	err := r.Client.Get(ctx, name, into)
	if client.IgnoreNotFound(err) != nil {
		return absent, fmt.Errorf("get %s %s: %w", kind, name, err)
	}
	key := ownwrites.Key{Kind: kind, NamespacedName: name}
	if err != nil {
		if !r.written.Shows(key, nil) {
			return absent, errStale
		}
		return absent, nil
	}
	if !r.written.Shows(key, into) {
		return absent, errStale
	}
	return into, nil
}

func keyOf(kind, namespace, name string) ownwrites.Key {
	return ownwrites.Key{Kind: kind, NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

func secretMetadata() *metav1.PartialObjectMetadata { return metadata("v1", kindSecret) }

func metadata(version, kind string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: kind}}
}
