// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	cnpgv1 "github.com/cloudnative-pg/api/pkg/api/v1"

	corev1api "jutsu.com/operators/apis/core/v1"
	"jutsu.com/operators/dojo-operator/internal/ownership"
	"jutsu.com/operators/dojo-operator/internal/postgres/bootstrap"
	"jutsu.com/operators/dojo-operator/internal/postgres/cluster"
	"jutsu.com/operators/dojo-operator/internal/postgres/cnpg"
	"jutsu.com/operators/dojo-operator/internal/postgres/schema"
	"jutsu.com/operators/libs/apply"
	"jutsu.com/operators/libs/conditions"
)

// createCluster creates the Dojo's own Cluster with the data that it should begin with, or says why
// not: never with less.
func (w *way) createCluster() *conditions.Issue {
	d := w.dojo
	if lost := bootstrap.Lost(d, w.state.Database, w.state.Application.Connected); lost != nil {
		return lost
	}
	if former := w.formerDatabase(); former != nil {
		return former
	}
	fields, issue := bootstrap.Fields(d, w.state.Bootstrap, w.state.Now, w.config.ProgressDeadline)
	if issue != nil {
		return issue
	}
	desired := cluster.For(d, nil, w.config.images())
	bootstrap.Add(d, desired, fields)
	w.writeCluster(desired)
	return nil
}

// formerDatabase deletes the Database of a former Cluster before another one is restored in its place:
// CloudNativePG would make that database there, empty, where the backup has none of this name.
func (w *way) formerDatabase() *conditions.Issue {
	db := w.state.Database
	if b := w.dojo.BootstrapSource(); b == nil || b.Recovery == nil || !ownership.Holds(w.dojo, db) {
		return nil
	}
	if db.DeletionTimestamp == nil {
		w.Plan.Delete = append(w.Plan.Delete, apply.Delete(cnpg.DatabaseKind.Kind, db))
	}
	return conditions.Progressing(corev1api.ReasonRestoring,
		"Waiting until the Database %s/%s is deleted, which is of a Cluster that is gone.", db.Namespace, db.Name)
}

// formerRoles deletes the DatabaseRoles that a former Dojo of this name has left, where its data had other names: the
// name of one cannot change. The roles in Postgres stay, for which the policy says so.
func (w *way) formerRoles() (issue *conditions.Issue) {
	for l, login := range w.state.Logins {
		role, name := login.Role, cnpg.Login(l).SQLName(w.dojo)
		if w.dojo.Spec.Postgres.Cluster == nil || !ownership.Holds(w.dojo, role) || role.Spec.Name == name ||
			role.Spec.ReclaimPolicy == cnpgv1.DatabaseRoleReclaimDelete {
			continue
		}
		if role.DeletionTimestamp == nil {
			w.Plan.Delete = append(w.Plan.Delete, apply.Delete(cnpg.RoleKind.Kind, role))
		}
		issue = conditions.Progressing(corev1api.ReasonCreatingRole,
			"Waiting until the DatabaseRole %s/%s is deleted, which a former Dojo has left: "+
				"it is of the role %s, and not of %s.",
			role.Namespace, role.Name, role.Spec.Name, name)
	}
	return issue
}

// restored makes sure that what was restored has the database, before the Database of CloudNativePG is
// written, which makes one where there is none.
func (w *way) restored() *conditions.Issue {
	if b := w.dojo.BootstrapSource(); b == nil || b.Recovery == nil || w.state.Database != nil {
		return nil
	}
	of := string(w.state.Cluster.UID)
	return w.run(schema.PlanCheck(w.dojo, w.state.Schema, of, w.as(w.source), w.config.schema()))
}
