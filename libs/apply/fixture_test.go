// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"context"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/apply/applytest"
)

var testContext = context.Background()

const (
	us     = "our-operator"
	school = "school"
	tokyo  = "tokyo"
)

var reasons = apply.Reasons{Refused: "ChildRefused", NamespaceTerminating: "NamespaceTerminating", NameConflict: "NameConflict"}

type world struct {
	t       applytest.TB
	server  *applytest.Server
	clock   *testclock.FakePassiveClock
	applier *apply.Applier
	owner   *corev1.ConfigMap
}

func newWorld(t applytest.TB) *world {
	t.Helper()
	now := testclock.NewFakePassiveClock(time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC))
	w := &world{t: t, server: applytest.New(clientgoscheme.Scheme, now), clock: now}
	if err := w.server.AddCRD([]byte(widgetCRD)); err != nil {
		t.Fatal(err)
	}
	w.restart(w.server)
	w.owner = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: school, Name: "owner"}}
	if err := w.server.Create(testContext, w.owner); err != nil {
		t.Fatal(err)
	}
	w.server.Writes = nil
	return w
}

func (w *world) restart(c client.Client) { w.applier = apply.New(c, us, reasons, w.clock) }

func plan[L apply.Live](w *world, empty L, desired *unstructured.Unstructured) *apply.Object {
	w.t.Helper()
	live := applytest.Get(w.t, w.server, desired.GetNamespace(), desired.GetName(), empty)
	var absent L
	if live != absent {
		apply.Keep(us, live, func() {})
	}
	return apply.Sync(us, live, desired, w.applier.Unchanged(w.owner.UID))
}

func (w *world) run(objects ...*apply.Object) apply.Results {
	var p apply.Plan
	p.Add(objects...)
	return w.applier.Run(testContext, w.owner, p)
}

func (w *world) written() []string {
	writes := w.server.Writes
	w.server.Writes = nil
	return writes
}

const widgetCRD = `
spec:
  group: example.org
  names: {kind: Widget}
  versions:
  - name: v1
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {
      size: {type: integer, default: 3},
      colour: {type: string},
      tags: {type: array, x-kubernetes-list-type: set, items: {type: string}},
      order: {type: array, x-kubernetes-list-type: atomic, items: {type: string}},
      options: {type: object, additionalProperties: {type: string}},
      selector: {type: object, x-kubernetes-map-type: atomic, additionalProperties: {type: string}},
      groups: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name],
        items: {type: object, properties: {
        name: {type: string},
        interval: {type: string, default: 1m},
        rules: {type: array, x-kubernetes-list-type: atomic,
          items: {type: object, x-kubernetes-preserve-unknown-fields: true}}
      }}}
    }}}}}
`

const widgetSpec = `
colour: red
tags: [a, b]
order: [p, q]
options: {k: v, l: w}
selector: {k: v, l: w}
groups: [{name: dojo, rules: [{alert: Down}, {alert: Slow}]}, {name: more, rules: []}]
`

func widget(t applytest.TB, spec string, changes ...func(spec map[string]any)) *unstructured.Unstructured {
	t.Helper()
	var fields map[string]any
	if err := yaml.Unmarshal([]byte(spec), &fields); err != nil {
		t.Fatal(err)
	}
	for _, change := range changes {
		change(fields)
	}
	o := &unstructured.Unstructured{Object: map[string]any{"spec": fields}}
	o.SetAPIVersion("example.org/v1")
	o.SetKind("Widget")
	o.SetNamespace(school)
	o.SetName(tokyo)
	o.SetLabels(map[string]string{"app": tokyo})
	o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: "u", Controller: new(true)}})
	return o
}

func emptyWidget() *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion("example.org/v1")
	o.SetKind("Widget")
	return o
}

func set(field string, value any) func(map[string]any) {
	return func(spec map[string]any) { spec[field] = value }
}

func drop(field string) func(map[string]any) {
	return func(spec map[string]any) { delete(spec, field) }
}

func group(change func(map[string]any)) func(map[string]any) {
	return func(spec map[string]any) { change(spec["groups"].([]any)[0].(map[string]any)) }
}

func list(items ...any) []any { return append([]any{}, items...) }

func object(pairs ...string) map[string]any {
	all := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		all[pairs[i]] = pairs[i+1]
	}
	return all
}

func inSpec(change func(map[string]any)) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) { change(o.Object["spec"].(map[string]any)) }
}

func annotate[L client.Object](o L) {
	annotations := map[string]string{"example.org/note": "hands off"}
	maps.Copy(annotations, o.GetAnnotations())
	o.SetAnnotations(annotations)
}

func relabel[L client.Object](o L) { o.SetLabels(map[string]string{"app": "another"}) }

func (w *world) applied(desired *unstructured.Unstructured) {
	w.t.Helper()
	config := client.ApplyConfigurationFromUnstructured(desired.DeepCopy())
	if err := w.server.Apply(testContext, config, client.FieldOwner(us), client.ForceOwnership); err != nil {
		w.t.Fatal(err)
	}
}
