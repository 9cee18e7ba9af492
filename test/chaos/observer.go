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

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/apis/discord/v1alpha1"
)

// observer sees every version of every object of ours that the API server serves.
type observer struct {
	secrets *secrets

	mu         sync.Mutex
	seen       int // versions
	violations violations
	// gone are the objects that were deleted, as they were last; listed are those that there were when
	// all were read, for a watch that was cut off may miss all of a short life.
	gone, listed map[types.UID]client.Object
	// requested are the names, empty for none, that a channel's spec has ever had for its webhook.
	requested map[types.UID]map[string]bool
	// reported are the ids of all webhooks that a status has ever named.
	reported map[string]bool
	// texts are the versions and events in which secrets are looked for.
	texts []text
}

// text is something that any user may read, and where.
type text struct{ where, what string }

// watch begins to watch, until the context ends.
func watch(ctx context.Context, config *rest.Config, scheme *runtime.Scheme, hidden *secrets) (*observer, error) {
	informers, err := cache.New(config,
		cache.Options{Scheme: scheme, DefaultNamespaces: map[string]cache.Config{namespace: {}, guest: {}, archive: {}}})
	if err != nil {
		return nil, err
	}
	w := &observer{secrets: hidden, gone: map[types.UID]client.Object{}, listed: map[types.UID]client.Object{},
		requested: map[types.UID]map[string]bool{}, reported: map[string]bool{}}
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
	add(&corev1.Secret{}, w.secret, func(client.Object) {})
	add(&eventsv1.Event{}, w.event, func(client.Object) {})
	go func() { _ = informers.Start(ctx) }()
	if !informers.WaitForCacheSync(ctx) {
		failed = errors.Join(failed, errors.New("watch: the API server does not answer"))
	}
	return w, failed
}

// version checks and keeps one version of an object.
func (w *observer) version(o client.Object) {
	found := lawful(o)
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

// noteWebhook is for those who hold the lock.
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

// abandoned returns which of the webhooks, by id and the UID of the channel's object, no status has
// ever named, while the spec has asked for another name or for none: docs/discord.md says why they
// stay.
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

// wrong is what was wrong so far.
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

// departed returns the objects that were deleted, of which none is among those that there are now.
func (w *observer) departed(now []client.Object) map[types.UID]client.Object {
	w.mu.Lock()
	defer w.mu.Unlock()
	left := maps.Clone(w.listed)
	for _, o := range now {
		w.listed[o.GetUID()] = o
		delete(left, o.GetUID())
	}
	for uid, o := range left {
		if w.gone[uid] == nil {
			w.gone[uid] = o
		}
	}
	return maps.Clone(w.gone)
}

// takeTexts returns the texts since the last time.
func (w *observer) takeTexts() []text {
	w.mu.Lock()
	defer w.mu.Unlock()
	texts := w.texts
	w.texts = nil
	return texts
}
