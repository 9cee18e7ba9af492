// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/apis/discord/v1alpha1"
	"jutsu.com/operators/test/environment"
)

const (
	livesAtOnce = 3

	abuseCreated = "created to Ready"
	abuseEdited  = "edited to Ready"
	abuseDeleted = "deleted to gone"
)

// tenant creates, edits and deletes objects in the benchmark's namespace, while another tenant
// attacks the operator.
type tenant struct {
	object func(i int) client.Object
	// beside returns objects that the tenant creates before its object, and deletes after it.
	beside func(i int) []client.Object
	edit   func(client.Object)
	ready  func(client.Object) bool
	// finish makes the object ready, or is nil if an operator or the cluster does that.
	finish func(ctx context.Context, s *stage, o client.Object) error
	// least is a tenant that does the same work without an operator, for lower bounds. An attack
	// slows down this tenant, too.
	least *tenant
}

func dojoTenant(of children) tenant {
	return tenant{
		object: func(i int) client.Object { return dojo(i) },
		edit:   func(o client.Object) { o.(*corev1api.Dojo).Spec.Title = "Edited" },
		ready:  ready,
		least: &tenant{
			object: func(i int) client.Object { return of.direct(i).deployment },
			beside: func(i int) []client.Object { return []client.Object{of.direct(i).secret, of.direct(i).service} },
			edit: func(o client.Object) {
				container := &o.(*appsv1.Deployment).Spec.Template.Spec.Containers[0]
				container.Env = append(container.Env, corev1.EnvVar{Name: "EDITED", Value: "yes"})
			},
			ready: rolledOut,
		},
	}
}

func channelTenant(c crowd) tenant {
	return tenant{
		object: func(i int) client.Object {
			made := c.channel(i)
			made.Spec.GroupRef.Name = groupName(0, 0)
			return made
		},
		edit:  func(o client.Object) { o.(*v1alpha1.DiscordChannel).Spec.Topic = new("Edited") },
		ready: channelReady,
		least: &tenant{
			object: func(i int) client.Object {
				direct := &corev1.ConfigMap{}
				direct.SetNamespace(namespace)
				direct.SetName(fmt.Sprintf("direct-%05d", i))
				direct.SetAnnotations(map[string]string{wanted: "created"})
				return direct
			},
			edit:   func(o client.Object) { o.SetAnnotations(map[string]string{wanted: "edited"}) },
			finish: finishConfigMap,
			ready: func(o client.Object) bool {
				return o.(*corev1.ConfigMap).Data["has"] == o.GetAnnotations()[wanted]
			},
		},
	}
}

const wanted = "example.org/wanted"

// finishConfigMap makes as many writes as discord-operator makes for a channel.
func finishConfigMap(ctx context.Context, s *stage, o client.Object) error {
	if o.(*corev1.ConfigMap).Data == nil {
		label := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"example.org/direct":"yes"}}}`))
		if err := s.Admin.Patch(ctx, o, label); err != nil {
			return err
		}
	}
	data := fmt.Appendf(nil, `{"data":{"has":%q}}`, o.GetAnnotations()[wanted])
	return s.Admin.Patch(ctx, o, client.RawPatch(types.MergePatchType, data))
}

func (b *bench) abuse(ctx context.Context, s *stage, at sheet, t tenant, attacks []attack) {
	at.add("limits.memory", memoryLimit(s), "MiB")
	lives := 0
	measured := func(phase string, flooded <-chan struct{}) {
		b.say("%s: %s", at.scenario, phase)
		own, least := t.live(ctx, s, lives, b.lives, flooded)
		lives += len(own.created)
		own.addTo(at, phase)
		least.bound(at, phase)
		_, peak := residentBytes(s.current().PID())
		at.add(phase+": peak RSS", peak/mib, "MiB")
	}
	all := make(chan struct{})
	close(all)
	measured("alone", all)
	for _, a := range attacks {
		flooded, end := a.begin(ctx, s, at.n).start(ctx)
		measured("under "+a.name, flooded)
		end()
	}
	check(s.current().Stop(environment.Grace))
	before := must(s.operator.Leader(ctx, s.Admin))
	p := s.startProcess(ctx)
	s.awaitLeader(ctx, before)
	// The peak includes the retries of objects that the API server or Discord refused.
	t.live(ctx, s, lives, b.lives, all)
	_, peak := residentBytes(p.PID())
	at.add("a start under all attacks: peak RSS", peak/mib, "MiB")
}

func memoryLimit(s *stage) float64 {
	for _, o := range s.Deployed(s.operator) {
		if o.GetKind() != "Deployment" {
			continue
		}
		containers, _, err := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
		check(err)
		text, _, err := unstructured.NestedString(containers[0].(map[string]any), "resources", "limits", "memory")
		check(err)
		limit := must(resource.ParseQuantity(text))
		return float64(limit.Value()) / mib
	}
	panic(failure{fmt.Errorf("%s has no Deployment", s.operator.Name)})
}

type lifeTimes struct{ created, edited, deleted []float64 }

func (l *lifeTimes) addTo(at sheet, phase string) {
	for _, part := range []struct {
		name string
		took []float64
	}{{abuseCreated, l.created}, {abuseEdited, l.edited}, {abuseDeleted, l.deleted}} {
		at.add(phase+": "+part.name+", p50", quantile(part.took, 0.5), "s")
		at.add(phase+": "+part.name+", p95", quantile(part.took, 0.95), "s")
	}
}

func (l *lifeTimes) bound(at sheet, phase string) {
	if len(l.created) == 0 {
		return
	}
	for name, took := range map[string][]float64{abuseCreated: l.created, abuseEdited: l.edited} {
		at.bound(phase+": "+name+", p50", quantile(took, 0.5))
		at.bound(phase+": "+name+", p95", quantile(took, 0.95))
	}
}

// live creates, edits and deletes at least n objects, and more until flooded is closed.
func (t tenant) live(ctx context.Context, s *stage, first, n int, flooded <-chan struct{}) (own, least *lifeTimes) {
	own, least = &lifeTimes{}, &lifeTimes{}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(livesAtOnce)
	for i := first; i < first+n || !over(flooded); i++ {
		group.Go(func() error {
			if err := t.life(ctx, s, i, own, &mu); err != nil || t.least == nil {
				return err
			}
			return t.least.life(ctx, s, i, least, &mu)
		})
		if ctx.Err() != nil {
			break
		}
	}
	check(group.Wait())
	return own, least
}

func over(flooded <-chan struct{}) bool {
	select {
	case <-flooded:
		return true
	default:
		return false
	}
}

func (t tenant) life(ctx context.Context, s *stage, i int, all *lifeTimes, mu *sync.Mutex) (err error) {
	o, beside := t.object(i), t.companions(i)
	timed := func(do func() error, done func(error) (bool, error)) (took float64) {
		if err != nil {
			return 0
		}
		began := time.Now()
		if err = do(); err == nil {
			err = s.await(ctx, o, done)
		}
		return time.Since(began).Seconds()
	}
	isReady := func(err error) (bool, error) { return err == nil && t.ready(o), client.IgnoreNotFound(err) }
	finish := func(o client.Object) error {
		if t.finish == nil {
			return nil
		}
		return t.finish(ctx, s, o)
	}
	created := timed(func() error {
		if err := s.createEach(ctx, append(beside, o)); err != nil {
			return err
		}
		return finish(o)
	}, isReady)
	edited := timed(func() error {
		before := o.DeepCopyObject().(client.Object)
		t.edit(o)
		after := o.DeepCopyObject().(client.Object)
		if err := s.Admin.Patch(ctx, after, client.MergeFrom(before)); err != nil {
			return err
		}
		edited := after.GetResourceVersion()
		if err := finish(after); err != nil {
			return err
		}
		return s.await(ctx, o, func(err error) (bool, error) { // the cache may not have the edit yet
			if err != nil {
				return false, err
			}
			order, err := resourceversion.CompareResourceVersion(o.GetResourceVersion(), edited)
			return order >= 0, err
		})
	}, isReady)
	deleted := timed(func() error { return s.Admin.Delete(ctx, o) },
		func(err error) (bool, error) { return apierrors.IsNotFound(err), client.IgnoreNotFound(err) })
	for _, b := range beside {
		err = errors.Join(err, client.IgnoreNotFound(s.Admin.Delete(ctx, b)))
	}
	mu.Lock()
	defer mu.Unlock()
	all.created, all.edited = append(all.created, created), append(all.edited, edited)
	all.deleted = append(all.deleted, deleted)
	return err
}

func (t tenant) companions(i int) []client.Object {
	if t.beside == nil {
		return nil
	}
	return t.beside(i)
}

func (s *stage) createEach(ctx context.Context, objects []client.Object) error {
	for _, o := range objects {
		if err := s.Admin.Create(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) await(ctx context.Context, o client.Object, done func(error) (bool, error)) error {
	err := wait.PollUntilContextTimeout(ctx, poll, waitLimit, true, func(ctx context.Context) (bool, error) {
		return done(s.cache.Get(ctx, client.ObjectKeyFromObject(o), o))
	})
	if err != nil {
		return fmt.Errorf("%s: %w", o.GetName(), err)
	}
	return nil
}

// deployedAsIs uses the arguments and the environment of the Deployment, such as GOMEMLIMIT.
func deployedAsIs(o *environment.Options) { o.Deployed = true }

func (b *bench) abuseDojos(ctx context.Context, s *stage, at sheet) {
	check(s.Admin.Create(ctx, credentials("first")))
	s.startLeader(ctx)
	b.abuse(ctx, s, at, dojoTenant(s.childrenOfOne(ctx)), []attack{
		{"Dojos with children that a quota refuses", refusedDojos},
		{"objects of 1 MiB", forgedForDojos}, {"references to objects of another tenant", dojoReferences}})
}

func (s *stage) childrenOfOne(ctx context.Context) children {
	d := dojo(0)
	check(s.Admin.Create(ctx, d))
	check(s.await(ctx, d, func(err error) (bool, error) { return err == nil && ready(d), client.IgnoreNotFound(err) }))
	made := childrenOf(ctx, s, 1)[0]
	check(s.Admin.Delete(ctx, d, client.PropagationPolicy(metav1.DeletePropagationForeground)))
	check(s.await(ctx, d, func(err error) (bool, error) { return apierrors.IsNotFound(err), client.IgnoreNotFound(err) }))
	return made
}

func (c children) direct(i int) children {
	name := fmt.Sprintf("direct-%05d", i)
	own := children{c.secret.DeepCopy(), c.deployment.DeepCopy(), c.service.DeepCopy()}
	labels := map[string]string{"example.org/direct": name}
	for _, o := range []client.Object{own.secret, own.deployment, own.service} {
		o.SetName(name)
		o.SetLabels(labels)
	}
	own.deployment.Spec.Selector.MatchLabels, own.deployment.Spec.Template.Labels = labels, labels
	own.service.Spec.Selector = labels
	return own
}

func (b *bench) abuseChannels(ctx context.Context, s *stage, at sheet) {
	s.startLeader(ctx)
	for _, o := range s.discord.parents() {
		check(s.Admin.Create(ctx, o))
	}
	kept := s.discord.channel(0)
	kept.Name = keptChannel
	check(s.Admin.Create(ctx, kept))
	check(s.await(ctx, kept, func(err error) (bool, error) {
		return err == nil && channelReady(kept), client.IgnoreNotFound(err)
	}))
	b.abuse(ctx, s, at, channelTenant(s.discord.crowd), []attack{{"refused tokens", refusedTokens},
		{"objects of 1 MiB", forgedForChannels}, {"references to objects of another tenant", channelReferences(kept)},
		{"loops of a granted tenant", granted}})
	for _, status := range []int{http.StatusUnauthorized, http.StatusTooManyRequests} {
		at.add(fmt.Sprintf("calls that Discord answers with %d", status), float64(s.discord.refused(status)), "in all")
	}
}

func (s *stage) namespaceWith(ctx context.Context, name string, objects ...client.Object) {
	check(s.Admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	for _, o := range objects {
		o.SetNamespace(name)
		check(s.Admin.Create(ctx, o))
	}
}
