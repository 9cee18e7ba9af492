// SPDX-License-Identifier: Apache-2.0

package cnpgtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

type table struct {
	owner string // role that created the table, or ""
	rows  []row
	// archived is the number of rows in the archived write-ahead log.
	archived int
}

type row struct {
	text  string
	major int64 // major version of the Postgres that committed the row
}

type copied struct {
	cluster types.UID
	major   int64
	rows    map[string]int
	logged  bool // whether a restore replays the archived write-ahead log
}

// Insert commits a row in a session of the login. The first session creates the table.
func (s *StandIn) Insert(ctx context.Context, namespace, cluster, database, login, password, text string) error {
	c := s.get(ctx, "Cluster", namespace, cluster)
	if c == nil || !s.answers(c) {
		return fmt.Errorf("connect to %s-rw: connection refused", cluster)
	}
	if !s.Accepts(namespace, cluster, login, password) {
		return fmt.Errorf("FATAL: password authentication failed for user %q (SQLSTATE 28P01)", login)
	}
	s.mu.Lock()
	role := cmp.Or(s.acting[actingKey(namespace, c.GetUID(), login)], login)
	s.mu.Unlock()
	groups := s.groupsOf(ctx, namespace, role)
	data, _, _ := unstructured.NestedMap(c.Object, "status", "pgDataImageInfo")
	major, _ := data["majorVersion"].(int64)
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tables[c.GetUID()][database]
	if t == nil {
		return fmt.Errorf("FATAL: database %q does not exist (SQLSTATE 3D000)", database)
	}
	t.owner = cmp.Or(t.owner, role)
	if role != t.owner && !slices.Contains(groups, t.owner) {
		return errors.New("ERROR: permission denied for table weapons (SQLSTATE 42501)")
	}
	t.rows = append(t.rows, row{text, major})
	return nil
}

// Rows returns a database's rows in the data of a Cluster, even if Postgres does not start.
func (s *StandIn) Rows(cluster types.UID, database string) (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.tables[cluster][database]; t != nil {
		for _, r := range t.rows {
			all = append(all, r.text)
		}
	}
	return all
}

// Restorable returns the rows that a Backup restores. A Backup with the method plugin also restores
// rows of its major version from the archived write-ahead log.
func (s *StandIn) Restorable(backup types.UID, database string) (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.copies[backup]
	t := s.tables[of.cluster][database]
	if t == nil {
		t = s.dropped[of.cluster][database]
	}
	if t == nil {
		return nil
	}
	for i, r := range t.rows {
		if i < of.rows[database] || of.logged && i < t.archived && r.major == of.major {
			all = append(all, r.text)
		}
	}
	return all
}

// Starts reports whether the Postgres version of a Cluster's image can run on the Cluster's data.
func (s *StandIn) Starts(cluster *unstructured.Unstructured) bool {
	image, _, _ := unstructured.NestedString(cluster.Object, "spec", "imageName")
	return s.instancesOf(cluster).data.starts(majorOf(cmp.Or(image, Image)))
}

func (s *StandIn) createDatabase(cluster types.UID, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tables[cluster] == nil {
		s.tables[cluster] = map[string]*table{}
	}
	if s.tables[cluster][name] == nil {
		s.tables[cluster][name] = &table{}
	}
}

// dropDatabase removes a database, but keeps its rows for Restorable.
func (s *StandIn) dropDatabase(cluster types.UID, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dropped[cluster] == nil {
		s.dropped[cluster] = map[string]*table{}
	}
	s.dropped[cluster][name] = s.tables[cluster][name]
	delete(s.tables[cluster], name)
}

// archive records that all rows of a Cluster are archived. An instance archives its write-ahead log
// at its shutdown.
func (s *StandIn) archive(cluster types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tables[cluster] {
		t.archived = len(t.rows)
	}
}

func (s *StandIn) copyRows(backup, cluster *unstructured.Unstructured) {
	method, _, _ := unstructured.NestedString(backup.Object, "spec", "method")
	data, _, _ := unstructured.NestedMap(cluster.Object, "status", "pgDataImageInfo")
	c := copied{cluster: cluster.GetUID(), rows: map[string]int{}, logged: method == "plugin"}
	c.major, _ = data["majorVersion"].(int64)
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, t := range s.tables[c.cluster] {
		c.rows[name] = len(t.rows)
	}
	s.copies[backup.GetUID()] = c
}

func (s *StandIn) groupsOf(ctx context.Context, namespace, role string) []string {
	for _, o := range s.list(ctx, "DatabaseRole", namespace) {
		if name, _, _ := unstructured.NestedString(o.Object, "spec", "name"); name == role {
			groups, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "inRoles")
			return groups
		}
	}
	return nil
}

// PlayLogins simulates the SQL of Jobs with the variables PGUSER and OWNER until ctx ends: after
// such a Job has completed, sessions of the login in PGUSER's Secret act as the role OWNER.
func (s *StandIn) PlayLogins(ctx context.Context, namespace string) {
	go func() {
		played := map[types.UID]bool{}
		for wait(ctx, 0, nil) {
			if jobs, err := s.client.Watch(ctx, &batchv1.JobList{}, client.InNamespace(namespace)); err == nil {
				for e := range jobs.ResultChan() {
					s.playOnce(ctx, e, played)
				}
			}
			wait(ctx, idle, nil)
		}
	}()
}

func (s *StandIn) playOnce(ctx context.Context, e watch.Event, played map[types.UID]bool) {
	job, ok := e.Object.(*batchv1.Job)
	if !ok || e.Type == watch.Deleted || job.Status.CompletionTime == nil || played[job.UID] {
		return
	}
	played[job.UID] = true
	for s.playLogin(ctx, job) != nil && wait(ctx, idle, nil) {
	}
}

func (s *StandIn) playLogin(ctx context.Context, job *batchv1.Job) error {
	owner, name := "", ""
	for _, v := range job.Spec.Template.Spec.Containers[0].Env {
		switch {
		case v.Name == "OWNER":
			owner = v.Value
		case v.Name == "PGUSER" && v.ValueFrom != nil && v.ValueFrom.SecretKeyRef != nil:
			name = v.ValueFrom.SecretKeyRef.Name
		}
	}
	if owner == "" {
		return nil
	}
	secret := &corev1.Secret{}
	if err := s.client.Get(ctx, types.NamespacedName{Namespace: job.Namespace, Name: name}, secret); err != nil {
		return client.IgnoreNotFound(err)
	}
	host, _, _ := strings.Cut(string(secret.Data["host"]), ".")
	cluster, err := s.read(ctx, "Cluster", job.Namespace, strings.TrimSuffix(host, "-rw"))
	if err != nil || cluster == nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acting[actingKey(job.Namespace, cluster.GetUID(), string(secret.Data["user"]))] = owner
	return nil
}
