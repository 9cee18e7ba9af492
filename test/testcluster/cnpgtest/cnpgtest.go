// SPDX-License-Identifier: Apache-2.0

package cnpgtest

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Image is the default image of Postgres.
const Image = "ghcr.io/cloudnative-pg/postgresql:18-standin"

const (
	// interval is the minimum time between two iterations over all objects. An iteration sends six
	// requests, and about a dozen more per Cluster.
	interval = 200 * time.Millisecond
	// idle is the time between two iterations while no object changes.
	idle = time.Second

	databaseFinalizer = "cnpg.io/deleteDatabase"
	roleFinalizer     = "cnpg.io/deleteRole"
	clusterLabel      = "cnpg.io/cluster"
	reloadLabel       = "cnpg.io/reload"
	hibernation       = "cnpg.io/hibernation"
)

// Options configure the simulation. The zero value causes no failures.
type Options struct {
	// RetryInterval is the time until a failed object is tried again. 0 means 30 s.
	RetryInterval time.Duration
	// Sessions returns the number of open sessions of a database, by its name in Postgres; nil: 0.
	Sessions func(ctx context.Context, namespace, database string) int
}

// StandIn simulates CloudNativePG.
type StandIn struct {
	options Options
	client  client.WithWatch
	cancel  context.CancelFunc
	changed chan struct{} // has a value if objects may have changed since the last iteration
	done    chan struct{}

	mu      sync.Mutex
	paused  map[string]bool        // Clusters whose instance manager does not answer, as namespace/name
	pods    map[string]instances   // keyed by the Cluster's namespace/name
	backups map[string]BackupPhase // last phase of backups, keyed by the Cluster's namespace/name
	tried   map[string]time.Time   // last failure of an object, keyed by kind/namespace/name/generation
	logins  map[string]string      // passwords of roles with login, keyed by namespace/cluster/role
	acting  map[string]string      // role to act as, keyed by namespace/UID of the Cluster/role

	tables, dropped map[types.UID]map[string]*table // keyed by Cluster and database
	copies          map[types.UID]copied            // keyed by Backup
}

// Start simulates CloudNativePG until Stop or the end of ctx. The kinds may be installed later.
func Start(ctx context.Context, config *rest.Config, o Options) (*StandIn, error) {
	c, err := client.NewWithWatch(config, client.Options{})
	if err != nil {
		return nil, fmt.Errorf("cnpgtest: %w", err)
	}
	if o.RetryInterval == 0 {
		o.RetryInterval = 30 * time.Second
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &StandIn{
		options: o, client: c, cancel: cancel, changed: make(chan struct{}, 1), done: make(chan struct{}),
		paused: map[string]bool{}, pods: map[string]instances{}, backups: map[string]BackupPhase{},
		tried: map[string]time.Time{}, logins: map[string]string{}, acting: map[string]string{},
		tables: map[types.UID]map[string]*table{}, dropped: map[types.UID]map[string]*table{},
		copies: map[types.UID]copied{},
	}
	go s.run(ctx)
	return s, nil
}

// Stop ends the simulation.
func (s *StandIn) Stop() {
	s.cancel()
	<-s.done
}

// Accepts reports whether a Cluster's Postgres accepts a role's password.
func (s *StandIn) Accepts(namespace, cluster, role, password string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.logins[namespace+"/"+cluster+"/"+role]
	return ok && known == password
}

// SetRole simulates `ALTER ROLE ... SET ROLE TO ...`. An empty second role removes the setting.
// CloudNativePG does not restore the setting in a new Cluster of the same name.
func (s *StandIn) SetRole(ctx context.Context, namespace, cluster, role, other string) {
	key := s.roleKey(ctx, namespace, cluster, role)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acting[key] = other
}

// ActsAs returns the role that runs the SQL of new sessions of a login.
func (s *StandIn) ActsAs(ctx context.Context, namespace, cluster, role string) string {
	key := s.roleKey(ctx, namespace, cluster, role)
	s.mu.Lock()
	defer s.mu.Unlock()
	return cmp.Or(s.acting[key], role)
}

func (s *StandIn) roleKey(ctx context.Context, namespace, cluster, role string) string {
	uid := types.UID("")
	if c := s.get(ctx, "Cluster", namespace, cluster); c != nil {
		uid = c.GetUID()
	}
	return actingKey(namespace, uid, role)
}

func actingKey(namespace string, cluster types.UID, role string) string {
	return fmt.Sprintf("%s/%s/%s", namespace, cluster, role)
}

func (s *StandIn) setLogin(role *unstructured.Unstructured, login bool, password string) {
	name, _, _ := unstructured.NestedString(role.Object, "spec", "name")
	cluster, _, _ := unstructured.NestedString(role.Object, "spec", "cluster", "name")
	key := role.GetNamespace() + "/" + cluster + "/" + name
	s.mu.Lock()
	defer s.mu.Unlock()
	if login {
		s.logins[key] = password
	} else {
		delete(s.logins, key)
	}
}

// Pause makes the instance manager of a Cluster stop answering.
func (s *StandIn) Pause(namespace, cluster string) { s.pause(namespace, cluster, true) }

// Resume ends [StandIn.Pause].
func (s *StandIn) Resume(namespace, cluster string) { s.pause(namespace, cluster, false) }

func (s *StandIn) pause(namespace, cluster string, paused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused[namespace+"/"+cluster] = paused
	s.notify()
}

func (s *StandIn) isPaused(namespace, cluster string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.paused[namespace+"/"+cluster]
}

func (s *StandIn) notify() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func (s *StandIn) run(ctx context.Context) {
	defer close(s.done)
	var watches sync.WaitGroup
	defer watches.Wait()
	for _, kind := range []string{"Cluster", "DatabaseRole", "Database", "ScheduledBackup", "Backup", "Pooler"} {
		watches.Go(func() { s.watch(ctx, gvk(kind)) })
	}
	labelled := client.HasLabels{clusterLabel}
	watches.Go(func() { s.watch(ctx, corev1.SchemeGroupVersion.WithKind("Secret")) })
	watches.Go(func() { s.watch(ctx, policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget")) })
	watches.Go(func() { s.watch(ctx, corev1.SchemeGroupVersion.WithKind("Service"), labelled) })
	watches.Go(func() { s.watch(ctx, batchv1.SchemeGroupVersion.WithKind("Job"), labelled) })
	watches.Go(func() { s.watch(ctx, appsv1.SchemeGroupVersion.WithKind("Deployment"), labelled) })
	for s.play(ctx); wait(ctx, interval, nil); s.play(ctx) {
		if !wait(ctx, idle-interval, s.changed) {
			return
		}
	}
}

// The kind may be installed or removed while watch runs.
func (s *StandIn) watch(ctx context.Context, kind schema.GroupVersionKind, options ...client.ListOption) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	for wait(ctx, 0, nil) {
		if watcher, err := s.client.Watch(ctx, list, options...); err == nil {
			for range watcher.ResultChan() {
				s.notify()
			}
		}
		wait(ctx, idle, nil)
	}
}

// wait returns after the duration d, or before if the channel `until` has a value or ctx ends. It
// returns false if ctx has ended.
func wait(ctx context.Context, d time.Duration, until <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-until:
	case <-timer.C:
	}
	return ctx.Err() == nil
}

// play ignores errors, because objects and kinds may disappear and the next iteration tries again.
func (s *StandIn) play(ctx context.Context) {
	for _, kind := range []struct {
		name string
		play func(context.Context, *unstructured.Unstructured) error
	}{
		{"Cluster", s.playCluster}, {"DatabaseRole", s.playRole}, {"Database", s.playDatabase},
		{"ScheduledBackup", s.playSchedule}, {"Backup", s.playBackup}, {"Pooler", s.playPooler},
	} {
		for _, o := range s.list(ctx, kind.name, "") {
			_ = kind.play(ctx, &o)
		}
	}
}

func (s *StandIn) list(ctx context.Context, kind, namespace string) []unstructured.Unstructured {
	var list unstructured.UnstructuredList
	list.SetGroupVersionKind(gvk(kind + "List"))
	if err := s.client.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil
	}
	return list.Items
}

func gvk(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "postgresql.cnpg.io", Version: "v1", Kind: kind}
}

func (s *StandIn) get(ctx context.Context, kind, namespace, name string) *unstructured.Unstructured {
	o, _ := s.read(ctx, kind, namespace, name)
	return o
}

func (s *StandIn) read(ctx context.Context, kind, namespace, name string) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(gvk(kind))
	if err := s.client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, o); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return o, nil
}
