// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"time"

	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/optional"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/bootstrap"
	"jutsu.com/operators/dojo-operator/internal/postgres/cluster"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/dojo-operator/internal/postgres/password"
	"jutsu.com/operators/dojo-operator/internal/postgres/pooler"
	"jutsu.com/operators/dojo-operator/internal/postgres/schema"
	"jutsu.com/operators/dojo-operator/internal/postgres/upgrade"
	"jutsu.com/operators/libs/apply"
)

// Config is what the operator's flags say.
type Config struct {
	// Deadline is how long CloudNativePG may take for a step before the Dojo is Degraded.
	Deadline time.Duration
	// ProgressDeadline is the same for what CloudNativePG says that it cannot do, and for missing
	// SQL.
	ProgressDeadline time.Duration
	// Image is the image of Postgres without its tag, which is the major version that a Dojo asks
	// for.
	Image string
	// Catalog is the ClusterImageCatalog that has the image of a version, instead of Image; empty for
	// none.
	Catalog string
	// Users says as whom pods run.
	Users schema.Users
}

// State is what there is of the database of a Dojo with spec.postgres. What does not exist is nil.
type State struct {
	Now time.Time
	// Application is what the application has of the database.
	Application Application
	// Missing are the kinds of CloudNativePG that the cluster does not have, so that there are no objects of
	// them; those of the others are read. Unreadable is one that it has and that cannot be read now: then no
	// object of CloudNativePG is read, and any may exist.
	Missing    []string
	Unreadable *optional.Kind
	// Logins are the roles that take turns, by [cnpg.Login].
	Logins [2]Login

	Cluster *cnpgv1.Cluster
	// Budgets have the names of those that CloudNativePG makes for the Dojo's own Cluster, without asking
	// whose they are; read only before the Cluster is created. Either may be nil.
	Budgets  [2]*policyv1.PodDisruptionBudget
	Database *cnpgv1.Database
	Schedule *cnpgv1.ScheduledBackup
	// Pooler is what there is of the Pooler of the Dojo's own Cluster.
	Pooler      pooler.State
	FinalBackup *cnpgv1.Backup
	// Bootstrap is what there is of what the data of the Dojo's own Cluster comes from.
	Bootstrap bootstrap.State
	// LastBackup is the last one of the Dojo's own Cluster that has completed, FirstBackup the one that stands in for
	// that which its schedule should have taken at once.
	LastBackup, FirstBackup *cnpgv1.Backup

	// Upgrade is what there is of an upgrade to another major version of Postgres.
	Upgrade upgrade.State

	// Schema is what there is of the SQL, its Jobs and their pods.
	Schema schema.State
	// ClusterUsers are those beside the Dojo that have a database in its own Cluster, such as
	// "Dojo kyoto"; read only while that is to be deleted or hibernated.
	ClusterUsers []string
	// Unchanged are the objects whose last apply changed nothing.
	Unchanged apply.Unchanged
}

// Application is what the application has of the database.
type Application struct {
	// Connected is whether it has credentials; Login is whose they are.
	Connected bool
	Login     cnpg.Login
	// Pooled is whether they name the Pooler as the host.
	Pooled bool
	// Stopped is whether no pod of it is left, and Pods are those that are; known only while the Dojo is
	// suspended, or Postgres is to be upgraded.
	Stopped bool
	Pods    []corev1.Pod
	// Behind is why pods may still have former ones, those of the other login or with the Pooler; empty
	// where none has. It counts only while [WaitsForPods].
	Behind string
}

// Login is what there is of a login.
type Login struct {
	// Secret is the metadata of the Secret with the password; Password is the one in it, read only
	// where it has to be written anew, and NewPassword a random word.
	Secret      *metav1.PartialObjectMetadata
	Password    []byte
	NewPassword string
	Role        *cnpgv1.DatabaseRole
}

// Kinds knows which optional kinds the cluster has.
type Kinds interface {
	// Has reports whether objects of a kind can be read.
	Has(kind optional.Kind) bool
	// Defined reports whether the cluster has a kind at all.
	Defined(ctx context.Context, kind optional.Kind) (bool, error)
}

// Observe reads the database; nothing without spec.postgres. Source is the name of the Secret that
// the application's credentials were copied from, empty where it has none.
func Observe(
	ctx context.Context, r apply.Reader, d *corev1api.Dojo, source string, kinds Kinds, cfg Config, now time.Time,
) (s State, err error) {
	s = State{Now: now, Unchanged: r.Unchanged}
	if d.Spec.Postgres == nil {
		return s, nil
	}
	if err := s.observeObjects(ctx, r, d, kinds); err != nil {
		return s, err
	}
	err = errors.Join(s.observeBackups(ctx, r, d), s.observeUsers(ctx, r, d), s.observeLogins(ctx, r, d, source))
	if err != nil {
		return s, err
	}
	if s.readable() {
		if s.Upgrade, err = upgrade.Observe(ctx, r, d, s.Cluster, cfg.images()); err != nil {
			return s, err
		}
		if s.Bootstrap, err = bootstrap.Observe(ctx, r, d, s.Cluster); err != nil {
			return s, err
		}
	}
	s.Schema, err = schema.Observe(ctx, r, d, s.Cluster, s.Database, now)
	return s, err
}

func (s *State) observeObjects(ctx context.Context, r apply.Reader, d *corev1api.Dojo, kinds Kinds) error {
	if err := s.observeKinds(ctx, kinds); err != nil || s.Unreadable != nil {
		return err
	}
	err := observe(ctx, s, r, cnpg.ClusterKind, d.Namespace, cnpg.ClusterName(d), &s.Cluster)
	if err == nil && s.Cluster == nil && d.Spec.Postgres.Cluster != nil {
		for i, suffix := range cnpg.BudgetSuffixes() {
			err = errors.Join(err, read(ctx, r, "PodDisruptionBudget", d.Namespace, d.Name+suffix, &s.Budgets[i]))
		}
	}
	var failed error
	if s.has(cnpg.PoolerKind) {
		s.Pooler, failed = pooler.Observe(ctx, r, d)
	}
	return errors.Join(err, failed,
		observe(ctx, s, r, cnpg.RoleKind, d.Namespace, cnpg.Owner.ObjectName(d), &s.Logins[cnpg.Owner].Role),
		observe(ctx, s, r, cnpg.RoleKind, d.Namespace, cnpg.Second.ObjectName(d), &s.Logins[cnpg.Second].Role),
		observe(ctx, s, r, cnpg.DatabaseKind, d.Namespace, cnpg.ObjectName(d), &s.Database),
		observe(ctx, s, r, cnpg.ScheduleKind, d.Namespace, cnpg.ScheduleName(d), &s.Schedule),
		observe(ctx, s, r, cnpg.BackupKind, d.Namespace, cnpg.FinalBackupName(d), &s.FinalBackup),
	)
}

func (s *State) observeUsers(ctx context.Context, r apply.Reader, d *corev1api.Dojo) (err error) {
	s.ClusterUsers, err = cluster.ObserveOthers(ctx, r, d, s.has(cnpg.DatabaseKind))
	return err
}

// observeKinds finds out which kinds can be read.
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

// readable reports whether all kinds of CloudNativePG are there and have been read.
func (s *State) readable() bool { return len(s.Missing) == 0 && s.Unreadable == nil }

// has reports whether objects of a kind have been read.
func (s *State) has(kind optional.Kind) bool {
	return s.Unreadable == nil && !slices.Contains(s.Missing, kind.Kind)
}

// observe reads an object of CloudNativePG into the field of the State that is for it.
func observe[T any, L interface {
	*T
	apply.Live
}](ctx context.Context, s *State, r apply.Reader, kind optional.Kind, namespace, name string, into *L) error {
	if !s.has(kind) {
		return nil
	}
	return read(ctx, r, kind.Kind, namespace, name, into)
}

func read[T any, L interface {
	*T
	apply.Live
}](ctx context.Context, r apply.Reader, kind, namespace, name string, into *L) (err error) {
	*into, err = apply.Get(ctx, r, kind, types.NamespacedName{Namespace: namespace, Name: name}, L(new(T)))
	return err
}

// observeLogins finds out whose turn it is, and reads the passwords.
func (s *State) observeLogins(ctx context.Context, r apply.Reader, d *corev1api.Dojo, source string) error {
	for l := range s.Logins {
		name := types.NamespacedName{Namespace: d.Namespace, Name: cnpg.Login(l).ObjectName(d)}
		secret, err := apply.Get(ctx, r, "Secret", name, apply.Metadata("v1", "Secret"))
		if err != nil {
			return err
		}
		s.Logins[l].Secret, s.Logins[l].NewPassword = secret, rand.Text()
	}
	s.Application = applicationOf(d, s, source)
	turn := turnOf(d, s)
	for l := range s.Logins {
		if turn.involves(cnpg.Login(l)) {
			if err := s.Logins[l].observePassword(ctx, r, d, cnpg.Login(l)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (login *Login) observePassword(ctx context.Context, r apply.Reader, d *corev1api.Dojo, l cnpg.Login) (err error) {
	name := types.NamespacedName{Namespace: d.Namespace, Name: l.ObjectName(d)}
	if login.Secret == nil {
		login.Secret, err = r.ConfirmAbsent(ctx, name)
	}
	if err != nil || !ownership.Holds(d, login.Secret) || password.InSync(d, l, login.Secret) {
		return err
	}
	secret, err := r.ReadSecret(ctx, name)
	if err == nil {
		login.Password = secret.Data["password"]
	}
	return err
}
