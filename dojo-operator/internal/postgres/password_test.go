// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/dojo-operator/internal/postgres/login"
	"jutsu.com/operators/libs/apply"
)

func TestPassword(t *testing.T) {
	t.Parallel()
	const kept, fresh = "kept", "new"
	unlabelled := func(key string) func(*world) {
		return func(w *world) { delete(w.secrets[owner].Labels, key) }
	}
	cases := map[string]struct {
		dojo           *corev1api.Dojo
		change         func(*world)
		want, rotation string // the planned password ("", kept or fresh), and its request
		owned          bool
	}{
		"in sync":                       {dojo: tokyo(inPG), change: func(*world) {}},
		"in sync, reclaimPolicy Delete": {dojo: tokyo(inPG, dropping), change: func(*world) {}},
		"Secret deleted":                {dojo: tokyo(inPG), change: func(w *world) { w.secrets[owner] = nil }, want: fresh},
		"Secret deleted, reclaimPolicy Delete": {dojo: tokyo(inPG, dropping), change: func(w *world) { w.secrets[owner] = nil },
			want: fresh, owned: true},
		"rotation requested": {dojo: tokyo(inPG, rotating), change: func(*world) {},
			want: fresh, rotation: "today"},
		"rotated":                    {dojo: tokyo(inPG, rotating), change: rotated},
		"rotated, request withdrawn": {dojo: tokyo(inPG), change: rotated},
		"rotated, request withdrawn, label of CloudNativePG lost": {dojo: tokyo(inPG),
			change: func(w *world) { rotated(w); unlabelled(login.ReloadLabel)(w) }, want: kept, rotation: "today"},
		"annotation of another client": {dojo: tokyo(inPG),
			change: func(w *world) { w.secrets[owner].Annotations["example.org/note"] = "x" }},
		"label of CloudNativePG lost": {dojo: tokyo(inPG), change: unlabelled(login.ReloadLabel), want: kept},
		"another label lost, reclaimPolicy Delete": {dojo: tokyo(inPG, dropping), change: unlabelled(ownership.NameLabel),
			want: kept, owned: true},
		"password written by another client": {dojo: tokyo(inPG), change: taken("password"), want: fresh},
		"host written by another client":     {dojo: tokyo(inPG), change: taken("host"), want: kept},
		"host written by another client, password empty": {dojo: tokyo(inPG),
			change: func(w *world) { taken("host")(w); w.secrets[owner].Data["password"] = nil }, want: fresh},
		"reclaimPolicy changed to Delete": {dojo: tokyo(inPG, dropping),
			change: func(w *world) { w.secrets[owner].OwnerReferences = nil }, want: kept, owned: true},
		"Secret of another Cluster": {dojo: tokyo(ownPG), change: func(w *world) {
			known := w.secrets[owner].Data["password"]
			w.secrets[owner] = inSync(w.t, tokyo(inPG)).secrets[owner]
			w.secrets[owner].Data["password"] = known
		}, want: kept},
		"reclaimPolicy changed to Retain": {dojo: tokyo(inPG), change: owned, want: kept},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := c.dojo.DeepCopy()
			before.Annotations = nil
			w := inSync(t, before)
			known := string(w.secrets[owner].Data["password"])
			c.change(w)
			o := planPassword(w, c.dojo)
			if o == nil {
				if c.want != "" {
					t.Error("nothing is written")
				}
				return
			}
			var secret corev1.Secret
			must(t, runtime.DefaultUnstructuredConverter.FromUnstructured(o.Desired.Object, &secret))
			got := map[bool]string{true: kept, false: fresh}[string(secret.Data["password"]) == known]
			if got != c.want || secret.Annotations[login.RotationAnnotation] != c.rotation ||
				metav1.IsControlledBy(&secret, c.dojo) != c.owned {
				t.Errorf("want a %s password for %q, owned %v: %+v", c.want, c.rotation, c.owned, secret.ObjectMeta)
			}
			if string(secret.Data["host"]) != cnpg.Host(c.dojo) || string(secret.Data["user"]) != cnpg.SQLName(c.dojo) {
				t.Errorf("the Secret has the user %s and the host %s", secret.Data["user"], secret.Data["host"])
			}
			w.secrets[owner] = stored(w, w.secrets[owner], o)
			if again := planPassword(w, c.dojo); again != nil {
				t.Error("the Secret is written again")
			}
		})
	}
}

func rotated(w *world) { w.secrets[owner].Annotations[login.RotationAnnotation] = "today" }

func owned(w *world) {
	w.secrets[owner].OwnerReferences = controlledBy(tokyo())
}

func taken(key string) func(*world) {
	return func(w *world) {
		w.secrets[owner].Data[key] = []byte("theirs")
		fields := apply.OwnedFields(ownership.FieldOwner, w.secrets[owner])
		text, err := fields.Difference(fieldpath.NewSet(fieldpath.MakePathOrDie("data", key))).ToJSON()
		must(w.t, err)
		w.secrets[owner].ManagedFields[0].FieldsV1 = metav1.NewFieldsV1(string(text))
	}
}

func TestSecretHasTheKeysOfCloudNativePG(t *testing.T) {
	t.Parallel()
	dojo := tokyo(inPG)
	secret := inSync(t, dojo).secrets[owner]
	got := map[string]string{}
	for key, value := range secret.Data {
		got[key] = string(value)
	}
	want := map[string]string{
		"host": "pg-rw", "port": "5432", "dbname": "dojo_school_tokyo", "user": "dojo_school_tokyo",
		"username": "dojo_school_tokyo", "password": got["password"],
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got["password"] == "" || secret.Type != corev1.SecretTypeBasicAuth || secret.Labels[login.ReloadLabel] != "true" {
		t.Errorf("%s: %+v", secret.Type, secret.ObjectMeta)
	}
	if secret.Name != "tokyo-db" || secret.OwnerReferences != nil || !ownership.LabelledFor("tokyo", secret) {
		t.Errorf("the metadata is %+v", secret.ObjectMeta)
	}
}

func TestALaggingCacheDoesNotReplaceThePassword(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		dojo   *corev1api.Dojo
		change func(*corev1.Secret) *corev1.Secret
		want   string
		writes []string
	}{
		"own Secret exists":                       {tokyo(inPG), func(s *corev1.Secret) *corev1.Secret { return s }, "", nil},
		"own Secret exists, reclaimPolicy Delete": {tokyo(inPG, dropping), func(s *corev1.Secret) *corev1.Secret { return s }, "", nil},
		"foreign Secret exists": {tokyo(inPG), func(s *corev1.Secret) *corev1.Secret {
			s.OwnerReferences, s.Labels, s.ManagedFields = nil, nil, nil
			return s
		}, "Degraded/NameConflict", nil},
		"no Secret exists": {tokyo(inPG), func(*corev1.Secret) *corev1.Secret { return nil }, "Progressing/CreatingRole",
			[]string{"Secret"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := inSync(t, c.dojo)
			s := w.observe(c.dojo)
			reader := readerOf(objects(w.Login.Logins[owner].Role), objects(c.change(w.secrets[owner])))
			var err error
			s.Login, err = login.Observe(t.Context(), reader, c.dojo, "", true)
			must(t, err)
			db := Plan(c.dojo, s, testConfig)
			if worst(db.Plan) != c.want || !slices.Equal(kinds(db.Plan), c.writes) {
				t.Errorf("writes %v, ends as %s; want %v, %s", kinds(db.Plan), worst(db.Plan), c.writes, c.want)
			}
		})
	}
}

func TestThePasswordIsReadOnlyBeforeAWrite(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		dojo   *corev1api.Dojo
		change func(*world)
		want   bool
	}{
		"in sync":        {tokyo(inPG), func(*world) {}, false},
		"label lost":     {tokyo(inPG), func(w *world) { delete(w.secrets[owner].Labels, login.ReloadLabel) }, true},
		"foreign Secret": {tokyo(inPG), func(w *world) { w.secrets[owner].Labels = nil }, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := inSync(t, c.dojo)
			c.change(w)
			reader := readerOf(objects(w.secrets[owner]), objects(w.secrets[owner]))
			s, err := login.Observe(t.Context(), reader, c.dojo, "", true)
			must(t, err)
			if (s.Logins[owner].Password != nil) != c.want {
				t.Errorf("the password that was read: %q", s.Logins[owner].Password)
			}
		})
	}
	gone := inSync(t, tokyo(inPG))
	delete(gone.secrets[owner].Labels, login.ReloadLabel)
	_, err := login.Observe(t.Context(), readerOf(objects(gone.secrets[owner]), nil), tokyo(inPG), "", true)
	if !errors.Is(err, apply.ErrStale) {
		t.Errorf("a Secret that exists only in the cache: %v", err)
	}
}

func planPassword(w *world, dojo *corev1api.Dojo) *apply.Object {
	return login.PlanPassword(dojo, w.observe(dojo).Login, login.Input{Login: owner})
}
