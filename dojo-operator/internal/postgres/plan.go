// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/dojo-operator/internal/postgres/schema"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/apply/expectations"
	"jutsu.com/operators/libs/conditions"
)

// Database is the plan for the database of a Dojo.
type Database struct {
	Plan apply.Plan
	// complete is whether the database is there, passwordCurrent whether Postgres has the password of
	// the login that the application should have.
	complete, passwordCurrent bool
	// migrating is whether SQL has yet to run in the database.
	migrating bool
}

// Migrating reports whether SQL has yet to run in the database, so that the application that needs it
// must not start.
func (db *Database) Migrating() bool { return db.migrating && !db.complete }

// Usable reports whether the credentials may be passed on to the pods. Those that are in use follow
// the password that Postgres has, whatever else goes wrong.
func (db *Database) Usable(inUse bool) bool { return db.complete || inUse && db.passwordCurrent }

// Plan goes the way to a database, as far as it has come. Without spec.postgres there is nothing to
// do.
func Plan(d *corev1api.Dojo, s State, cfg Config) Database {
	if d.Spec.Postgres == nil {
		return Database{complete: true}
	}
	w := &way{dojo: d, state: s, config: cfg, turn: turnOf(d, &s), source: sourceOf(d, &s)}
	w.migrating = !schema.Applied(s.Schema, s.Database)
	w.Plan.Report(w.walk())
	w.Plan = w.Plan.ForPart(corev1api.ConditionDatabaseReady)
	return w.Database
}

// way is a plan in the making. Each step returns what the next one has to wait for, nil where it
// can be taken.
type way struct {
	Database
	dojo   *corev1api.Dojo
	state  State
	config Config
	turn   turn
	// source is the login whose credentials the application should have.
	source cnpg.Login
	// incomplete is what keeps a Cluster of the Dojo's own from having all instances while Postgres
	// can be used.
	incomplete *conditions.Issue
	// waitingForPooler is what keeps the Pooler from being as the spec says.
	waitingForPooler *conditions.Issue
}

func (w *way) walk() *conditions.Issue {
	sleeps := w.sleeps()
	steps := []func() *conditions.Issue{
		w.installed, w.names, w.cluster, w.startPooler, w.formerRoles, w.owner, w.restored, w.database, w.second, w.schema,
		w.pooler,
	}
	if sleeps {
		steps = []func() *conditions.Issue{w.installed, w.names, w.suspended}
	}
	for _, step := range steps {
		if issue := step(); issue != nil {
			return issue
		}
	}
	if sleeps {
		return nil
	}
	w.complete = true
	return cmp.Or(w.former(), w.incomplete)
}

// write plans an object that must not be written before the Cluster and the owner's password.
func (w *way) write(o *apply.Object) { w.writeLogin(cnpg.Owner, o) }

// writeLogin plans an object that must not be written before the Cluster and the password of a login.
func (w *way) writeLogin(l cnpg.Login, o *apply.Object) {
	if o == nil {
		return
	}
	for _, before := range []expectations.Key{
		expectations.KeyOf(cnpg.ClusterKind.Kind, w.dojo.Namespace, cnpg.ObjectName(w.dojo)),
		expectations.KeyOf("Secret", w.dojo.Namespace, l.ObjectName(w.dojo)),
	} {
		if before != o.Key {
			o.After = append(o.After, before)
		}
	}
	w.Plan.Add(o)
}

// sync returns an object of CloudNativePG where it has to be written.
func sync[L apply.Live](s State, live L, desired *unstructured.Unstructured) *apply.Object {
	return apply.Sync(ownership.FieldOwner, live, desired, s.Unchanged)
}

// installed makes sure that the cluster has all kinds of CloudNativePG, and that they can be read.
func (w *way) installed() *conditions.Issue {
	if len(w.state.Missing) == 0 {
		return Unreadable(w.dojo, w.state, w.config)
	}
	return conditions.Degraded(corev1api.ReasonCloudNativePGNotInstalled,
		"spec.postgres needs CloudNativePG 1.30 or newer, and this cluster does not have its kind %s. "+
			"Install it (https://cloudnative-pg.io); the Dojo then continues automatically.", w.state.Missing[0])
}

// names makes sure that no foreign object has the name of one of the database's.
func (w *way) names() *conditions.Issue {
	d, s := w.dojo, w.state
	issue := ownership.DataConflict(d, cnpg.DatabaseKind.Kind, s.Database)
	for l, login := range s.Logins {
		if w.turn.involves(cnpg.Login(l)) || cnpg.Login(l) == cnpg.Owner {
			issue = cmp.Or(ownership.DataConflict(d, "Secret", login.Secret),
				ownership.DataConflict(d, cnpg.RoleKind.Kind, login.Role), issue)
		}
	}
	if d.Spec.Postgres.Cluster != nil {
		for _, budget := range s.Budgets {
			if budget != nil && ownership.ByDojo(budget) { // not what is left of a former Cluster
				issue = cmp.Or(issue, ownership.NameConflict(d, "PodDisruptionBudget", budget))
			}
		}
		issue = cmp.Or(issue, ownership.DataConflict(d, cnpg.ClusterKind.Kind, s.Cluster),
			ownership.DataConflict(d, cnpg.ScheduleKind.Kind, s.Schedule))
	}
	return cmp.Or(issue, ownership.NameConflict(d, "Job", s.Schema.Named))
}

// observed is what an object of CloudNativePG says of whether Postgres has it. Neither a Database
// nor a DatabaseRole has conditions.
type observed struct {
	applied *bool // nil: not looked at yet
	current bool  // whether it speaks of the present spec
	message string
}

func (o observed) done() bool { return o.current && o.applied != nil && *o.applied }

// waitForPostgres waits until the instance manager has brought an object into Postgres. A refusal
// is normal while the Cluster comes up or the objects before are on their way: it counts once
// nothing has changed for a while, neither in the object nor in the password.
func (w *way) waitForPostgres(
	o metav1.Object, kind string, says observed, l cnpg.Login, reason, what string,
) *conditions.Issue {
	if says.done() {
		return nil
	}
	waiting := w.step(reason, what)
	deadline, message := w.config.Deadline, "CloudNativePG does not say why"
	if says.applied != nil && !*says.applied {
		deadline, message = w.config.ProgressDeadline, "CloudNativePG reports: "+says.message
		waiting.Message += " " + message
	}
	password, ready := cnpg.LastWritten(w.state.Logins[l].Secret), cnpg.ReadySince(w.state.Cluster)
	since := latest(cnpg.LastAsked(o), password, ready)
	return conditions.WaitUntil(w.state.Now, since, deadline, waiting, conditions.Degraded(corev1api.ReasonDatabaseFailed,
		"Postgres has not got %s for more than %s. %s. See `kubectl describe %s %s`.",
		what, deadline.Round(time.Second), message, kind, o.GetName()))
}

func (w *way) step(reason, what string) *conditions.Issue {
	return conditions.Progressing(reason, "Waiting until Postgres has %s.", what)
}

func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }
