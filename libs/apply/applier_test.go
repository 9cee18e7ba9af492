// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/apply/applytest"
	"jutsu.com/operators/libs/apply/expectations"
	"jutsu.com/operators/libs/conditions"
)

func TestAnObjectThatAPolicyRewritesCountsAsInSync(t *testing.T) {
	t.Parallel()
	stamps := 0
	for name, policy := range map[string]func(*unstructured.Unstructured){
		"a field": inSpec(set("colour", "grey")),
		"a label": func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"app": "renamed"}) },
		"a field, and every write sets another annotation": func(o *unstructured.Unstructured) {
			inSpec(set("colour", "grey"))(o)
			stamps++
			o.SetAnnotations(map[string]string{"policy": time.Duration(stamps).String()})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.server.Admit = func(o *unstructured.Unstructured) {
				if o.GetKind() == "Widget" {
					policy(o)
				}
			}
			desired := widget(t, widgetSpec)
			rest := func(step string) {
				t.Helper()
				if results := w.run(plan(w, emptyWidget(), desired)); !results.Stale || results.Issues != nil {
					t.Errorf("%s: results %+v", step, results)
				}
				if plan(w, emptyWidget(), desired) != nil {
					t.Errorf("%s: is written again", step)
				}
				w.written()
			}
			rest("created")
			w.restart(w.server)
			rest("after a restart")
			w.restart(w.server)
			results := w.run(plan(w, emptyWidget(), desired))
			if len(results.Objects) != 1 || results.Objects[0].Outcome != apply.NotChanged && stamps == 0 {
				t.Errorf("an apply that changes nothing: %+v", results)
			}
			desired = widget(t, widgetSpec, set("size", int64(7)))
			rest("another desired state")
			applytest.Edit(t, w.server, "kubectl", w.widget(), inSpec(set("size", int64(9))))
			o := plan(w, emptyWidget(), desired)
			if o == nil || !o.Drift {
				t.Errorf("another client's change is not corrected: %+v", o)
			}
			rest("another client's change")
			if size := w.widget().Object["spec"].(map[string]any)["size"]; size != int64(7) {
				t.Errorf("size is %v", size)
			}
			w.server.Admit = nil
			desired = widget(t, widgetSpec)
			results = w.run(plan(w, emptyWidget(), desired))
			if results.Stale || results.Objects[0].Outcome != apply.Updated {
				t.Errorf("without the policy: %+v", results)
			}
			if plan(w, emptyWidget(), desired) != nil {
				t.Error("without the policy, is written again")
			}
		})
	}
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	desired := deployment(wanted{image: "dojo:1"})
	outcome := func(desired *unstructured.Unstructured) apply.Outcome {
		t.Helper()
		results := w.run(apply.Write(us, applytest.Get(t, w.server, school, tokyo, &appsv1.Deployment{}), desired))
		if results.Stale || len(results.Objects) != 1 {
			t.Fatalf("results %+v", results)
		}
		if !results.Wrote(results.Objects[0].Object.Key) {
			t.Error("was not written")
		}
		return results.Objects[0].Outcome
	}
	got := []apply.Outcome{outcome(desired), outcome(desired)}
	ready := func(d *appsv1.Deployment) { d.Status.Replicas = 1 }
	applytest.EditStatus(t, w.server, "kube-controller-manager", w.deployment(), ready)
	got = append(got, outcome(desired))
	applytest.Edit(t, w.server, "kubectl", w.deployment(), relabel)
	got = append(got, outcome(desired), outcome(deployment(wanted{image: "dojo:2"})))
	want := []apply.Outcome{apply.Created, apply.NotChanged, apply.NotChanged, apply.Updated, apply.Updated}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := outcome(deployment(wanted{image: "dojo:2"})); got != apply.NotChanged {
		t.Errorf("again: %v", got)
	}
	before := w.deployment()
	outcome(deployment(wanted{image: "dojo:3"}))
	if w.applier.Expectations.Satisfied(expectations.KeyOf("Deployment", school, tokyo), before) {
		t.Error("the Set accepts a cache without the last write")
	}
	w.server.Admit = relabel[*unstructured.Unstructured]
	outcome(deployment(wanted{image: "dojo:4"}))
}

func TestRewritesAreRememberedPerObject(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.server.Admit = func(o *unstructured.Unstructured) { inSpec(set("colour", "grey"))(o) }
	objects := func() (all []*apply.Object) {
		for _, name := range []string{"kyoto", tokyo} {
			desired := widget(t, widgetSpec)
			desired.SetName(name)
			if o := plan(w, emptyWidget(), desired); o != nil {
				all = append(all, o)
			}
		}
		return all
	}
	w.run(objects()...)
	if again := objects(); again != nil {
		t.Errorf("%d are written again", len(again))
	}
	w.delete(w.widget())
	if results := w.run(objects()...); len(results.Objects) != 1 || results.Objects[0].Outcome != apply.Created {
		t.Errorf("the deleted object is not created again: %+v", results)
	}
}

// A create fails if the name exists, and an apply fails if the UID has changed.
func TestOnlyTheObservedObjectIsWritten(t *testing.T) {
	t.Parallel()
	desired := deployment(wanted{new(int32(3)), "dojo:1", nil, false})
	foreign := func() *appsv1.Deployment {
		return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: school, Name: tokyo}}
	}
	replace := func(t *testing.T, w *world) {
		if err := w.server.Delete(testContext, foreign()); err != nil {
			t.Fatal(err)
		}
		if err := w.server.Create(testContext, foreign()); err != nil {
			t.Fatal(err)
		}
	}
	cases := map[string]struct {
		others func(*testing.T, *world)
		exists bool
	}{
		"created by another client meanwhile": {others: func(t *testing.T, w *world) {
			if err := w.server.Create(testContext, foreign()); err != nil {
				t.Fatal(err)
			}
		}},
		"replaced meanwhile": {exists: true, others: replace},
		"deleted meanwhile": {exists: true, others: func(t *testing.T, w *world) {
			if err := w.server.Delete(testContext, foreign()); err != nil {
				t.Fatal(err)
			}
		}},
	}
	for name, c := range cases {
		for what, changed := range map[string]*unstructured.Unstructured{
			"desired replicas differ": deployment(wanted{new(int32(5)), "dojo:1", nil, false}),
			"desired image differs":   deployment(wanted{new(int32(3)), "dojo:2", nil, false}),
		} {
			t.Run(name+", "+what, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				if c.exists {
					w.run(plan(w, &appsv1.Deployment{}, desired))
				}
				o := plan(w, &appsv1.Deployment{}, changed)
				c.others(t, w)
				before := w.deployment()
				results := w.run(o)
				// If the object is gone, an apply returns a conflict, and a patch of managedFields
				// returns NotFound.
				if !results.Stale && (len(results.Issues) != 1 || !apierrors.IsNotFound(results.Issues[0].Err)) {
					t.Errorf("results %+v", results)
				}
				if diff := cmp.Diff(before, w.deployment()); diff != "" {
					t.Errorf("a foreign object was written: %s", diff)
				}
			})
		}
	}
}

func TestPinned(t *testing.T) {
	t.Parallel()
	for _, pinned := range []bool{false, true} {
		w := newWorld(t)
		w.run(plan(w, &appsv1.Deployment{}, deployment(wanted{new(int32(3)), "dojo:1", nil, false})))
		o := plan(w, &appsv1.Deployment{}, deployment(wanted{new(int32(5)), "dojo:1", nil, false}))
		o.Pinned = pinned
		theirs := w.deployment()
		theirs.Labels["theirs"] = "yes"
		if err := w.server.Update(testContext, theirs); err != nil {
			t.Fatal(err)
		}
		if results := w.run(o); results.Stale != pinned || len(results.Issues) > 0 {
			t.Errorf("pinned %v: results %+v", pinned, results)
		}
		if written := *w.deployment().Spec.Replicas == 5; written == pinned {
			t.Errorf("pinned %v, written %v", pinned, written)
		}
	}
}

func TestAfter(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var order []string
	w.restart(interceptor.NewClient(w.server, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			order = append(order, o.GetName())
			if o.GetName() == "b" {
				return errors.New("connection refused")
			}
			return c.Create(ctx, o, opts...)
		},
	}))
	var p apply.Plan
	for _, step := range []struct{ name, after string }{
		{"a", ""}, {"b", "a"}, {"c", "b"}, {"d", "c"}, {"e", "a"}, {"f", "unknown"},
	} {
		desired := widget(t, widgetSpec)
		desired.SetName(step.name)
		o := plan(w, emptyWidget(), desired)
		if step.after != "" {
			o.After = []expectations.Key{expectations.KeyOf("Widget", school, step.after)}
		}
		p.Add(o)
	}
	results := w.applier.Run(testContext, w.owner, p.ForPart("WidgetsReady"))
	if diff := cmp.Diff([]string{"a", "b", "e", "f"}, order); diff != "" {
		t.Error(diff)
	}
	if len(results.Objects) != 4 || results.Stale ||
		len(results.Issues) != 1 || results.Issues[0].Part != "WidgetsReady" {
		t.Errorf("results %+v", results)
	}
	wrote := func(name string) bool { return results.Wrote(expectations.KeyOf("Widget", school, name)) }
	if wrote("b") || wrote("c") || !wrote("e") {
		t.Error("Wrote does not report exactly the written objects")
	}
}

func TestReplaceSpec(t *testing.T) {
	t.Parallel()
	for name, allowed := range map[string]bool{"replaced": true, "not allowed to": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.restart(interceptor.NewClient(w.server, interceptor.Funcs{
				Apply: func(
					ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption,
				) error {
					if limit := w.deployment().Spec.RevisionHistoryLimit; limit != nil && *limit == 1 {
						return apierrors.NewInvalid(schema.GroupKind{Kind: "Deployment"}, tokyo, nil)
					}
					return c.Apply(ctx, o, opts...)
				},
			}))
			w.run(plan(w, &appsv1.Deployment{}, deployment(wanted{image: "dojo:1"})))
			applytest.Edit(t, w.server, "kubectl", w.deployment(), func(d *appsv1.Deployment) {
				d.Spec.RevisionHistoryLimit = new(int32(1))
				d.Spec.Template.Spec.Containers[0].Image = "evil"
			})
			desired := deployment(wanted{image: "dojo:1"})
			o := plan(w, &appsv1.Deployment{}, desired)
			if allowed {
				o.ReplaceSpec = desired.Object["spec"].(map[string]any)
			}
			results := w.run(o)
			if (results.Issues == nil) != allowed {
				t.Errorf("results %+v", results)
			}
			if got := plan(w, &appsv1.Deployment{}, desired) == nil; got != allowed {
				t.Errorf("in sync: %v", got)
			}
		})
	}
}

func TestFinalizers(t *testing.T) {
	t.Parallel()
	const ours = "jutsu.com/database"
	w := newWorld(t)
	desired := widget(t, widgetSpec)
	run := func(owner *corev1.ConfigMap, finalizers ...string) apply.Results {
		p := apply.Plan{Finalizers: finalizers}
		p.Add(plan(w, emptyWidget(), desired))
		return w.applier.Run(testContext, owner, p)
	}
	key := expectations.KeyOf("ConfigMap", school, "owner")
	stale := w.owner.DeepCopy()
	if results := run(w.owner, "other", ours); results.Stale || len(results.Objects) != 1 {
		t.Errorf("results %+v", results)
	}
	live := applytest.Get(t, w.server, school, "owner", &corev1.ConfigMap{})
	if diff := cmp.Diff(live, w.owner); diff != "" || len(live.Finalizers) != 2 {
		t.Errorf("the owner is not as it was written: %s", diff)
	}
	if w.applier.Expectations.Satisfied(key, stale) || !w.applier.Expectations.Satisfied(key, live) {
		t.Error("the Set does not wait for the finalizers")
	}
	desired = widget(t, widgetSpec, drop("colour"))
	if results := run(stale, ours); !results.Stale || results.Objects != nil {
		t.Errorf("objects are written although another client changed the owner: %+v", results)
	}
	if err := w.server.Delete(testContext, w.owner); err != nil {
		t.Fatal(err)
	}
	w.owner = applytest.Get(t, w.server, school, "owner", &corev1.ConfigMap{})
	if results := run(w.owner, []string{}...); results.Stale || results.Issues != nil {
		t.Errorf("results %+v", results)
	}
	if !w.applier.Expectations.Satisfied(key, live) {
		t.Error("the Set waits for a version of an object that no longer exists")
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	resources := schema.GroupResource{Resource: "widgets"}
	cases := map[string]struct {
		others    func(*testing.T, *world, *unstructured.Unstructured)
		fails     error
		stale     bool
		reason    string
		satisfied bool // whether the expectations accept a cache that still shows the object
	}{
		"there": {},
		"held back by another client's finalizer": {
			others: func(t *testing.T, w *world, o *unstructured.Unstructured) {
				o.SetFinalizers([]string{"example.org/hold"})
				if err := w.server.Update(testContext, o); err != nil {
					t.Fatal(err)
				}
			},
			satisfied: true,
		},
		"gone":     {others: func(_ *testing.T, w *world, o *unstructured.Unstructured) { w.delete(o.DeepCopy()) }},
		"replaced": {others: replaceWidget, stale: true, satisfied: true},
		"refused": {
			fails: apierrors.NewForbidden(resources, tokyo, errors.New("no")), reason: "ChildRefused", satisfied: true,
		},
		"failed": {
			fails: apierrors.NewInternalError(errors.New("ill")), reason: conditions.ReasonRetrying, satisfied: true,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.run(plan(w, emptyWidget(), widget(t, widgetSpec)))
			live := w.widget()
			if c.others != nil {
				c.others(t, w, live)
			}
			w.restart(interceptor.NewClient(w.server, interceptor.Funcs{
				Delete: func(
					ctx context.Context, api client.WithWatch, o client.Object, opts ...client.DeleteOption,
				) error {
					var options client.DeleteOptions
					options.ApplyOptions(opts)
					if *options.PropagationPolicy != metav1.DeletePropagationBackground ||
						*options.Preconditions.UID != live.GetUID() {
						t.Errorf("deleted with %+v", options)
					}
					if c.fails != nil {
						return c.fails
					}
					return api.Delete(ctx, o, opts...)
				},
			}))
			p := apply.Plan{Delete: []apply.Deletion{apply.Delete("Widget", live)}}
			results := w.applier.Run(testContext, w.owner, p)
			if results.Stale != c.stale || (len(results.Issues) > 0) != (c.reason != "") {
				t.Fatalf("results %+v", results)
			}
			if c.reason != "" && results.Issues[0].Reason != c.reason {
				t.Errorf("results %+v", results)
			}
			key := expectations.KeyOf("Widget", school, tokyo)
			if got := w.applier.Expectations.Satisfied(key, live); got != c.satisfied {
				t.Errorf("Satisfied is %v for the deleted object", got)
			}
		})
	}
}

func (w *world) delete(o client.Object) {
	w.t.Helper()
	if err := w.server.Delete(testContext, o); err != nil {
		w.t.Fatal(err)
	}
}

func replaceWidget(t *testing.T, w *world, o *unstructured.Unstructured) {
	w.delete(o.DeepCopy())
	if err := w.server.Create(testContext, widget(t, widgetSpec).DeepCopy()); err != nil {
		t.Fatal(err)
	}
}

func TestAbandon(t *testing.T) {
	t.Parallel()
	secret := func(w *world) *corev1.Secret {
		return applytest.Get(t, w.server, school, tokyo, &corev1.Secret{})
	}
	for name, c := range map[string]struct {
		others func(*world)
		stale  bool
	}{
		"as it was observed":    {func(*world) {}, false},
		"written meanwhile":     {func(w *world) { applytest.Edit(t, w.server, "kubectl", secret(w), relabel) }, true},
		"deleted meanwhile":     {func(w *world) { w.delete(secret(w)) }, false},
		"made anew by a client": {func(w *world) { w.delete(secret(w)); w.create(foreignSecret(nil)) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create(foreignSecret(metav1.NewControllerRef(w.owner, corev1.SchemeGroupVersion.WithKind("ConfigMap"))))
			old := secret(w)
			c.others(w)
			before := secret(w)
			results := w.applier.Run(testContext, w.owner, apply.Plan{Abandon: []apply.Deletion{apply.Delete("Secret", old)}})
			if results.Stale != c.stale || results.Issues != nil {
				t.Errorf("results %+v", results)
			}
			after := secret(w)
			if c.stale || before == nil {
				if diff := cmp.Diff(before, after); diff != "" {
					t.Errorf("was written: %s", diff)
				}
				return
			}
			owner := metav1.GetControllerOf(after)
			if len(after.OwnerReferences) != 1 || owner == nil || owner.Kind != "ConfigMap" || owner.Name != "owner" ||
				owner.UID == "" || owner.UID == w.owner.UID || owner.BlockOwnerDeletion != nil {
				t.Errorf("owners are %+v", after.OwnerReferences)
			}
			if diff := cmp.Diff(before.Data, after.Data); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func (w *world) create(o client.Object) {
	w.t.Helper()
	if err := w.server.Create(testContext, o); err != nil {
		w.t.Fatal(err)
	}
}

func foreignSecret(owner *metav1.OwnerReference) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: school, Name: tokyo}, Data: map[string][]byte{"a": []byte("b")}}
	if owner != nil {
		s.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	return s
}
