// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/apis/discord/v1alpha1"
)

type observer struct {
	secrets  *secrets
	live     client.Reader
	releases releases
	minors   *minors

	mu         sync.Mutex
	seen       int // number of observed versions of objects
	violations violations
	// gone contains deleted objects. An interrupted watch may miss objects or versions, so listed
	// contains the objects from lists and from our edits.
	gone, listed map[types.UID]client.Object
	// requested maps a channel's UID to the webhook names of all its specs ("" without a webhook).
	requested map[types.UID]map[string]bool
	// reported contains the ids of all webhooks that any status has named.
	reported map[string]bool
	// The run searches texts for secrets.
	texts []text
}

type text struct{ where, what string }

func watch(ctx context.Context, config *rest.Config, scheme *runtime.Scheme, hidden *secrets, m *minors) (
	*observer, error,
) {
	informers, err := cache.New(config,
		cache.Options{Scheme: scheme, DefaultNamespaces: map[string]cache.Config{namespace: {}, guest: {}, archive: {}}})
	if err != nil {
		return nil, err
	}
	live, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	w := &observer{secrets: hidden, minors: m, live: live, gone: map[types.UID]client.Object{},
		listed: map[types.UID]client.Object{}, requested: map[types.UID]map[string]bool{}, reported: map[string]bool{}}
	var failed error
	add := func(kind client.Object, seen, deleted func(client.Object)) {
		informer, err := informers.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("watch %T: %w", kind, err))
			return
		}
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { seen(o.(client.Object)) },
			UpdateFunc: func(_, o any) { seen(o.(client.Object)) },
			DeleteFunc: func(o any) {
				if last, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
					o = last.Obj
				}
				deleted(o.(client.Object))
			},
		})
		failed = errors.Join(failed, err)
	}
	for _, kind := range []client.Object{&v1alpha1.DiscordServer{}, &v1alpha1.DiscordGroup{}, &v1alpha1.DiscordChannel{},
		&v1alpha1.DiscordRole{}, &corev1api.Dojo{}} {
		add(kind, w.version, w.deleted)
	}
	for _, kind := range []client.Object{&batchv1.Job{}, &appsv1.Deployment{}, &corev1.Pod{}} {
		add(kind, w.ofRelease, func(client.Object) {})
	}
	add(postgresObject("Cluster", ""), w.cluster, func(client.Object) {})
	add(&corev1.Secret{}, w.secret, func(client.Object) {})
	add(&eventsv1.Event{}, w.event, func(client.Object) {})
	go func() { _ = informers.Start(ctx) }()
	if !informers.WaitForCacheSync(ctx) {
		failed = errors.Join(failed, errors.New("watch: the API server does not answer"))
	}
	return w, failed
}

func (w *observer) version(o client.Object) {
	if d, ok := o.(*corev1api.Dojo); ok {
		w.releases.dojo(d)
	}
	found := checkVersion(o)
	version, err := json.Marshal(o)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen++
	w.violations = append(w.violations, found...)
	if c, ok := o.(*v1alpha1.DiscordChannel); ok {
		w.noteWebhook(c)
	}
	if err == nil {
		w.texts = append(w.texts, text{fmt.Sprintf("%s, version %s", id(o), o.GetResourceVersion()), string(version)})
	}
}

func (w *observer) cluster(o client.Object) {
	if o.GetNamespace() != archive {
		return
	}
	found := w.minors.cluster(o)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.violations = append(w.violations, found...)
}

// ofRelease lists the pods, because watches may reorder versions of several objects.
func (w *observer) ofRelease(o client.Object) {
	found := w.releases.object(o)
	if o.GetNamespace() == namespace && o.GetLabels()["app.kubernetes.io/name"] == releaseLabel {
		var pods corev1.PodList
		err := w.live.List(context.Background(), &pods, client.InNamespace(namespace),
			client.MatchingLabels{"app.kubernetes.io/name": releaseLabel})
		if err == nil {
			found = append(found, w.releases.together(pods.Items)...)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.violations = append(w.violations, found...)
}

// The caller of noteWebhook must lock w.mu.
func (w *observer) noteWebhook(c *v1alpha1.DiscordChannel) {
	w.reported[hookID(c)] = true
	if w.requested[c.UID] == nil {
		w.requested[c.UID] = map[string]bool{}
	}
	name := ""
	if c.Spec.Webhook != nil {
		name = c.Spec.Webhook.Name
	}
	w.requested[c.UID][name] = true
}

// abandoned finds webhooks that the operator may leave on Discord (docs/understand/discord.md): no
// status has ever named them, and w.requested has several names for their channel.
func (w *observer) abandoned(hooks map[string]types.UID) map[string]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := map[string]bool{}
	for hook, uid := range hooks {
		all[hook] = !w.reported[hook] && len(w.requested[uid]) > 1
	}
	return all
}

func (w *observer) deleted(o client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone[o.GetUID()] = o
}

func (w *observer) wrote(o client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listed[o.GetUID()] = o.DeepCopyObject().(client.Object)
}

func (w *observer) secret(o client.Object) {
	for key, value := range o.(*corev1.Secret).Data {
		w.secrets.addFrom(key, string(value))
	}
}

func (w *observer) event(o client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := o.(*eventsv1.Event)
	w.texts = append(w.texts, text{"event about " + e.Regarding.Kind + " " + e.Regarding.Name, e.Note})
}

func (w *observer) wrong() violations {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.violations)
}

func (w *observer) versions() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen
}

func (w *observer) deletedObjects(now []client.Object) map[types.UID]client.Object {
	w.mu.Lock()
	defer w.mu.Unlock()
	left := maps.Clone(w.listed)
	for _, o := range now {
		w.listed[o.GetUID()] = o
		delete(left, o.GetUID())
	}
	for uid, o := range left {
		if w.gone[uid] == nil || newer(o, w.gone[uid]) {
			w.gone[uid] = o
		}
	}
	return maps.Clone(w.gone)
}

func newer(o, than client.Object) bool {
	order, err := resourceversion.CompareResourceVersion(o.GetResourceVersion(), than.GetResourceVersion())
	return err == nil && order > 0
}

func (w *observer) takeTexts() []text {
	w.mu.Lock()
	defer w.mu.Unlock()
	texts := w.texts
	w.texts = nil
	return texts
}
