// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/apply/expectations"
)

// reading finds only the given objects, and counts reads of whole objects, not of metadata.
type reading struct {
	objects []client.Object
	reads   int
}

func (s *reading) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	for _, o := range s.objects {
		if client.ObjectKeyFromObject(o) != key {
			continue
		}
		if m, ok := into.(*metav1.PartialObjectMetadata); ok && reflect.TypeOf(o).Elem().Name() == m.Kind {
			m.SetUID(o.GetUID())
			m.SetResourceVersion(o.GetResourceVersion())
			return nil
		}
		if reflect.TypeOf(o) == reflect.TypeOf(into) {
			s.reads++
			reflect.ValueOf(into).Elem().Set(reflect.ValueOf(o.DeepCopyObject()).Elem())
			return nil
		}
	}
	return apierrors.NewNotFound(k8sschema.GroupResource{}, key.Name)
}

func (s *reading) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	for _, o := range s.objects {
		switch list := list.(type) {
		case *batchv1.JobList:
			if job, ok := o.(*batchv1.Job); ok {
				list.Items = append(list.Items, *job)
			}
		case *corev1.PodList:
			if pod, ok := o.(*corev1.Pod); ok {
				list.Items = append(list.Items, *pod)
			}
		}
	}
	return nil
}

type database struct {
	t       *testing.T
	dojo    *corev1api.Dojo
	cluster *cnpgv1.Cluster
	db      *cnpgv1.Database
	sql     *corev1.ConfigMap
	users   *corev1.Secret
	more    []client.Object
}

func newDatabase(t *testing.T) *database {
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "school", Name: name, UID: "uid", ResourceVersion: "1"}
	}
	return &database{
		t: t, dojo: tokyo(withSQL), cluster: &cnpgv1.Cluster{}, db: &cnpgv1.Database{},
		sql:   &corev1.ConfigMap{ObjectMeta: meta("sql"), Data: map[string]string{"tables.sql": "SELECT 1", "more": "x"}},
		users: &corev1.Secret{ObjectMeta: meta("users"), Data: map[string][]byte{"all": []byte("SELECT 2")}},
	}
}

func (d *database) observe() (State, int) {
	d.t.Helper()
	s := &reading{objects: append([]client.Object{d.sql, d.users}, d.more...)}
	r := apply.Reader{Cache: s, Live: s, Expectations: expectations.NewSet(clock.RealClock{})}
	state, err := Observe(d.t.Context(), r, d.dojo, d.cluster, d.db, noon)
	must(d.t, err)
	return state, s.reads
}

func TestDigest(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change func(*database)
		same   bool
	}{
		"no change":                  {func(*database) {}, true},
		"a label":                    {func(d *database) { d.sql.Labels, d.sql.ResourceVersion = map[string]string{"a": "b"}, "2" }, true},
		"a key that no entry names":  {func(d *database) { d.sql.Data["more"], d.sql.ResourceVersion = "y", "2" }, true},
		"the same SQL as binaryData": {func(d *database) { d.sql.BinaryData = map[string][]byte{"tables.sql": []byte("SELECT 1")} }, true},
		"replicas":                   {func(d *database) { d.dojo.Spec.Replicas = new(int32(7)) }, true},
		"other SQL":                  {func(d *database) { d.sql.Data["tables.sql"], d.sql.ResourceVersion = "SELECT 3", "2" }, false},
		"other SQL in a Secret":      {func(d *database) { d.users.Data["all"], d.users.ResourceVersion = []byte("SELECT 3"), "2" }, false},
		"another order":              {func(d *database) { s := d.dojo.Spec.Postgres.InitSQL; s[0], s[1] = s[1], s[0] }, false},
		"less SQL":                   {func(d *database) { d.dojo.Spec.Postgres.InitSQL = d.dojo.Spec.Postgres.InitSQL[:1] }, false},
		"a recreated Cluster":        {func(d *database) { d.cluster.UID = "another" }, false},
		"a recreated Database":       {func(d *database) { d.db.UID = "another" }, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			before, _ := d.observe()
			c.change(d)
			after, _ := d.observe()
			if before.Digest == "" || after.Digest == "" || (before.Digest == after.Digest) != c.same {
				t.Errorf("%s, then %s", before.Digest, after.Digest)
			}
		})
	}
}

func TestContentIsReadOnce(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	first, reads := d.observe()
	if reads != 2 {
		t.Errorf("%d reads of a ConfigMap and a Secret", reads)
	}
	job := jobOf(t, d.dojo, first.Digest)
	job.Namespace, job.Annotations[versionsAnnotation] = "school", first.Versions
	d.more = []client.Object{job}
	if s, reads := d.observe(); reads != 1 || s.Digest != first.Digest || s.SameName == nil { // the Job is read
		t.Errorf("%d reads, beside a Job of this SQL: %+v", reads, s)
	}
	d.more, d.db.Annotations = nil, Record{digestAnnotation: first.Digest, versionsAnnotation: first.Versions}
	if s, reads := d.observe(); reads != 0 || s.Digest != first.Digest || !Applied(s, d.db) {
		t.Errorf("%d reads, of SQL that is recorded: %+v", reads, s)
	}
	d.db.Annotations[digestAnnotation] = noRecord
	if s, _ := d.observe(); s.Digest != first.Digest || Applied(s, d.db) {
		t.Errorf("SQL without its record counts as run: %+v", s)
	}
	d.db.Annotations[digestAnnotation] = first.Digest
	d.sql.ResourceVersion = "2"
	s, reads := d.observe()
	if reads != 2 || s.Digest != first.Digest || s.Versions == first.Versions {
		t.Errorf("%d reads after an edit: %+v", reads, s)
	}
	step := Plan(d.dojo, s, d.db, as, testConfig)
	if step.Issue != nil || step.Job != nil || step.Record[versionsAnnotation] != s.Versions {
		t.Errorf("the new versions are not recorded: %+v", step)
	}
}

//nolint:paralleltest // counts the hashes of the process
func TestObjectsAreReadOnce(t *testing.T) {
	d := newDatabase(t)
	d.users.UID = "of TestObjectsAreReadOnce"
	sql := &d.dojo.Spec.Postgres.InitSQL
	for i := range 14 {
		key := fmt.Sprint("more", i)
		d.users.Data[key] = []byte(key)
		*sql = append(*sql, corev1api.SQLSource{SecretKeyRef: &corev1api.KeyReference{Name: "users", Key: key}})
	}
	first, reads := d.observe()
	if reads != 2 || first.Digest == "" {
		t.Errorf("%d reads of a ConfigMap and a Secret, and the digest %q", reads, first.Digest)
	}
	known := hashes.Len()
	d.users.ResourceVersion = "2"
	if s, _ := d.observe(); s.Digest != first.Digest || hashes.Len() != known {
		t.Errorf("after an edit of an annotation, %d hashes more, and the digest %q", hashes.Len()-known, s.Digest)
	}
}

func TestSQLIsBounded(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.sql.Data["tables.sql"] = strings.Repeat(" ", maxSQL)
	s, _ := d.observe()
	step := Plan(d.dojo, s, d.db, as, testConfig)
	if !s.TooLarge || step.Job != nil || step.Issue == nil || step.Issue.Reason != corev1api.ReasonSchemaFailed {
		t.Errorf("%+v ends as %+v", s, step)
	}
	delete(d.users.Data, "all")
	d.sql.Data["tables.sql"] = strings.Repeat(" ", maxSQL-1)
	if s, _ := d.observe(); s.TooLarge {
		t.Errorf("%d bytes are too many", maxSQL-1)
	}
}

func TestMissingSources(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*database){
		"ConfigMap school/sql":                       func(d *database) { d.sql.Name = "sqll" },
		"Secret school/users":                        func(d *database) { d.users.Name = "user" },
		"key tables.sql of the ConfigMap school/sql": func(d *database) { delete(d.sql.Data, "tables.sql") },
		"key all of the Secret school/users":         func(d *database) { delete(d.users.Data, "all") },
	} {
		d := newDatabase(t)
		change(d)
		if s, _ := d.observe(); s.Missing != want || s.Digest != "" {
			t.Errorf("%+v, not %q", s, want)
		}
	}
	for name, change := range map[string]func(*database){
		"Cluster": func(d *database) { d.cluster = nil }, "Database": func(d *database) { d.db = nil },
	} {
		d := newDatabase(t)
		change(d)
		if s, reads := d.observe(); s.Missing != "" || s.Digest != "" || reads != 0 {
			t.Errorf("without a %s: %+v, %d reads", name, s, reads)
		}
	}
}

func TestJobsAndPods(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	foreign := jobOf(t, d.dojo, "theirs")
	foreign.OwnerReferences = nil
	d.more = []client.Object{foreign, jobOf(t, d.dojo, "then"), &corev1.Pod{}}
	s, _ := d.observe()
	if len(s.Jobs) != 1 || len(s.Pods) != 1 {
		t.Errorf("observes %+v", s)
	}
	d.db.Annotations = Record{digestAnnotation: s.Digest, versionsAnnotation: s.Versions}
	if s, _ := d.observe(); s.Pods != nil {
		t.Errorf("reads pods of SQL that has run: %+v", s)
	}
	d.dojo.DeletionTimestamp = &metav1.Time{Time: noon}
	if s, _ := d.observe(); len(s.Pods) != 1 {
		t.Errorf("the deletion does not wait for the pod: %+v", s)
	}
}

// Observe returns ErrStale if the cache has a deleted object, or lacks a Job that we wrote.
func TestStale(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	cached, live := &reading{objects: []client.Object{d.sql, d.users}}, &reading{}
	// The clock stands still, so that the expectation does not expire during the slow hash.
	ours := expectations.NewSet(testclock.NewFakePassiveClock(noon))
	r := apply.Reader{Cache: cached, Live: live, Expectations: ours}
	observe := func() error { _, err := Observe(t.Context(), r, d.dojo, d.cluster, d.db, noon); return err }
	if err := observe(); !errors.Is(err, apply.ErrStale) {
		t.Errorf("a ConfigMap that exists only in the cache: %v", err)
	}
	r.Live = cached
	s, _ := d.observe()
	r.Expectations.Expect(expectations.KeyOf("Job", "school", jobName(d.dojo, s.Digest)), "7")
	if err := observe(); !errors.Is(err, apply.ErrStale) {
		t.Errorf("an own Job that the cache lacks: %v", err)
	}
}
