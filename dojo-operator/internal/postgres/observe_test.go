// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/google/go-cmp/cmp"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/dojotest"
	"jutsu.com/operators/dojo-operator/internal/optionalkinds"
	"jutsu.com/operators/dojo-operator/internal/pods"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/apply/expectations"
)

func objects[T any, L interface {
	*T
	client.Object
}](all ...L) (out reading) {
	for _, o := range all {
		if o != nil {
			out = append(out, o)
		}
	}
	return out
}

type reading []client.Object

func readerOf(cached, live reading) apply.Reader {
	return apply.Reader{Cache: cached, Live: live, Expectations: expectations.NewSet(clock.RealClock{})}
}

func (r reading) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	for _, o := range r {
		if client.ObjectKeyFromObject(o) != key {
			continue
		}
		if meta, ok := into.(*metav1.PartialObjectMetadata); ok && reflect.TypeOf(o).Elem().Name() == meta.Kind {
			reflect.ValueOf(o.DeepCopyObject()).Elem().FieldByName("ObjectMeta").Addr().Interface().(*metav1.ObjectMeta).
				DeepCopyInto(&meta.ObjectMeta)
			return nil
		}
		if reflect.TypeOf(o) == reflect.TypeOf(into) {
			reflect.ValueOf(into).Elem().Set(reflect.ValueOf(o.DeepCopyObject()).Elem())
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: reflect.TypeOf(into).Elem().Name()}, key.Name)
}

func (r reading) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	var by client.ListOptions
	by.ApplyOptions(options)
	for _, o := range r {
		switch list := list.(type) {
		case *batchv1.JobList:
			if job, ok := o.(*batchv1.Job); ok && by.FieldSelector.String() == pods.JobOfSchema+"=tokyo" {
				list.Items = append(list.Items, *job)
			}
		case *corev1api.DojoList:
			if dojo, ok := o.(*corev1api.Dojo); ok {
				list.Items = append(list.Items, *dojo)
			}
		case *cnpgv1.DatabaseList:
			if db, ok := o.(*cnpgv1.Database); ok {
				list.Items = append(list.Items, *db)
			}
		case *cnpgv1.BackupList:
			if b, ok := o.(*cnpgv1.Backup); ok {
				list.Items = append(list.Items, *b)
			}
		case *corev1.PodList:
			index := by.FieldSelector.String()
			if pod, ok := o.(*corev1.Pod); ok && (index == pods.OfSchema+"=tokyo" || index == pods.OfApplication+"=kyoto") {
				list.Items = append(list.Items, *pod)
			}
		}
	}
	return nil
}

// installed has all kinds except the kind that the field without names. If unreadable is set, this
// kind is installed too, but cannot be read.
type installed struct {
	without    string
	unreadable bool
}

func (k installed) Has(kind optionalkinds.Kind) bool {
	return kind.Group == cnpgv1.SchemeGroupVersion.Group && kind.Kind != k.without
}

func (k installed) Defined(_ context.Context, kind optionalkinds.Kind) (bool, error) {
	return k.Has(kind) || k.unreadable, nil
}

func TestObserve(t *testing.T) {
	t.Parallel()
	type result struct {
		Missing, Unreadable                               string
		Cluster, Role, Database, Schedule, Backup, Secret bool
	}
	all := installed{}
	cases := map[string]struct {
		dojo *corev1api.Dojo
		has  installed
		want result
	}{
		"all kinds installed, own Cluster": {tokyo(ownPG, backedUp), all,
			result{Cluster: true, Role: true, Database: true, Schedule: true, Backup: true, Secret: true}},
		"all kinds installed, another owner's Cluster": {tokyo(inPG), all,
			result{Cluster: true, Role: true, Database: true, Backup: true, Secret: true}},
		"no spec.postgres": {tokyo(), all, result{}},
		"kind Database missing": {tokyo(inPG), installed{without: "Database"},
			result{Missing: "Database", Cluster: true, Role: true, Backup: true, Secret: true}},
		"kind DatabaseRole missing": {tokyo(ownPG, backedUp), installed{without: "DatabaseRole"},
			result{Missing: "DatabaseRole", Cluster: true, Database: true, Schedule: true, Backup: true, Secret: true}},
		"kind Pooler missing": {tokyo(ownPG, backedUp), installed{without: "Pooler"},
			result{Missing: "Pooler", Cluster: true, Role: true, Database: true, Schedule: true, Backup: true, Secret: true}},
		"kind Database unreadable": {tokyo(inPG), installed{without: "Database", unreadable: true},
			result{Unreadable: "Database", Secret: true}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := tokyo(inPG)
			if c.dojo.Spec.Postgres != nil {
				before = c.dojo
			}
			w := inSync(t, before)
			backup := &cnpgv1.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: cnpg.FinalBackupName(c.dojo)}}
			cache := append(objects(w.Cluster.Live), objects(w.Login.Logins[owner].Role)...)
			cache = append(cache, objects(w.Database.Live)...)
			cache = append(cache, objects(w.Backup.Schedule)...)
			cache = append(cache, objects(w.secrets[owner])...)
			cache = append(cache, objects(w.jobs...)...)
			cache = append(cache, backup, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "school", Name: "schema"}})
			s, err := Observe(t.Context(), readerOf(cache, cache), c.dojo, "", c.has, dojotest.Catalog(), noon)
			must(t, err)
			got := result{
				Missing: strings.Join(s.Missing, ", "),
				Cluster: s.Cluster.Live != nil, Role: s.Login.Logins[owner].Role != nil, Database: s.Database.Live != nil,
				Schedule: s.Backup.Schedule != nil, Backup: s.Backup.Final != nil, Secret: s.Login.Logins[owner].Secret != nil,
			}
			if s.Unreadable != nil {
				got.Unreadable = s.Unreadable.Kind
			}
			if (s.Schema.Digest != "") != (s.Database.Live != nil) || !s.Schema.Now.Equal(noon) && c.dojo.Spec.Postgres != nil {
				t.Errorf("the schema is %+v", s.Schema)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			fresh, other := s.Login.Logins[owner].NewPassword, s.Login.Logins[second].NewPassword
			if c.dojo.Spec.Postgres != nil && (fresh == "" || other == "" || fresh == other) || !s.Now.Equal(noon) {
				t.Errorf("passwords %q and %q at %s", fresh, other, s.Now)
			}
		})
	}
}

func TestObserveWaitsForOurOwnWrites(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"Cluster", "DatabaseRole", "Database", "ScheduledBackup", "Secret"} {
		r := readerOf(nil, nil)
		r.Expectations.Expect(expectations.KeyOf(kind, "school", "tokyo-db"), "7")
		_, err := Observe(t.Context(), r, tokyo(ownPG), "", installed{}, dojotest.Catalog(), noon)
		if !errors.Is(err, apply.ErrStale) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}
