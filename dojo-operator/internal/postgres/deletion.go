// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/backup"
	"jutsu.com/operators/dojo-operator/internal/postgres/bootstrap"
	"jutsu.com/operators/dojo-operator/internal/postgres/cluster"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/dojo-operator/internal/postgres/database"
	"jutsu.com/operators/dojo-operator/internal/postgres/login"
	"jutsu.com/operators/dojo-operator/internal/postgres/pooler"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// down deletes one object at a time. An own Cluster is deleted before the Database and the roles,
// because CloudNativePG removes their finalizers once the Cluster is gone. In a foreign Cluster,
// the owner is deleted after the Database, because Postgres refuses to drop a role that owns
// objects.
var down = chain{
	dropBackup,
	dropPooler,
	dropCluster,
	dropDatabase,
	dropSecond,
	dropOwner,
}

// Drop plans the deletion of the data. The plan is empty if the Cluster's data did not come from
// the source in spec.postgres.cluster.bootstrap.
func Drop(dojo *corev1api.Dojo, s State, cfg Config) apply.Plan {
	if bootstrap.Mismatch(dojo, s.Cluster.Live) != nil {
		return apply.Plan{}
	}
	return down.plan(newInput(dojo, s, cfg)).Plan()
}

// InUse returns an issue if other Dojos or Databases use the Cluster or its logins, so that the
// Cluster cannot be deleted.
func InUse(dojo *corev1api.Dojo, s State) *conditions.Issue { return cluster.InUse(dojo, s.Cluster) }

// Keep plans the change to reclaimPolicy Retain: database, roles and Secrets outlive the Dojo.
func Keep(dojo *corev1api.Dojo, s State) apply.Plan {
	if dojo.Spec.Postgres == nil || cnpg.Reclaims(dojo) {
		return apply.Plan{}
	}
	in := newInput(dojo, s, Config{})
	step := database.Keep(dojo, s.Database, in.database()).Then(login.Keep(dojo, s.Login, in.login(cnpg.Owner)))
	if step.Apply != nil {
		step.Blocks = conditions.Progressing(corev1api.ReasonDeletingDatabase,
			"The Dojo is being deleted and its data is kept. "+
				"Waiting until its Database, DatabaseRoles and Secrets are marked as retained.")
	}
	return step.Plan()
}

// Kept reports whether all data will outlive the Dojo without a further change by [Keep].
func Kept(dojo *corev1api.Dojo, s State) bool {
	return !cnpg.Reclaims(dojo) && s.Unreadable == nil && Keep(dojo, s).Apply == nil
}

// FinalBackup plans the backup before a deletion, if a backup is due. The plan then has an issue
// until the backup completes.
func FinalBackup(dojo *corev1api.Dojo, s State, cfg Config) apply.Plan {
	if !bootstrap.Filled(dojo, s.Cluster.Live, s.Bootstrap) {
		return apply.Plan{}
	}
	in := newInput(dojo, s, cfg)
	step := backup.PlanFinal(dojo, s.Backup, in.backup(), ownership.Holds(dojo, s.Database.Live), s.has(cnpg.BackupKind))
	if issue := step.Blocks; issue != nil && issue.Reason == corev1api.ReasonClusterHibernated {
		if wakes := cluster.Wake(dojo, s.Cluster, in.Input); wakes.Blocks != nil {
			step = wakes
		}
	}
	return step.Plan()
}

func dropBackup(in input) cnpg.Step {
	if in.dojo.Spec.Postgres.Cluster == nil {
		return cnpg.Step{}
	}
	return backup.Drop(in.dojo, in.state.Backup, in.backup())
}

func dropPooler(in input) cnpg.Step {
	if in.dojo.Spec.Postgres.Cluster == nil {
		return cnpg.Step{}
	}
	return pooler.Drop(in.dojo, in.state.Pooler, in.pooler())
}

func dropCluster(in input) cnpg.Step {
	if in.dojo.Spec.Postgres.Cluster == nil {
		return cnpg.Step{}
	}
	return cluster.Drop(in.dojo, in.state.Cluster, in.cluster())
}

func dropDatabase(in input) cnpg.Step {
	return database.Drop(in.dojo, in.state.Database, in.database(), in.state.has(cnpg.DatabaseKind))
}

func dropSecond(in input) cnpg.Step {
	return login.Drop(in.dojo, in.state.Login, in.login(cnpg.Second))
}

func dropOwner(in input) cnpg.Step {
	return login.Drop(in.dojo, in.state.Login, in.login(cnpg.Owner))
}
