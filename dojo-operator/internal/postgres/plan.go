// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/postgres/bootstrap"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/dojo-operator/internal/postgres/schema"
	"jutsu.com/operators/libs/apply"
)

// up lists the steps to a usable database. A step that blocks ends the chain.
var up = chain{
	checkInstalled, // the cluster has CloudNativePG, and its kinds can be read
	checkNames,     // no foreign object has a name that the database needs
	planBootstrap,  // the data is not lost, and it is known where that of a new Cluster comes from
	planCluster,    // the Dojo's own Cluster is as the spec says, of the version that an upgrade has come to
	planBackup,     // backups are scheduled
	waitForCluster, // the Cluster has a primary, the Dojo's own or an existing one
	planPooler,     // the Pooler starts, while login and database are made
	dropRenamed,    // no role has the name of other data
	planOwner,      // the owner of the database may log in, or is retired
	checkRestored,  // restored data has the database
	planDatabase,   // the database exists and belongs to its owner
	planSecond,     // the second login may log in, or is retired
	planStatement,  // its sessions act as the owner
	planSchema,     // the SQL has run
	waitForPooler,  // clients can connect to the Pooler
	planRetirement, // the former login is retired
}

// asleep lists the steps of a suspended Dojo that has a Cluster of its own. Nothing is done in Postgres,
// and nothing is made that does not exist.
var asleep = chain{
	checkInstalled,
	checkNames,
	checkData,          // the Cluster is not lost, has the data that bootstrap names, of a version that its image opens
	pauseBackup,        // no backup waits for ever
	hibernate,          // nothing uses the Cluster, and it is hibernated
	stopPooler,         // the Pooler has no pods
	waitForHibernation, // the instances have stopped
}

// down lists the steps that delete the data, one object after the other. A Cluster of the Dojo's own goes
// first: with it CloudNativePG releases what is in it, even where it is hibernated or broken. In one of
// another owner, the other way round hangs: a database with open sessions is not dropped, nor a role that
// owns something.
var down = chain{
	dropBackup,   // no backup is taken any more
	dropPooler,   // no client connects
	dropCluster,  // the Dojo's own Cluster is gone
	dropDatabase, // the database is
	dropSecond,   // the second login is
	dropOwner,    // and the owner
}

// chain is a list of steps, each a pure function.
type chain []func(input) cnpg.Step

// plan joins the steps up to the first that blocks.
func (c chain) plan(in input) cnpg.Step {
	for _, step := range c {
		in.before = in.before.Then(step(in))
		if in.before.Blocks != nil {
			break
		}
	}
	return in.before
}

// Database is the plan for the database of a Dojo.
type Database struct {
	Plan apply.Plan
	// complete reports whether no step blocks, passwordCurrent whether Postgres has the password of the
	// login that the application should have.
	complete, passwordCurrent bool
	// migrating reports whether SQL has yet to run in the database.
	migrating bool
}

// Migrating reports whether SQL has yet to run in the database, so that the application that needs it
// must not start.
func (db *Database) Migrating() bool { return db.migrating && !db.complete }

// Usable reports whether the credentials may be passed on to the pods. Those that are in use follow
// the password that Postgres has, whatever else goes wrong.
func (db *Database) Usable(inUse bool) bool { return db.complete || inUse && db.passwordCurrent }

// Plan plans the steps to a database, or to sleep. Without spec.postgres there is nothing to do.
func Plan(d *corev1api.Dojo, s State, cfg Config) Database {
	if d.Spec.Postgres == nil {
		return Database{complete: true}
	}
	steps, sleeps := up, sleeps(d, s)
	if sleeps {
		steps = asleep
	}
	all := steps.plan(newInput(d, s, cfg))
	return Database{
		Plan:     all.Plan().ForPart(corev1api.ConditionDatabaseReady),
		complete: all.Blocks == nil && !sleeps, passwordCurrent: all.PasswordCurrent,
		migrating: !schema.Applied(s.Schema, s.Database.Live),
	}
}

// Drop plans the deletion of the data. The plan has an issue until all of it is gone. Data that the Dojo
// did not want to use is not its own to delete.
func Drop(d *corev1api.Dojo, s State, cfg Config) apply.Plan {
	if bootstrap.Mismatch(d, s.Cluster.Live) != nil {
		return apply.Plan{}
	}
	return down.plan(newInput(d, s, cfg)).Plan()
}
