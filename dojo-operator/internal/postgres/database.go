// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/cluster"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/dojo-operator/internal/postgres/schema"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/apply/expectations"
	"jutsu.com/operators/libs/conditions"
)

// database writes the database and waits until Postgres has it.
func (w *way) database() *conditions.Issue {
	what := "the database " + cnpg.SQLName(w.dojo)
	live := w.state.Database
	if o := sync(w.state, live, databaseFor(w.dojo, schema.Recorded(live))); o != nil {
		w.write(o)
		return w.step(corev1api.ReasonCreatingDatabase, what)
	}
	says := observed{live.Status.Applied, live.Status.ObservedGeneration == live.Generation, cluster.Failure(live)}
	return w.waitForPostgres(live, cnpg.DatabaseKind.Kind, says, cnpg.Owner, corev1api.ReasonCreatingDatabase, what)
}

// databaseFor is the Database, with the record of the SQL that has run in it.
func databaseFor(d *corev1api.Dojo, ran schema.Record) *unstructured.Unstructured {
	spec := map[string]any{
		"cluster":               map[string]any{"name": cnpg.ClusterName(d)},
		"name":                  cnpg.SQLName(d),
		"owner":                 cnpg.SQLName(d),
		"databaseReclaimPolicy": cnpg.ReclaimPolicy(d),
	}
	if extensions := cluster.Extensions(d); extensions != nil {
		spec["extensions"] = extensions
	}
	db := ownership.Data(d, cnpg.DatabaseKind.GroupVersionKind, cnpg.ObjectName(d), spec)
	db.SetAnnotations(ran)
	return db
}

// schema runs the SQL that has not run yet in this database, and waits until it has. None begins before an
// upgrade that is due: it may be written for the new version.
func (w *way) schema() *conditions.Issue {
	live := w.state.Database
	step := schema.Plan(w.dojo, w.state.Schema, live, w.as(w.source), w.config.schema())
	if step.Begins() && UpgradeStep(w.dojo, w.state) == corev1api.UpgradeBackingUp {
		return w.incomplete
	}
	if !maps.Equal(step.Record, schema.Recorded(live)) {
		o := apply.Write(ownership.FieldOwner, live, databaseFor(w.dojo, step.Record))
		o.Drift = false // the record is new, not changed
		o.Pinned = true // a client that takes the record away, to run the SQL again, wins
		w.write(o)
	}
	return w.run(step)
}

// run plans what has to be done for the SQL.
func (w *way) run(step schema.Step) *conditions.Issue {
	if step.Job != nil {
		database := expectations.KeyOf(cnpg.DatabaseKind.Kind, w.dojo.Namespace, cnpg.ObjectName(w.dojo))
		step.Job.After = append(step.Job.After, database)
		w.write(step.Job)
	}
	w.Plan.Delete = append(w.Plan.Delete, step.Delete...)
	return step.Issue
}

// as says that SQL runs as a login, with the Cluster's own image.
func (w *way) as(l cnpg.Login) schema.As {
	return schema.As{Login: l, Image: w.state.Cluster.Status.Image}
}

func (c Config) schema() schema.Config {
	return schema.Config{Deadline: c.Deadline, ProgressDeadline: c.ProgressDeadline, Users: c.Users}
}

func (c Config) images() cnpg.Images { return cnpg.Images{Image: c.Image, Catalog: c.Catalog} }
