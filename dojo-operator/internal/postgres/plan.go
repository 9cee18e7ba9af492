// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/dojo-operator/internal/postgres/schema"
	"jutsu.com/operators/libs/apply"
)

// up lists the steps to a usable database. Each comment names the state after the step.
var up = chain{
	checkInstalled, // the cluster has CloudNativePG, and its kinds can be read
	checkNames,     // no foreign object has a name that the database needs
	planBootstrap,  // the data is not lost, and the source of a new Cluster's data is known
	planCluster,    // the Dojo's own Cluster matches the spec, apart from a pending upgrade
	planBackup,     // backups are scheduled
	waitForCluster, // the Cluster has a primary
	planPooler,     // the Pooler starts while login and database are created
	dropRenamed,    // no role of a deleted Dojo has a name that is wrong for this Dojo
	planOwner,      // the owner login may log in, or is retired
	checkRestored,  // restored data contains the database
	planDatabase,   // the database exists and belongs to its owner
	planSecond,     // the second login may log in, or is retired
	planStatement,  // sessions of the second login act as the owner
	planSchema,     // the Dojo's SQL has run: its table and spec.postgres.initSQL
	waitForPooler,  // clients can connect to the Pooler
	planRetirement, // the former login is retired
}

// asleep lists the steps that hibernate a suspended Dojo's Cluster. They run no SQL and create no
// objects.
var asleep = chain{
	checkInstalled,
	checkNames,
	checkData,          // the Cluster is not lost, its data came from the source in bootstrap, and its image can read it
	pauseBackup,        // scheduled backups are suspended, unless others use the Cluster
	hibernate,          // no client uses the Cluster, and it is hibernated
	stopPooler,         // the Pooler has no pods
	waitForHibernation, // the instances have stopped
}

// guestAsleep lists the steps for a suspended Dojo in a foreign Cluster that is hibernated.
var guestAsleep = chain{
	checkInstalled,
	checkNames,
}

type chain []func(input) cnpg.Step

func (c chain) plan(in input) cnpg.Step {
	for _, step := range c {
		in.before = in.before.Then(step(in))
		if in.before.Blocks != nil {
			break
		}
	}
	return in.before
}

// Database has the plan for a Dojo's database.
type Database struct {
	Plan apply.Plan

	complete, passwordCurrent bool
	migrating                 bool
}

// Migrating reports whether a new image must wait until the Dojo's SQL has run.
func (db *Database) Migrating() bool { return db.migrating && !db.complete }

// Usable reports whether pods may get credentials. inUse means that pods already have credentials.
func (db *Database) Usable(inUse bool) bool { return db.complete || inUse && db.passwordCurrent }

// Plan plans the steps to a usable database, or to a hibernated Cluster.
func Plan(dojo *corev1api.Dojo, s State, cfg Config) Database {
	if dojo.Spec.Postgres == nil {
		return Database{complete: true}
	}
	steps, sleeps := up, sleeps(dojo, s)
	switch {
	case sleeps && dojo.Spec.Postgres.Cluster == nil:
		steps = guestAsleep
	case sleeps:
		steps = asleep
	}
	all := steps.plan(newInput(dojo, s, cfg))
	return Database{
		Plan:     all.Plan().ForPart(corev1api.ConditionDatabaseReady),
		complete: all.Blocks == nil && !sleeps, passwordCurrent: all.PasswordCurrent,
		migrating: !schema.Applied(s.Schema, s.Database.Live),
	}
}
