// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"jutsu.com/operators/libs/apply/applytest"
)

var (
	onlyApplied = []string{"APPLY Widget school/tokyo"}
	upgraded    = []string{"PATCH Widget school/tokyo", "APPLY Widget school/tokyo"}
)

func TestWidgetInSync(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		others func(*unstructured.Unstructured) // another client's change
		ours   func(spec map[string]any)        // our new desired state
		drift  bool
		posted []string // writes if the object was created by POST
	}{
		"nothing":                          {},
		"another client's annotation":      {others: annotate[*unstructured.Unstructured]},
		"another client's owner reference": {others: addOwner},
		"another client's field":           {others: inSpec(set("size", int64(5)))},
		"another client's option":          {others: inSpec(set("options", object("k", "v", "l", "w", "m", "x")))},
		"another client's tag":             {others: inSpec(set("tags", list("a", "b", "c")))},
		"another client's group": {others: inSpec(func(spec map[string]any) {
			spec["groups"] = append(spec["groups"].([]any), object("name", "theirs"))
		})},
		"another client's field in our entry of groups": {others: inSpec(group(set("interval", "5m")))},

		"label changed": {others: relabel[*unstructured.Unstructured], drift: true, posted: onlyApplied},
		"owner reference gone": {
			others: func(o *unstructured.Unstructured) { o.SetOwnerReferences(nil) }, drift: true, posted: onlyApplied,
		},
		"annotations gone": {
			others: func(o *unstructured.Unstructured) { o.SetAnnotations(nil) }, posted: upgraded,
		},
		"field changed":        {others: inSpec(set("colour", "blue")), drift: true, posted: onlyApplied},
		"field gone":           {others: inSpec(drop("colour")), drift: true, posted: onlyApplied},
		"option gone":          {others: inSpec(set("options", object("k", "v"))), drift: true, posted: onlyApplied},
		"tag gone":             {others: inSpec(set("tags", list("b"))), drift: true, posted: onlyApplied},
		"atomic list shorter":  {others: inSpec(set("order", list("p"))), drift: true, posted: onlyApplied},
		"atomic list longer":   {others: inSpec(set("order", list("p", "q", "r"))), drift: true, posted: onlyApplied},
		"atomic list reversed": {others: inSpec(set("order", list("q", "p"))), drift: true, posted: onlyApplied},
		"atomic map smaller":   {others: inSpec(set("selector", object("k", "v"))), drift: true, posted: onlyApplied},
		"atomic map larger": {
			others: inSpec(set("selector", object("k", "v", "l", "w", "m", "x"))), drift: true, posted: onlyApplied,
		},
		"rule changed": {
			others: inSpec(group(set("rules", list(object("alert", "Up"))))), drift: true, posted: onlyApplied,
		},
		"rule gone": {
			others: inSpec(group(set("rules", list(object("alert", "Down"))))), drift: true, posted: onlyApplied,
		},
		"field added to our rule": {
			others: inSpec(group(set("rules", list(object("alert", "Down", "for", "1m"), object("alert", "Slow"))))),
			drift:  true, posted: onlyApplied,
		},
		"group gone": {
			others: inSpec(set("groups", list(object("name", "more")))), drift: true, posted: onlyApplied,
		},
		"all groups gone": {others: inSpec(drop("groups")), drift: true, posted: onlyApplied},
		"default removed": {others: inSpec(drop("size"))},

		"desired value differs":       {ours: set("colour", "blue"), posted: onlyApplied},
		"desired option differs":      {ours: set("options", object("k", "v", "l", "x")), posted: onlyApplied},
		"desired field dropped":       {ours: drop("colour"), posted: upgraded},
		"desired option dropped":      {ours: set("options", object("k", "v")), posted: upgraded},
		"desired tag dropped":         {ours: set("tags", list("b")), posted: upgraded},
		"desired atomic list shorter": {ours: set("order", list("p")), posted: upgraded},
		"desired atomic list empty":   {ours: set("order", list()), posted: upgraded},
		"desired atomic list longer":  {ours: set("order", list("p", "q", "r")), posted: upgraded},
		"desired rule dropped":        {ours: group(set("rules", list(object("alert", "Down")))), posted: upgraded},
		"desired group dropped":       {ours: set("groups", list(object("name", "more"))), posted: upgraded},
		// This counts as drift, because it looks like a map in which another client changed every
		// field.
		"desired atomic map smaller": {ours: set("selector", object("k", "v")), drift: true, posted: upgraded},
		// A field that we do not own yet counts as drift. After a POST, we own the default of size.
		"desired field added":                 {ours: set("size", int64(9)), posted: upgraded},
		"desired tag added":                   {ours: set("tags", list("a", "b", "c")), drift: true, posted: upgraded},
		"field changed, desired list dropped": {others: inSpec(set("colour", "blue")), ours: drop("order"), drift: true, posted: upgraded},
	}
	for name, c := range cases {
		for origin, create := range map[string]func(*world, *unstructured.Unstructured){
			"posted":  func(w *world, d *unstructured.Unstructured) { w.run(plan(w, emptyWidget(), d)) },
			"applied": (*world).applied,
		} {
			t.Run(name+", "+origin, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				desired := widget(t, widgetSpec)
				create(w, desired)
				if o := plan(w, emptyWidget(), desired); o != nil {
					t.Fatal("is not in sync at once")
				}
				if c.others != nil {
					applytest.Edit(t, w.server, "kubectl", w.widget(), c.others)
				}
				if c.ours != nil {
					desired = widget(t, widgetSpec, c.ours)
				}
				w.written()

				o := plan(w, emptyWidget(), desired)
				drift := c.drift
				want := c.posted
				if origin == "applied" {
					// Unlike a POST, an apply owns no defaults and sets no ShapeAnnotation.
					drift = drift || name == "desired field added"
					if want != nil && name != "annotations gone" {
						want = onlyApplied
					} else {
						want = nil
					}
				}
				if o != nil && o.Drift != drift {
					t.Errorf("drift is %v", o.Drift)
				}
				results := w.run(o)
				if results.Stale || results.Issues != nil {
					t.Errorf("results %+v", results)
				}
				if diff := cmp.Diff(want, w.written()); diff != "" {
					t.Error(diff)
				}
				if plan(w, emptyWidget(), desired) != nil {
					t.Error("is not in sync after it was written")
				}
				if want == nil {
					return
				}
				fresh := newWorld(t)
				fresh.run(plan(fresh, emptyWidget(), desired))
				live, anew := w.widget(), fresh.widget()
				if diff := cmp.Diff(anew.Object["spec"], live.Object["spec"]); diff != "" {
					t.Errorf("is not as if it were new: %s", diff)
				}
				if diff := cmp.Diff(anew.GetLabels(), live.GetLabels()); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

func TestOwnershipIsTakenBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	desired := widget(t, widgetSpec)
	w.run(plan(w, emptyWidget(), desired))
	for _, colour := range []string{"blue", "red"} {
		applytest.Edit(t, w.server, "kubectl", w.widget(), inSpec(set("colour", colour)))
	}
	o := plan(w, emptyWidget(), desired)
	if o == nil || !o.Drift {
		t.Fatalf("planned is %+v", o)
	}
	if w.run(o); plan(w, emptyWidget(), desired) != nil {
		t.Error("is written again")
	}
}

func (w *world) widget() *unstructured.Unstructured {
	w.t.Helper()
	return applytest.Get(w.t, w.server, school, tokyo, emptyWidget())
}

func addOwner(o *unstructured.Unstructured) {
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "Secret", Name: "x", UID: "x"}
	o.SetOwnerReferences(append(o.GetOwnerReferences(), owner))
}
