// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/optionalkinds"
	"jutsu.com/operators/dojo-operator/internal/pods"
	"jutsu.com/operators/dojo-operator/internal/postgres/backup"
	"jutsu.com/operators/dojo-operator/internal/postgres/bootstrap"
	"jutsu.com/operators/dojo-operator/internal/postgres/cluster"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/dojo-operator/internal/postgres/database"
	"jutsu.com/operators/dojo-operator/internal/postgres/images"
	"jutsu.com/operators/dojo-operator/internal/postgres/login"
	"jutsu.com/operators/dojo-operator/internal/postgres/pooler"
	"jutsu.com/operators/dojo-operator/internal/postgres/schema"
	"jutsu.com/operators/dojo-operator/internal/postgres/upgrade"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// Config has the operator's flags for databases.
type Config struct {
	// Deadline limits waits for CloudNativePG and running SQL. ProgressDeadline limits waits that a
	// user may have to end, such as for missing SQL. After its deadline, a wait is Degraded.
	Deadline         time.Duration
	ProgressDeadline time.Duration
	Users            pods.Users
}

func (c Config) schema() schema.Config {
	return schema.Config{Deadline: c.Deadline, ProgressDeadline: c.ProgressDeadline, Users: c.Users}
}

// State has the observed objects of a Dojo's database, grouped by step.
type State struct {
	Now         time.Time
	Unchanged   apply.Unchanged
	Catalog     images.Catalog
	Application Application
	// Missing names the kinds that are not installed. Unreadable is a kind that is installed, but
	// cannot be read. If Unreadable is set, the operator reads no object of CloudNativePG, and must
	// assume that each object may exist.
	Missing []string
	// Unsized is an issue if spec.postgres.cluster.size names no valid preset.
	Unsized    *conditions.Issue
	Unreadable *optionalkinds.Kind

	Cluster   cluster.State
	Bootstrap bootstrap.State
	Upgrade   upgrade.State
	Backup    backup.State
	Login     login.State
	Database  database.State
	Schema    schema.State
	Pooler    pooler.State
	// Guests are the pods of suspended Dojos with a database in this Dojo's own Cluster. The
	// operator lists them only before a hibernation or a deletion with data.
	Guests []corev1.Pod
}

// Application describes how the application uses the database.
type Application struct {
	// Pooled reports whether the application's credentials name the Pooler as the host.
	Pooled bool
	// Stopped reports whether the application has no pod, and no release step runs or may begin.
	// Stopped and Pods are set only while the Dojo is suspended or an upgrade is due.
	Stopped bool
	Pods    []corev1.Pod
	// Releasing reports whether a release step runs, or may begin at any time.
	Releasing bool
	// Outdated says why pods may have former credentials. It is set only if [WaitsForPods] is true.
	Outdated string
}

// Kinds reports which kinds of CloudNativePG the cluster has.
type Kinds interface {
	// Has reports whether objects of a kind can be read.
	Has(kind optionalkinds.Kind) bool
	// Defined reports whether the cluster has a kind at all.
	Defined(ctx context.Context, kind optionalkinds.Kind) (bool, error)
}

// Observe reads a Dojo's database. source names the Secret from which the application's credentials
// were copied.
func Observe(
	ctx context.Context, r apply.Reader, dojo *corev1api.Dojo, source string, kinds Kinds, catalog images.Catalog,
	now time.Time,
) (s State, err error) {
	s = State{Now: now, Unchanged: r.Unchanged, Catalog: catalog}
	if dojo.Spec.Postgres == nil {
		return s, nil
	}
	if err := s.observeKinds(ctx, kinds); err != nil {
		return s, err
	}
	if err := s.observeObjects(ctx, r, dojo, source); err != nil {
		return s, err
	}
	if s.readable() {
		if err := s.Backup.ObserveTaken(ctx, r, dojo, s.Cluster.Live); err != nil {
			return s, err
		}
		if s.Upgrade, err = upgrade.Observe(ctx, r, dojo, s.Cluster.Live, s.images()); err != nil {
			return s, err
		}
		if s.Bootstrap, err = bootstrap.Observe(ctx, r, dojo, s.Cluster.Live); err != nil {
			return s, err
		}
	}
	s.Schema, err = schema.Observe(ctx, r, dojo, s.Cluster.Live, s.Database.Live, now)
	return s, err
}

func (s *State) observeObjects(ctx context.Context, r apply.Reader, dojo *corev1api.Dojo, source string) error {
	var errs [7]error
	if s.has(cnpg.ClusterKind) {
		s.Cluster, errs[0] = cluster.Observe(ctx, r, dojo)
	}
	if s.has(cnpg.PoolerKind) {
		s.Pooler, errs[1] = pooler.Observe(ctx, r, dojo)
	}
	if s.has(cnpg.DatabaseKind) {
		s.Database, errs[2] = database.Observe(ctx, r, dojo)
	}
	s.Backup, errs[3] = backup.Observe(ctx, r, dojo, s.has)
	var guests []corev1api.Dojo
	s.Cluster.Others, guests, errs[4] = cluster.ObserveOthers(ctx, r, dojo, s.has(cnpg.DatabaseKind))
	s.Login, errs[5] = login.Observe(ctx, r, dojo, source, s.has(cnpg.RoleKind))
	s.Guests, errs[6] = observeGuests(ctx, r, guests)
	return errors.Join(errs[:]...)
}

func observeGuests(ctx context.Context, r apply.Reader, guests []corev1api.Dojo) (all []corev1.Pod, err error) {
	for i := range guests {
		if !guests[i].Spec.Suspend {
			continue
		}
		for _, index := range []string{pods.OfApplication, pods.OfSchema, pods.OfRelease} {
			found, err := pods.List(ctx, r, &guests[i], index)
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
	}
	return slices.DeleteFunc(all, func(pod corev1.Pod) bool { return pods.Ended(&pod) }), nil
}

func (s *State) observeKinds(ctx context.Context, kinds Kinds) error {
	for _, kind := range cnpg.Kinds() {
		if kinds.Has(kind) {
			continue
		}
		switch defined, err := kinds.Defined(ctx, kind); {
		case err != nil:
			return err
		case defined:
			s.Unreadable = &kind
		default:
			s.Missing = append(s.Missing, kind.Kind)
		}
	}
	return nil
}

func (s *State) readable() bool { return len(s.Missing) == 0 && s.Unreadable == nil }

func (s *State) has(kind optionalkinds.Kind) bool {
	return s.Unreadable == nil && !slices.Contains(s.Missing, kind.Kind)
}

// UpgradeStep returns the current step of an upgrade to another major version, or "".
func UpgradeStep(dojo *corev1api.Dojo, s State) corev1api.UpgradeStep {
	if !s.readable() {
		if known := dojo.Status.Database; known != nil && known.Upgrade != nil {
			return known.Upgrade.Step
		}
		return ""
	}
	return upgrade.Next(dojo, s.Cluster.Live, s.Upgrade, stopped(s))
}

func stopped(s State) bool {
	return s.Application.Stopped && len(s.Schema.Alive()) == 0 && len(s.Schema.StopIdle()) == 0
}

func (s *State) images() images.Input {
	return images.Input{
		Catalog: s.Catalog, Now: s.Now,
		Busy: s.Application.Releasing || len(s.Schema.Alive()) > 0 || upgrade.Verifies(s.Cluster.Live),
	}
}

// DatabaseID identifies a Dojo's database. It is "" if the Cluster or the Database object is
// missing.
func DatabaseID(s State) string { return databaseIDOf(s) }
