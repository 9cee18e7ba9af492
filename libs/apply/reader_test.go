// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/apply/expectations"
	"jutsu.com/operators/libs/conditions"
)

func TestGet(t *testing.T) {
	t.Parallel()
	key := expectations.KeyOf("ConfigMap", school, "owner")
	broken := errors.New("connection refused")
	cases := map[string]struct {
		name   string
		expect func(*expectations.Set, *corev1.ConfigMap)
		fails  error
		found  bool
		err    error
	}{
		"there":  {name: "owner", found: true},
		"absent": {name: "none"},
		"as we wrote it": {
			name:   "owner",
			expect: func(s *expectations.Set, o *corev1.ConfigMap) { s.Expect(key, o.ResourceVersion) },
			found:  true,
		},
		"cached before our last write": {
			name:   "owner",
			expect: func(s *expectations.Set, _ *corev1.ConfigMap) { s.Expect(key, "1000") },
			err:    apply.ErrStale,
		},
		"cached before our deletion": {
			name:   "owner",
			expect: func(s *expectations.Set, o *corev1.ConfigMap) { s.ExpectDeleted(key, o.UID) },
			err:    apply.ErrStale,
		},
		"absent, created by us": {name: "none", expect: func(s *expectations.Set, _ *corev1.ConfigMap) {
			s.Expect(expectations.KeyOf("ConfigMap", school, "none"), "1000")
		}, err: apply.ErrStale},
		"absent, deleted by us": {name: "none", expect: func(s *expectations.Set, _ *corev1.ConfigMap) {
			s.ExpectDeleted(expectations.KeyOf("ConfigMap", school, "none"), "x")
		}},
		"the cache returns an error": {name: "owner", fails: broken, err: broken},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if c.expect != nil {
				c.expect(w.applier.Expectations, w.owner)
			}
			r := apply.Reader{Expectations: w.applier.Expectations, Cache: w.reading(c.fails)}
			key := types.NamespacedName{Namespace: school, Name: c.name}
			got, err := apply.Get(testContext, r, "ConfigMap", key, &corev1.ConfigMap{})
			if (got != nil) != c.found || !errors.Is(err, c.err) {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

func (w *world) reading(err error) client.Client {
	return interceptor.NewClient(w.server, interceptor.Funcs{
		Get: func(
			ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption,
		) error {
			if err != nil {
				return err
			}
			return c.Get(ctx, key, o, opts...)
		},
	})
}

func TestReadSecret(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection refused")
	for name, c := range map[string]struct {
		name   string
		fails  error
		err    error // result of ReadSecret
		exists bool  // result of ConfirmAbsent
	}{
		"there":  {name: tokyo, exists: true},
		"gone":   {name: "none", err: apply.ErrStale},
		"broken": {name: tokyo, fails: broken, err: broken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.run(apply.Write[*corev1.Secret](us, nil, secret(password)))
			r := apply.Reader{Live: w.reading(c.fails)}
			key := types.NamespacedName{Namespace: school, Name: c.name}
			got, err := r.ReadSecret(testContext, key)
			if !errors.Is(err, c.err) || err == nil && string(got.Data["DB_PASS"]) != password {
				t.Errorf("ReadSecret: %v", err)
			}
			live, err := r.ConfirmAbsent(testContext, key)
			if !errors.Is(err, c.fails) || (live != nil) != c.exists {
				t.Errorf("ConfirmAbsent: %v, %v", live, err)
			}
		})
	}
}

func TestAs(t *testing.T) {
	t.Parallel()
	in := corev1.LocalObjectReference{Name: tokyo}
	if diff := cmp.Diff(map[string]any{"name": tokyo}, apply.As[map[string]any](in)); diff != "" {
		t.Error(diff)
	}
	if got := apply.As[map[string]int64](map[string]any{"a": 1}); got["a"] != 1 {
		t.Errorf("got %v", got)
	}
}

func TestJoin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := plan(w, emptyWidget(), widget(t, widgetSpec))
	var database, app apply.Plan
	database.Add(nil, o, nil)
	database.Report(nil)
	database.Report(conditions.Progressing("Waiting", "for it"))
	app.Delete = append(app.Delete, apply.Delete("ConfigMap", w.owner))
	app.Report(conditions.Degraded("Wrong", "fix it"))
	all := apply.Join(apply.Plan{Finalizers: []string{"a"}}, database.ForPart("DatabaseReady"), app)
	if len(all.Apply) != 1 || len(all.Delete) != 1 || len(all.Finalizers) != 1 || o.Part != "DatabaseReady" {
		t.Errorf("joined %+v", all)
	}
	want := []conditions.Issue{
		{Type: conditions.TypeProgressing, Part: "DatabaseReady", Reason: "Waiting", Message: "for it"},
		{Type: conditions.TypeDegraded, Reason: "Wrong", Message: "fix it"},
	}
	if diff := cmp.Diff(want, all.Issues); diff != "" {
		t.Error(diff)
	}
	if all.Delete[0].Key != expectations.KeyOf("ConfigMap", school, "owner") {
		t.Errorf("deletes %v", all.Delete[0].Key)
	}
	if none := apply.Join(apply.Plan{Finalizers: []string{}}); none.Finalizers == nil {
		t.Error("nil finalizers replace the owner's")
	}
	if m := apply.Metadata("v1", "Secret"); m.TypeMeta != (metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}) {
		t.Errorf("metadata %v", m)
	}
}
