// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/libs/conditions"
)

type world struct {
	*proxy
	bot       *bot
	k8s       client.Client
	namespace string
	settings
	objects []client.Object // created so far, parents first
}

type object interface {
	client.Object
	GetConditions() []metav1.Condition
}

const (
	serverName = "server"
	secretName = "bot"
)

func (w *world) full(name string) string {
	if name == categoryName {
		return w.own.prefix
	}
	return w.own.prefix + "-" + name
}

func (w *world) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.namespace, Name: name}
}

func (w *world) server() *v1alpha1.DiscordServer {
	return &v1alpha1.DiscordServer{ObjectMeta: w.meta(serverName), Spec: v1alpha1.DiscordServerSpec{
		TokenSecretRef: v1alpha1.TokenSecretReference{Name: secretName}, ServerID: w.own.guild}}
}

func (w *world) group() *v1alpha1.DiscordGroup {
	return &v1alpha1.DiscordGroup{ObjectMeta: w.meta(categoryName), Spec: v1alpha1.DiscordGroupSpec{
		ServerRef: v1alpha1.ServerReference{Name: serverName}, Name: w.full(categoryName)}}
}

func (w *world) role(name string) *v1alpha1.DiscordRole {
	return &v1alpha1.DiscordRole{ObjectMeta: w.meta(name), Spec: v1alpha1.DiscordRoleSpec{
		ServerRef: v1alpha1.ServerReference{Name: serverName}, Name: w.full(name)}}
}

func (w *world) channel(name string, change ...func(*v1alpha1.DiscordChannelSpec)) *v1alpha1.DiscordChannel {
	c := &v1alpha1.DiscordChannel{ObjectMeta: w.meta(name), Spec: v1alpha1.DiscordChannelSpec{
		GroupRef: &v1alpha1.GroupReference{Name: categoryName}, Name: w.full(name)}}
	for _, f := range change {
		f(&c.Spec)
	}
	return c
}

func (w *world) create(ctx context.Context, objects ...object) error {
	for _, o := range objects {
		if err := w.k8s.Create(ctx, o); err != nil {
			return err
		}
		w.objects = append(w.objects, o)
	}
	return w.ready(ctx, objects...)
}

func (w *world) edit(ctx context.Context, name string, change func(*v1alpha1.DiscordChannelSpec)) error {
	c := w.channel(name)
	for {
		if err := w.k8s.Get(ctx, client.ObjectKeyFromObject(c), c); err != nil {
			return err
		}
		change(&c.Spec)
		switch err := w.k8s.Update(ctx, c); {
		case err == nil:
			return w.ready(ctx, c)
		case !apierrors.IsConflict(err):
			return err
		}
	}
}

func (w *world) ready(ctx context.Context, objects ...object) error {
	for _, o := range objects {
		err := w.await(ctx, func() (bool, error) {
			err := w.k8s.Get(ctx, client.ObjectKeyFromObject(o), o)
			return err == nil && isReady(o), err
		})
		if err != nil {
			return err
		}
		w.note(fmt.Sprintf("%T %s", o, o.GetName())[len("*v1alpha1."):], "(condition)", stateOf(o))
	}
	return nil
}

func isReady(o object) bool {
	c := meta.FindStatusCondition(o.GetConditions(), conditions.TypeReady)
	return c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == o.GetGeneration()
}

// stateOf returns "Ready", or a condition that explains why the object is not, or "no status".
func stateOf(o object) string {
	if isReady(o) {
		return conditions.TypeReady
	}
	for _, name := range []string{conditions.TypeDegraded, conditions.TypeProgressing, conditions.TypeReady} {
		c := meta.FindStatusCondition(o.GetConditions(), name)
		if c != nil && (c.Status == metav1.ConditionTrue) == (name != conditions.TypeReady) {
			return name + " " + c.Reason
		}
	}
	return "no status"
}

func (w *world) await(ctx context.Context, done func() (bool, error)) error {
	_, err := w.holds(ctx, done)
	return err
}

func (w *world) holds(ctx context.Context, done func() (bool, error)) (bool, error) {
	deadline := time.Now().Add(w.limit)
	for {
		ok, err := done()
		if ok || err != nil || time.Now().After(deadline) {
			return ok, err
		}
		if err := pause(ctx, w.interval); err != nil {
			return false, err
		}
	}
}

func (w *world) look(ctx context.Context, names ...string) error {
	for _, name := range names {
		if _, err := w.read(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// read returns a channel of the run from Discord, or nil if it does not exist.
func (w *world) read(ctx context.Context, name string) (map[string]any, error) {
	id := w.own.find(name)
	if id == "" {
		w.note("GET /channels/{channel_id} "+name, "(channel)", "was never created")
		return nil, nil
	}
	r, err := w.bot.do(ctx, http.MethodGet, "/channels/"+id, nil)
	if err != nil || !r.ok() {
		return nil, err
	}
	return asObject(r.body), nil
}

func (w *world) list(ctx context.Context, of string) ([]map[string]any, error) {
	r, err := w.bot.do(ctx, http.MethodGet, "/guilds/"+w.own.guild+"/"+of, nil)
	elements, _ := r.body.([]any)
	var own []map[string]any
	for _, element := range w.own.ownElements(elements) {
		own = append(own, asObject(element))
	}
	return own, err
}

func (w *world) ordered(ctx context.Context, of ...string) (string, error) {
	channels, err := w.list(ctx, "channels")
	slices.SortStableFunc(channels, func(a, b map[string]any) int {
		first, _ := a["position"].(float64)
		second, _ := b["position"].(float64)
		if first != second {
			return int(first - second)
		}
		return strings.Compare(text(a, "id"), text(b, "id"))
	})
	var names []string
	for _, c := range channels {
		if name, _ := w.own.own(text(c, "id")); slices.Contains(of, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, " "), err
}

func (w *world) reaches(ctx context.Context, about, want string, value func() (string, error)) error {
	last := ""
	_, err := w.holds(ctx, func() (ok bool, err error) {
		last, err = value()
		return last == want, err
	})
	w.note(about, "(value)", w.own.scrub(last))
	return err
}

// deleteAll deletes children before their parents.
func (w *world) deleteAll(ctx context.Context) error {
	for _, o := range slices.Backward(w.objects) {
		if err := client.IgnoreNotFound(w.k8s.Delete(ctx, o)); err != nil {
			return err
		}
	}
	for _, o := range slices.Backward(w.objects) {
		gone, err := w.holds(ctx, func() (bool, error) {
			err := w.k8s.Get(ctx, client.ObjectKeyFromObject(o), o)
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		})
		if err != nil {
			return err
		}
		w.note(fmt.Sprintf("%T %s", o, o.GetName())[len("*v1alpha1."):], "(deleted)", strconv.FormatBool(gone))
	}
	return nil
}

func (w *world) prepare(ctx context.Context) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	if err := w.k8s.Create(ctx, namespace); err != nil {
		return err
	}
	return w.k8s.Create(ctx, &corev1.Secret{ObjectMeta: w.meta(secretName),
		StringData: map[string]string{"token": w.bot.token}})
}
