// SPDX-License-Identifier: Apache-2.0

package world

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/cli/kinds"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cluster"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/libs/kubectl"
)

// The labels of CloudNativePG's pods. JobRoleLabel is on pods that initialize or upgrade a Cluster.
const (
	ClusterLabel      = "cnpg.io/cluster"
	PodRoleLabel      = "cnpg.io/podRole"
	InstanceRoleLabel = "cnpg.io/instanceRole"
	JobRoleLabel      = "cnpg.io/jobRole"
)

const atOnce = 8

// Read reads the World of a Dojo. A kind that is forbidden or not served does not cause an error.
func Read(ctx context.Context, c client.Reader, d *corev1api.Dojo, now time.Time) (*World, error) {
	r := &reader{
		Reader: c, free: make(chan struct{}, atOnce),
		World: &World{
			Now: now, Dojo: d, Objects: map[Ref]client.Object{}, Denied: map[string]bool{}, Absent: map[string]bool{},
		},
	}
	for _, child := range Children(d) {
		r.do(child.Kind, func() error { return r.child(ctx, child) })
	}
	in := client.InNamespace(d.Namespace)
	r.lists(ctx, d, in)
	r.waiting.Wait()
	if err := errors.Join(r.failed...); err != nil {
		return nil, err
	}
	r.sort()
	return r.World, nil
}

type reader struct {
	client.Reader
	*World
	waiting sync.WaitGroup
	free    chan struct{}
	mu      sync.Mutex
	failed  []error

	dojos     []corev1api.Dojo
	databases []cnpgv1.Database
}

// do starts the function read in a goroutine, and records its error. At most atOnce functions run
// at the same time.
func (r *reader) do(kind kinds.Kind, read func() error) {
	r.waiting.Go(func() {
		r.free <- struct{}{}
		err := read()
		<-r.free
		r.mu.Lock()
		defer r.mu.Unlock()
		switch resource := kind.Resource(); {
		case err == nil:
		case kubectl.NotServed(err):
			r.Absent[resource] = true
		case apierrors.IsNotFound(err):
		case apierrors.IsForbidden(err):
			r.Denied[resource] = true
		case len(r.failed) == 0: // one error is enough if the API server does not answer
			r.failed = append(r.failed, err)
		}
	})
}

func (r *reader) child(ctx context.Context, child Child) error {
	o := kinds.New(child.Kind.GroupVersionKind)
	if child.Kind == kinds.Secret {
		o = &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: child.Kind.Kind}}
	}
	if err := r.Get(ctx, client.ObjectKey{Namespace: r.Dojo.Namespace, Name: child.Name}, o); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Objects[Ref{child.Kind.Resource(), child.Name}] = o
	return nil
}

func (r *reader) lists(ctx context.Context, d *corev1api.Dojo, in client.ListOption) {
	read := func(kind kinds.Kind, list client.ObjectList, keep func(), by ...client.ListOption) {
		r.do(kind, func() error {
			err := r.List(ctx, list, append(by, in)...)
			keep()
			return err
		})
	}
	var pods, instances corev1.PodList
	read(kinds.Pod, &pods, func() { r.Pods = pods.Items }, client.MatchingLabels(ownership.Selector(d)))
	var events corev1.EventList
	read(kinds.Event, &events, func() { r.Events = events.Items })
	if d.Spec.Postgres == nil {
		return
	}
	read(kinds.Pod, &instances, func() { r.Instances = instances.Items },
		client.MatchingLabels{ClusterLabel: cnpg.ClusterName(d), PodRoleLabel: "instance"})
	var jobs batchv1.JobList
	read(kinds.Job, &jobs, func() { r.Jobs = jobs.Items },
		client.MatchingLabels{ownership.NameLabel: ownership.Schema, ownership.InstanceLabel: d.Name})
	var backups cnpgv1.BackupList
	read(kinds.Backup, &backups, func() {
		r.Backups = slices.DeleteFunc(backups.Items, func(b cnpgv1.Backup) bool {
			return b.Spec.Cluster.Name != cnpg.ClusterName(d)
		})
	})
	stores := kinds.ObjectStore.List()
	read(kinds.ObjectStore, stores, func() { r.Stores = stores.Items })
	if d.Spec.Postgres.Cluster == nil {
		return
	}
	var dojos corev1api.DojoList
	read(kinds.Dojo, &dojos, func() { r.dojos = dojos.Items })
	var databases cnpgv1.DatabaseList
	read(kinds.Database, &databases, func() { r.databases = databases.Items })
}

func othersIn(d *corev1api.Dojo, dojos []corev1api.Dojo, databases []cnpgv1.Database) (all []string) {
	guests := cluster.Guests(d, dojos)
	for i := range guests {
		all = append(all, "Dojo "+guests[i].Name)
	}
	all = append(all, cluster.Databases(d, guests, databases)...)
	logins := cluster.LoginSecrets(d)
	for i := range dojos {
		if source := dojos[i].CredentialsSource(); source.Namespace == d.Namespace && slices.Contains(logins, source.Name) {
			all = append(all, "Dojo "+dojos[i].Name)
		}
	}
	slices.Sort(all)
	return all
}

func (r *reader) sort() {
	byName := func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) }
	slices.SortFunc(r.Pods, byName)
	slices.SortFunc(r.Instances, byName)
	slices.SortFunc(r.Jobs, func(a, b batchv1.Job) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	slices.SortFunc(r.Backups, func(a, b cnpgv1.Backup) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	r.Others = othersIn(r.Dojo, r.dojos, r.databases)
	about := r.subjects()
	r.Events = slices.DeleteFunc(r.Events, func(e corev1.Event) bool {
		return !about[e.InvolvedObject.Kind+" "+e.InvolvedObject.Name]
	})
	slices.SortStableFunc(r.Events, func(a, b corev1.Event) int { return LastSeen(b).Compare(LastSeen(a)) })
}

func (r *reader) subjects() map[string]bool {
	about := map[string]bool{"Dojo " + r.Dojo.Name: true}
	for _, child := range Children(r.Dojo) {
		about[child.Kind.Kind+" "+child.Name] = true
	}
	for _, pod := range slices.Concat(r.Pods, r.Instances) {
		about["Pod "+pod.Name] = true
	}
	for i := range r.Jobs {
		about["Job "+r.Jobs[i].Name] = true
	}
	for i := range r.Backups {
		about["Backup "+r.Backups[i].Name] = true
	}
	return about
}

// LastSeen returns when an event last occurred.
func LastSeen(e corev1.Event) time.Time {
	at := e.LastTimestamp.Time
	for _, other := range []time.Time{e.EventTime.Time, e.FirstTimestamp.Time, e.CreationTimestamp.Time} {
		if at.IsZero() {
			at = other
		}
	}
	if e.Series != nil && e.Series.LastObservedTime.After(at) {
		at = e.Series.LastObservedTime.Time
	}
	return at
}

// DeniedResources lists the resources that the user may not read.
func (w *World) DeniedResources() []string { return slices.Sorted(maps.Keys(w.Denied)) }
